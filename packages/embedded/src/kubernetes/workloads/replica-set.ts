import { matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import { countAvailable, isActive, isReady, isTerminating, withoutZeros } from "../conditions.ts";
import type { Condition, Pod, ReplicaSet, ReplicaSetStatus } from "../kinds.ts";

export type ReplicaSetFacts = Readonly<{ set: ReplicaSet; pods: readonly Pod[]; now: number }>;
export type ReplicaSetPlan = Readonly<{
  /** How many pods to make. */
  create: number;
  remove: readonly Pod[];
  nextMs: number | undefined;
}>;

/** Chooses how many pods a replica set has to make, or which it gives up. */
export function decideReplicaSet({ set, pods, now }: ReplicaSetFacts): ReplicaSetPlan {
  const { nextMs } = countAvailable(pods.filter(isActive), set.spec.minReadySeconds ?? 0, now);
  if (set.metadata.deletionTimestamp !== undefined) return { create: 0, remove: [], nextMs };
  const active = pods.filter(isActive);
  const missing = (set.spec.replicas ?? 1) - active.length;
  const remove = missing < 0 ? active.toSorted(byWorth).slice(0, -missing) : [];
  return { create: Math.max(0, missing), remove, nextMs };
}

/** What a replica set's status says of the pods it has. */
export function replicaSetStatus(
  { set, pods, now }: ReplicaSetFacts,
  failure: Readonly<{ reason: string; message: string; time: string }> | undefined,
): ReplicaSetStatus {
  const active = pods.filter(isActive);
  const templateLabels = selectorFromObject({ matchLabels: set.spec.template.metadata?.labels ?? {} });
  const { available } = countAvailable(active, set.spec.minReadySeconds ?? 0, now);
  const before = set.status?.conditions?.find((condition) => condition.type === "ReplicaFailure");
  const condition = failure === undefined ? undefined : failureCondition(failure, before);
  return withoutZeros(
    {
      replicas: active.length,
      fullyLabeledReplicas: active.filter((pod) => matchesLabels(templateLabels, pod.metadata.labels)).length,
      readyReplicas: active.filter(isReady).length,
      availableReplicas: available,
      terminatingReplicas: pods.filter(isTerminating).length,
      observedGeneration: set.metadata.generation ?? 1,
      ...(condition === undefined ? {} : { conditions: [condition] }),
    },
    ["replicas", "terminatingReplicas"],
  );
}

/** Keeps its words while its reason is the same: the next pod that fails is no news, and news would wake us again. */
function failureCondition(
  { reason, message, time }: Readonly<{ reason: string; message: string; time: string }>,
  before: Condition | undefined,
): Condition {
  if (before?.reason === reason) return before;
  return { type: "ReplicaFailure", status: "True", reason, message, lastTransitionTime: time };
}

/** The least worth keeping first: not placed, not ready, then the youngest. */
function byWorth(a: Pod, b: Pod): number {
  const rank = (pod: Pod): number =>
    pod.spec.nodeName === undefined ? 0 : pod.status?.phase !== "Running" ? 1 : isReady(pod) ? 3 : 2;
  return (
    rank(a) - rank(b) ||
    b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp) ||
    a.metadata.name.localeCompare(b.metadata.name)
  );
}
