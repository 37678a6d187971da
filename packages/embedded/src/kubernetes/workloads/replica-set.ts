import { matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import { countAvailable, isPodActive, isPodReady, isPodTerminating, withoutZeros } from "../conditions.ts";
import type { ObjectCondition, Pod, ReplicaSet, ReplicaSetStatus } from "../kinds.ts";

export type ReplicaSetFacts = Readonly<{ set: ReplicaSet; pods: readonly Pod[]; now: number }>;
export type ReplicaSetPlan = Readonly<{
  /** Number of pods to create. */
  create: number;
  remove: readonly Pod[];
  nextMs: number | undefined;
}>;

/** Decides how many pods to create, or which to delete. */
export function decideReplicaSet({ set, pods, now }: ReplicaSetFacts): ReplicaSetPlan {
  const { nextMs } = countAvailable(pods.filter(isPodActive), set.spec.minReadySeconds ?? 0, now);
  if (set.metadata.deletionTimestamp !== undefined) return { create: 0, remove: [], nextMs };
  const active = pods.filter(isPodActive);
  const missing = (set.spec.replicas ?? 1) - active.length;
  const remove = missing < 0 ? active.toSorted(byDeletionPriority).slice(0, -missing) : [];
  return { create: Math.max(0, missing), remove, nextMs };
}

export function replicaSetStatus(
  { set, pods, now }: ReplicaSetFacts,
  failure: Readonly<{ reason: string; message: string; time: string }> | undefined,
): ReplicaSetStatus {
  const active = pods.filter(isPodActive);
  const templateLabels = selectorFromObject({ matchLabels: set.spec.template.metadata?.labels ?? {} });
  const { available } = countAvailable(active, set.spec.minReadySeconds ?? 0, now);
  const before = set.status?.conditions?.find((condition) => condition.type === "ReplicaFailure");
  const condition = failure === undefined ? undefined : failureCondition(failure, before);
  return withoutZeros(
    {
      replicas: active.length,
      fullyLabeledReplicas: active.filter((pod) => matchesLabels(templateLabels, pod.metadata.labels)).length,
      readyReplicas: active.filter(isPodReady).length,
      availableReplicas: available,
      terminatingReplicas: pods.filter(isPodTerminating).length,
      observedGeneration: set.metadata.generation ?? 1,
      ...(condition === undefined ? {} : { conditions: [condition] }),
    },
    ["replicas", "terminatingReplicas"],
  );
}

/**
 * Keeps the old message while the reason is unchanged: a new message per failed pod would trigger another reconcile.
 */
function failureCondition(
  { reason, message, time }: Readonly<{ reason: string; message: string; time: string }>,
  before: ObjectCondition | undefined,
): ObjectCondition {
  if (before?.reason === reason) return before;
  return { type: "ReplicaFailure", status: "True", reason, message, lastTransitionTime: time };
}

/** Orders pods for deletion: unscheduled, then not running, then not ready, then the youngest. */
function byDeletionPriority(a: Pod, b: Pod): number {
  const rank = (pod: Pod): number =>
    pod.spec.nodeName === undefined ? 0 : pod.status?.phase !== "Running" ? 1 : isPodReady(pod) ? 3 : 2;
  return (
    rank(a) - rank(b) ||
    b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp) ||
    a.metadata.name.localeCompare(b.metadata.name)
  );
}
