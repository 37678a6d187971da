import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { applied, type Counts, failed, type Health, type HealthFacts, ready, wordsOf } from "./copy-health.ts";
import { fieldAt, numberAt, objectAt, textAt } from "./json.ts";
import { conditionOf } from "./status-conditions.ts";

const someOld = "not all replicas are those of the last change";
const surplus = "replicas that are too many are still there";
const notAvailable = "not all replicas are available";

export function deploymentHealth({ spec, status }: HealthFacts): Health {
  const counts = replicaCounts(spec, status);
  const progressing = conditionOf(status, "Progressing");
  // The reason alone decides: it stays until the rollout gets on.
  if (progressing !== undefined && textAt(progressing, "reason") === "ProgressDeadlineExceeded") {
    return failed("RolloutStuck", wordsOf(progressing), counts);
  }
  const { desired } = counts;
  const updated = count(status, "updatedReplicas");
  const isUpdated = updated >= desired;
  if (!isUpdated && fieldAt(spec, "paused") === true) return applied("RolloutPaused", someOld, counts);
  const refused = podsRefused(status, counts);
  if (refused !== undefined) return refused;
  if (!isUpdated) return applied("RollingOut", someOld, counts);
  if (count(status, "replicas") > desired) return applied("RollingOut", surplus, counts);
  return availability(count(status, "availableReplicas"), counts);
}

export function replicaSetHealth({ spec, status }: HealthFacts): Health {
  const counts = replicaCounts(spec, status);
  const refused = podsRefused(status, counts);
  if (refused !== undefined) return refused;
  if (count(status, "replicas") > counts.desired) return applied("RollingOut", surplus, counts);
  return availability(count(status, "availableReplicas"), counts);
}

export function statefulSetHealth({ spec, status }: HealthFacts): Health {
  const counts = replicaCounts(spec, status);
  const { desired } = counts;
  const strategy = objectAt(spec, "updateStrategy");
  const partition = numberAt(objectAt(strategy, "rollingUpdate"), "partition") ?? 0;
  // With OnDelete it is a person who replaces the pods; they are no worse for being old.
  const toUpdate = textAt(strategy, "type") === "OnDelete" ? 0 : Math.max(0, desired - partition);
  if (count(status, "updatedReplicas") < toUpdate) return applied("RollingOut", someOld, counts);
  if (count(status, "replicas") > desired) return applied("RollingOut", surplus, counts);
  // Clusters before 1.22 do not count what is available.
  return availability(numberAt(status, "availableReplicas") ?? counts.ready, counts);
}

export function daemonSetHealth({ spec, status }: HealthFacts): Health {
  const counts = { desired: count(status, "desiredNumberScheduled"), ready: count(status, "numberReady") };
  const isLeftToPeople = textAt(objectAt(spec, "updateStrategy"), "type") === "OnDelete";
  if (!isLeftToPeople && count(status, "updatedNumberScheduled") < counts.desired) {
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
  const desired = numberAt(spec, "replicas") ?? Math.max(1, count(status, "replicas"));
  return { desired, ready: count(status, "readyReplicas") };
}

function podsRefused(status: JsonObject | undefined, counts: Required<Counts>): Health | undefined {
  const failure = conditionOf(status, "ReplicaFailure");
  return failure?.status === "True" ? applied("PodsRefused", wordsOf(failure), counts) : undefined;
}

function availability(available: number, counts: Required<Counts>): Health {
  return available >= counts.desired ? ready(counts) : applied("NotReady", notAvailable, counts);
}
