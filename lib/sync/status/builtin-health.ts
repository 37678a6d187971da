import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { fieldAt, jsonListAt, numberAt, objectAt, stringAt } from "../../model/json.ts";
import { clipMessage } from "../../model/text.ts";
import { conditionOf, type StatusCondition } from "./conditions.ts";
import type { HealthReason } from "./reasons.ts";

/** How a copy is: there and as it should be, there and not yet, or given up by the cluster. */
export type Health = Readonly<{
  state: "Ready" | "Applied" | "Failed";
  desiredReplicas?: number;
  readyReplicas?: number;
  reason?: HealthReason;
  message?: string;
}>;

/** What the rule of a type is given. */
export type HealthFacts = Readonly<{
  spec: JsonObject | undefined;
  status: JsonObject | undefined;
  annotations: Readonly<Record<string, string>>;
}>;

/** How many there are to be, and how many of them are ready. */
export type Counts = Readonly<Pick<Health, "desiredReplicas" | "readyReplicas">>;

export function ready(counts: Counts = {}, why: Readonly<Pick<Health, "reason" | "message">> = {}): Health {
  return { state: "Ready", ...counts, ...why };
}

export function applied(reason: HealthReason, message: string, counts: Counts = {}): Health {
  return { state: "Applied", ...counts, reason, message: clipMessage(message) };
}

export function failed(reason: HealthReason, message: string, counts: Counts = {}): Health {
  return { state: "Failed", ...counts, reason, message: clipMessage(message) };
}

/** What holds nothing but data is ready once it is there. */
export const isThere = (): Health => ready();

/** A condition in the cluster's own words. */
export function wordsOf(condition: StatusCondition): string {
  const words = [stringAt(condition, "reason"), stringAt(condition, "message")].filter((text) => text !== undefined);
  const said = words.filter((text) => text !== "").join(": ");
  return said === "" ? `${condition.type} is ${condition.status}` : said;
}

const someOld = "not all replicas are those of the last change";
const surplus = "replicas that are too many are still there";
const notAvailable = "not all replicas are available";

export function deploymentHealth({ spec, status }: HealthFacts): Health {
  const counts = replicaCounts(spec, status);
  const progressing = conditionOf(status, "Progressing");
  // The reason alone decides: it stays until the rollout gets on.
  if (progressing !== undefined && stringAt(progressing, "reason") === "ProgressDeadlineExceeded") {
    return failed("ProgressDeadlineExceeded", wordsOf(progressing), counts);
  }
  const { desiredReplicas } = counts;
  const updated = count(status, "updatedReplicas");
  const isUpdated = updated >= desiredReplicas;
  if (!isUpdated && fieldAt(spec, "paused") === true) return applied("RolloutPaused", someOld, counts);
  const refused = podsRefused(status, counts);
  if (refused !== undefined) return refused;
  if (!isUpdated) return applied("RollingOut", someOld, counts);
  if (count(status, "replicas") > desiredReplicas) return applied("RollingOut", surplus, counts);
  return availability(count(status, "availableReplicas"), counts);
}

export function replicaSetHealth({ spec, status }: HealthFacts): Health {
  const counts = replicaCounts(spec, status);
  const refused = podsRefused(status, counts);
  if (refused !== undefined) return refused;
  if (count(status, "replicas") > counts.desiredReplicas) return applied("RollingOut", surplus, counts);
  return availability(count(status, "availableReplicas"), counts);
}

export function statefulSetHealth({ spec, status }: HealthFacts): Health {
  const counts = replicaCounts(spec, status);
  const { desiredReplicas } = counts;
  const strategy = objectAt(spec, "updateStrategy");
  const partition = numberAt(objectAt(strategy, "rollingUpdate"), "partition") ?? 0;
  // With OnDelete it is a person who replaces the pods; they are no worse for being old.
  const toUpdate = stringAt(strategy, "type") === "OnDelete" ? 0 : Math.max(0, desiredReplicas - partition);
  if (count(status, "updatedReplicas") < toUpdate) return applied("RollingOut", someOld, counts);
  if (count(status, "replicas") > desiredReplicas) return applied("RollingOut", surplus, counts);
  // Clusters before 1.22 do not count what is available.
  return availability(numberAt(status, "availableReplicas") ?? counts.readyReplicas, counts);
}

export function daemonSetHealth({ spec, status }: HealthFacts): Health {
  const counts = {
    desiredReplicas: count(status, "desiredNumberScheduled"),
    readyReplicas: count(status, "numberReady"),
  };
  const isLeftToPeople = stringAt(objectAt(spec, "updateStrategy"), "type") === "OnDelete";
  if (!isLeftToPeople && count(status, "updatedNumberScheduled") < counts.desiredReplicas) {
    return applied("RollingOut", someOld, counts);
  }
  return availability(count(status, "numberAvailable"), counts);
}

/** A count that is left out is zero: that is how Kubernetes writes it. */
function count(status: JsonObject | undefined, field: string): number {
  return numberAt(status, field) ?? 0;
}

function replicaCounts(spec: JsonObject | undefined, status: JsonObject | undefined): Required<Counts> {
  // Left out, the number is not ours to say: an autoscaler of the cluster has it. There is at least one then.
  const desiredReplicas = numberAt(spec, "replicas") ?? Math.max(1, count(status, "replicas"));
  return { desiredReplicas, readyReplicas: count(status, "readyReplicas") };
}

function podsRefused(status: JsonObject | undefined, counts: Required<Counts>): Health | undefined {
  const failure = conditionOf(status, "ReplicaFailure");
  return failure?.status === "True" ? applied("PodsRejected", wordsOf(failure), counts) : undefined;
}

function availability(available: number, counts: Required<Counts>): Health {
  return available >= counts.desiredReplicas ? ready(counts) : applied("NotReady", notAvailable, counts);
}

/** A job that runs is as good as one that is ready: nobody has to wait for its end to move on. */
export function jobHealth({ spec, status }: HealthFacts): Health {
  const counts = { ...completions(spec), readyReplicas: numberAt(status, "succeeded") ?? 0 };
  for (const type of ["Failed", "FailureTarget"]) {
    const failure = conditionOf(status, type);
    if (failure?.status === "True") return failed("Failed", wordsOf(failure), counts);
  }
  if (conditionOf(status, "Complete")?.status === "True") return ready(counts, { reason: "Complete" });
  if (fieldAt(spec, "suspend") === true) return ready(counts, { reason: "Suspended" });
  const suspended = conditionOf(status, "Suspended");
  if (suspended?.status === "True") return applied("Suspended", wordsOf(suspended), counts);
  if (stringAt(status, "startTime") === undefined) return applied("Starting", "the job has not started", counts);
  return ready(counts, { reason: "Running" });
}

/** A schedule is ready once it is there; what its jobs come to is no matter of its health. */
export function cronJobHealth({ spec }: HealthFacts): Health {
  return fieldAt(spec, "suspend") === true ? ready({}, { reason: "Suspended" }) : ready();
}

/** How many pods have to succeed; nobody knows where they share out the work among themselves. */
function completions(spec: HealthFacts["spec"]): Readonly<{ desiredReplicas?: number }> {
  const said = numberAt(spec, "completions");
  if (said !== undefined) return { desiredReplicas: said };
  return numberAt(spec, "parallelism") === undefined ? { desiredReplicas: 1 } : {};
}

const noAddress = "the cluster has given it no address";

/** A load balancer is ready when it has an address, any other service once it is there. */
export function serviceHealth({ spec, status }: HealthFacts): Health {
  if (stringAt(spec, "type") !== "LoadBalancer" || hasAddress(status)) return ready();
  return applied("WaitingForAddress", noAddress);
}

/** Ready once it is there: many controllers never tell an address. */
export function ingressHealth({ status }: HealthFacts): Health {
  return hasAddress(status) ? ready() : ready({}, { reason: "WaitingForAddress", message: noAddress });
}

function hasAddress(status: HealthFacts["status"]): boolean {
  return jsonListAt(objectAt(status, "loadBalancer"), "ingress").length > 0;
}

/** An autoscaler is ready unless it says that it cannot scale, or has nothing to go by. */
export function scalerHealth({ status }: HealthFacts): Health {
  for (const type of ["AbleToScale", "ScalingActive"]) {
    const condition = conditionOf(status, type);
    // Scaled to nothing by a person: it rests, as it should.
    const isAtRest = condition !== undefined && stringAt(condition, "reason") === "ScalingDisabled";
    if (condition?.status === "False" && !isAtRest) return applied("NotReady", wordsOf(condition));
  }
  return ready();
}

/** Kubernetes puts these on a claim when somebody is asked to provide its volume. */
const providing = [
  "volume.kubernetes.io/storage-provisioner",
  "volume.beta.kubernetes.io/storage-provisioner",
  "volume.kubernetes.io/selected-node",
];

/**
 * Tells how a claim is. One whose class waits for the first pod that uses it stays unbound until there is one: it counts as
 * ready, or a pod that comes after it would never come. Its status does not say so; that nobody was asked to provide
 * the volume does.
 */
export function claimHealth({ spec, status, annotations }: HealthFacts): Health {
  const phase = stringAt(status, "phase");
  if (phase === "Bound") return ready();
  if (phase === "Lost") return failed("Failed", "its volume is lost");
  if (phase === undefined) return applied("NotReady", "the cluster has not looked at it");
  // An empty class asks for a volume that a person makes; those do not wait for pods.
  const isAwaited =
    stringAt(spec, "storageClassName") === "" || providing.some((key) => Object.hasOwn(annotations, key));
  if (isAwaited) return applied("NotReady", "it has no volume yet");
  return ready({}, { reason: "WaitingForConsumer", message: "it has no volume, and may wait for a pod that uses it" });
}
