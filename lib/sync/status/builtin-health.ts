import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { fieldAt, jsonListAt, numberAt, objectAt, stringAt } from "../../model/json.ts";
import { clipMessage } from "../../model/text.ts";
import { type StatusCondition, statusCondition } from "./conditions.ts";
import type { HealthReason } from "./reasons.ts";

/** The health of a copy: `Ready`, `Applied` (written and not ready yet), or `Failed` by its cluster's controllers. */
export type CopyHealth = Readonly<{
  state: "Ready" | "Applied" | "Failed";
  desiredReplicas?: number;
  readyReplicas?: number;
  reason?: HealthReason;
  message?: string;
}>;

/** The facts that the rule of a type decides on. */
export type HealthFacts = Readonly<{
  spec: JsonObject | undefined;
  status: JsonObject | undefined;
  annotations: Readonly<Record<string, string>>;
}>;

export type ReplicaCounts = Readonly<Pick<CopyHealth, "desiredReplicas" | "readyReplicas">>;

export function ready(
  counts: ReplicaCounts = {},
  details: Readonly<Pick<CopyHealth, "reason" | "message">> = {},
): CopyHealth {
  return { state: "Ready", ...counts, ...details };
}

export function applied(reason: HealthReason, message: string, counts: ReplicaCounts = {}): CopyHealth {
  return { state: "Applied", ...counts, reason, message: clipMessage(message) };
}

export function failed(reason: HealthReason, message: string, counts: ReplicaCounts = {}): CopyHealth {
  return { state: "Failed", ...counts, reason, message: clipMessage(message) };
}

/** An object that only holds data is ready once it exists. */
export const alwaysReady = (): CopyHealth => ready();

/** The cluster's own reason and message of a condition. */
export function formatCondition(condition: StatusCondition): string {
  const parts = [stringAt(condition, "reason"), stringAt(condition, "message")].filter((text) => text !== undefined);
  const text = parts.filter((part) => part !== "").join(": ");
  return text === "" ? `${condition.type} is ${condition.status}` : text;
}

const notUpdated = "not all replicas are updated";
const surplus = "surplus replicas still exist";
const notAvailable = "not all replicas are available";

export function deploymentHealth({ spec, status }: HealthFacts): CopyHealth {
  const counts = replicaCounts(spec, status);
  const progressing = statusCondition(status, "Progressing");
  // Only the reason counts: it stays until the rollout makes progress.
  if (progressing !== undefined && stringAt(progressing, "reason") === "ProgressDeadlineExceeded") {
    return failed("ProgressDeadlineExceeded", formatCondition(progressing), counts);
  }
  const { desiredReplicas } = counts;
  const isUpdated = count(status, "updatedReplicas") >= desiredReplicas;
  if (!isUpdated && fieldAt(spec, "paused") === true) return applied("RolloutPaused", notUpdated, counts);
  const rejected = podsRejected(status, counts);
  if (rejected !== undefined) return rejected;
  if (!isUpdated) return applied("RollingOut", notUpdated, counts);
  if (count(status, "replicas") > desiredReplicas) return applied("RollingOut", surplus, counts);
  return availability(count(status, "availableReplicas"), counts);
}

export function replicaSetHealth({ spec, status }: HealthFacts): CopyHealth {
  const counts = replicaCounts(spec, status);
  const rejected = podsRejected(status, counts);
  if (rejected !== undefined) return rejected;
  if (count(status, "replicas") > counts.desiredReplicas) return applied("RollingOut", surplus, counts);
  return availability(count(status, "availableReplicas"), counts);
}

export function statefulSetHealth({ spec, status }: HealthFacts): CopyHealth {
  const counts = replicaCounts(spec, status);
  const { desiredReplicas } = counts;
  const strategy = objectAt(spec, "updateStrategy");
  const partition = numberAt(objectAt(strategy, "rollingUpdate"), "partition") ?? 0;
  // With OnDelete a user replaces the pods; old ones count as healthy.
  const toUpdate = stringAt(strategy, "type") === "OnDelete" ? 0 : Math.max(0, desiredReplicas - partition);
  if (count(status, "updatedReplicas") < toUpdate) return applied("RollingOut", notUpdated, counts);
  if (count(status, "replicas") > desiredReplicas) return applied("RollingOut", surplus, counts);
  // Clusters before 1.22 do not report available replicas.
  return availability(numberAt(status, "availableReplicas") ?? counts.readyReplicas, counts);
}

export function daemonSetHealth({ spec, status }: HealthFacts): CopyHealth {
  const counts = {
    desiredReplicas: count(status, "desiredNumberScheduled"),
    readyReplicas: count(status, "numberReady"),
  };
  const isOnDelete = stringAt(objectAt(spec, "updateStrategy"), "type") === "OnDelete";
  if (!isOnDelete && count(status, "updatedNumberScheduled") < counts.desiredReplicas) {
    return applied("RollingOut", notUpdated, counts);
  }
  return availability(count(status, "numberAvailable"), counts);
}

/** Kubernetes omits a count that is zero. */
function count(status: JsonObject | undefined, field: string): number {
  return numberAt(status, field) ?? 0;
}

function replicaCounts(spec: JsonObject | undefined, status: JsonObject | undefined): Required<ReplicaCounts> {
  // If the number is omitted, an autoscaler of the cluster owns it, and it is at least one.
  const desiredReplicas = numberAt(spec, "replicas") ?? Math.max(1, count(status, "replicas"));
  return { desiredReplicas, readyReplicas: count(status, "readyReplicas") };
}

function podsRejected(status: JsonObject | undefined, counts: Required<ReplicaCounts>): CopyHealth | undefined {
  const failure = statusCondition(status, "ReplicaFailure");
  return failure?.status === "True" ? applied("PodsRejected", formatCondition(failure), counts) : undefined;
}

function availability(available: number, counts: Required<ReplicaCounts>): CopyHealth {
  return available >= counts.desiredReplicas ? ready(counts) : applied("NotReady", notAvailable, counts);
}

/** A Job that runs counts as ready: a move need not wait for its end. */
export function jobHealth({ spec, status }: HealthFacts): CopyHealth {
  const counts = { ...completions(spec), readyReplicas: numberAt(status, "succeeded") ?? 0 };
  for (const type of ["Failed", "FailureTarget"]) {
    const failure = statusCondition(status, type);
    if (failure?.status === "True") return failed("Failed", formatCondition(failure), counts);
  }
  if (statusCondition(status, "Complete")?.status === "True") return ready(counts, { reason: "Complete" });
  if (fieldAt(spec, "suspend") === true) return ready(counts, { reason: "Suspended" });
  const suspended = statusCondition(status, "Suspended");
  if (suspended?.status === "True") return applied("Suspended", formatCondition(suspended), counts);
  if (stringAt(status, "startTime") === undefined) return applied("Starting", "the job has not started", counts);
  return ready(counts, { reason: "Running" });
}

/** A CronJob is ready once it exists, whatever the results of its Jobs. */
export function cronJobHealth({ spec }: HealthFacts): CopyHealth {
  return fieldAt(spec, "suspend") === true ? ready({}, { reason: "Suspended" }) : ready();
}

/** How many pods have to succeed; unknown for a work queue (parallelism without completions). */
function completions(spec: HealthFacts["spec"]): Readonly<{ desiredReplicas?: number }> {
  const explicit = numberAt(spec, "completions");
  if (explicit !== undefined) return { desiredReplicas: explicit };
  return numberAt(spec, "parallelism") === undefined ? { desiredReplicas: 1 } : {};
}

const noAddress = "the cluster has not assigned an address";

/** A LoadBalancer is ready when it has an address, any other Service once it exists. */
export function serviceHealth({ spec, status }: HealthFacts): CopyHealth {
  if (stringAt(spec, "type") !== "LoadBalancer" || hasAddress(status)) return ready();
  return applied("WaitingForAddress", noAddress);
}

/** An Ingress is ready once it exists: many controllers never report an address. */
export function ingressHealth({ status }: HealthFacts): CopyHealth {
  return hasAddress(status) ? ready() : ready({}, { reason: "WaitingForAddress", message: noAddress });
}

function hasAddress(status: HealthFacts["status"]): boolean {
  return jsonListAt(objectAt(status, "loadBalancer"), "ingress").length > 0;
}

/** An autoscaler is ready unless it reports that it cannot scale or has no metrics. */
export function autoscalerHealth({ status }: HealthFacts): CopyHealth {
  for (const type of ["AbleToScale", "ScalingActive"]) {
    const condition = statusCondition(status, type);
    // A user scaled the target to zero, which suspends the autoscaler.
    const isSuspended = condition !== undefined && stringAt(condition, "reason") === "ScalingDisabled";
    if (condition?.status === "False" && !isSuspended) return applied("NotReady", formatCondition(condition));
  }
  return ready();
}

/** Annotations that Kubernetes adds to a claim when a provisioner is to create its volume. */
const provisioningAnnotations = [
  "volume.kubernetes.io/storage-provisioner",
  "volume.beta.kubernetes.io/storage-provisioner",
  "volume.kubernetes.io/selected-node",
];

/**
 * The health of a claim. A claim whose class waits for the first consumer stays unbound until a pod uses it. It counts as
 * ready, because a pod that is written after it would otherwise never be written. The status of such a claim is the same as
 * that of any unbound claim; only the absence of provisioning annotations distinguishes it.
 */
export function persistentVolumeClaimHealth({ spec, status, annotations }: HealthFacts): CopyHealth {
  const phase = stringAt(status, "phase");
  if (phase === "Bound") return ready();
  if (phase === "Lost") return failed("Failed", "the volume is lost");
  if (phase === undefined) return applied("NotReady", "the cluster has not processed the claim");
  // An empty class asks for a volume that a user creates; such claims do not wait for pods.
  const isProvisioned =
    stringAt(spec, "storageClassName") === "" || provisioningAnnotations.some((key) => Object.hasOwn(annotations, key));
  if (isProvisioned) return applied("NotReady", "no volume is bound yet");
  const message = "no volume is bound; the claim may wait for a pod that uses it";
  return ready({}, { reason: "WaitingForConsumer", message });
}
