import { availableInMs, isPodFinished, isPodReady, sooner, withoutZeros } from "../conditions.ts";
import type { ControllerRevision, Pod, PodTemplate, StatefulSet, StatefulSetStatus } from "../kinds.ts";

export const revisionLabel = "controller-revision-hash";

export type StatefulSetFacts = Readonly<{
  set: StatefulSet;
  pods: readonly Pod[];
  /** Name of the current template's revision. */
  updateRevision: string;
  now: number;
}>;

export type StatefulSetPlan = Readonly<{
  /** Ordinals that need a pod, with the revision to create it from. */
  create: readonly Readonly<{ ordinal: number; revision: string }>[];
  remove: readonly Pod[];
  status: StatefulSetStatus;
  nextMs: number | undefined;
}>;

/**
 * Decides the next step of a stateful set: pods are created in order and deleted in reverse order, one at a time unless
 * the policy is Parallel.
 */
export function decideStatefulSet(facts: StatefulSetFacts): StatefulSetPlan {
  const { set, updateRevision, now } = facts;
  const start = set.spec.ordinals?.start ?? 0;
  const replicas = set.spec.replicas ?? 1;
  const minReadySeconds = set.spec.minReadySeconds ?? 0;
  const ordered = set.spec.podManagementPolicy !== "Parallel";
  const byOrdinal = new Map(facts.pods.flatMap((pod) => ordinalEntry(set, pod)));
  const desiredOrdinals = Array.from({ length: replicas }, (_, index) => start + index);
  const condemned = [...byOrdinal]
    .filter(([ordinal]) => ordinal < start || ordinal >= start + replicas)
    .toSorted(([a], [b]) => b - a)
    .map(([, pod]) => pod);

  const status = observedStatus(facts, [...byOrdinal.values()]);
  const currentRevision = status.currentRevision ?? updateRevision;
  let nextMs: number | undefined;
  const isAvailable = (pod: Pod): boolean => {
    const wait = availableInMs(pod, minReadySeconds, now);
    if (wait !== undefined && wait > 0) nextMs = sooner(nextMs, wait);
    return wait === 0;
  };
  const plan = (create: StatefulSetPlan["create"], remove: readonly Pod[]): StatefulSetPlan => ({
    create,
    remove,
    status,
    nextMs,
  });
  if (set.metadata.deletionTimestamp !== undefined) return plan([], []);

  const partition = set.spec.updateStrategy?.rollingUpdate?.partition ?? 0;
  const revisionFor = (ordinal: number): string => {
    if (set.spec.updateStrategy?.type === "OnDelete") return updateRevision;
    const keepsOld = partition > 0 ? ordinal < start + partition : ordinal < start + (status.currentReplicas ?? 0);
    return keepsOld ? currentRevision : updateRevision;
  };

  const create: { ordinal: number; revision: string }[] = [];
  const replace: Pod[] = [];
  for (const ordinal of desiredOrdinals) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) {
      create.push({ ordinal, revision: revisionFor(ordinal) });
      if (ordered) return plan(create, replace);
    } else if (isPodFinished(pod) && pod.metadata.deletionTimestamp === undefined) {
      replace.push(pod);
      if (ordered) return plan(create, replace);
    } else if (ordered && (pod.metadata.deletionTimestamp !== undefined || !isAvailable(pod))) {
      return plan(create, replace);
    }
  }
  if (create.length > 0 || replace.length > 0) return plan(create, replace);

  const toDelete = condemned.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  if (ordered && toDelete.length < condemned.length) return plan([], []);
  if (toDelete.length > 0) return plan([], ordered ? toDelete.slice(0, 1) : toDelete);
  if (condemned.length > 0 || set.spec.updateStrategy?.type === "OnDelete") return plan([], []);

  // Updates one pod at a time from the last ordinal, and none while another is unavailable, so that a quorum survives.
  for (const ordinal of desiredOrdinals.toReversed().filter((each) => each >= start + partition)) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return plan([], []);
    if (pod.metadata.labels?.[revisionLabel] !== updateRevision) return plan([], [pod]);
    if (!isAvailable(pod)) return plan([], []);
  }
  return plan([], []);
}

/** Name of the claim of a pod, by claim template and ordinal. */
export const claimName = (set: StatefulSet, template: string, ordinal: number): string =>
  `${template}-${set.metadata.name}-${ordinal}`;

/** The ordinal in a pod's name, if the pod belongs to the set. */
function ordinalEntry(set: StatefulSet, pod: Pod): [number, Pod][] {
  const prefix = `${set.metadata.name}-`;
  const rest = pod.metadata.name.slice(prefix.length);
  return pod.metadata.name.startsWith(prefix) && /^[0-9]+$/.test(rest) ? [[Number(rest), pod]] : [];
}

function observedStatus({ set, updateRevision, now }: StatefulSetFacts, pods: readonly Pod[]): StatefulSetStatus {
  const before = set.status;
  const replicas = set.spec.replicas ?? 1;
  const currentRevision = before?.currentRevision ?? updateRevision;
  const running = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined && !isPodFinished(pod));
  const of = (revision: string): number =>
    running.filter((pod) => pod.metadata.labels?.[revisionLabel] === revision).length;
  const ready = pods.filter((pod) => pod.status?.phase === "Running" && isPodReady(pod)).length;
  const available = pods.filter((pod) => availableInMs(pod, set.spec.minReadySeconds ?? 0, now) === 0).length;
  const updated = of(updateRevision);
  const complete =
    set.spec.updateStrategy?.type !== "OnDelete" &&
    updated === replicas &&
    ready === replicas &&
    pods.length === replicas;
  return withoutZeros(
    {
      observedGeneration: set.metadata.generation ?? 1,
      replicas: pods.length,
      readyReplicas: ready,
      currentReplicas: complete ? updated : of(currentRevision),
      updatedReplicas: updated,
      availableReplicas: available,
      currentRevision: complete ? updateRevision : currentRevision,
      updateRevision,
      collisionCount: before?.collisionCount ?? 0,
    },
    ["replicas", "availableReplicas", "collisionCount"],
  );
}

export function revisionTemplate(revision: ControllerRevision): PodTemplate | undefined {
  const template = revision.data?.spec?.template;
  if (template === undefined) return undefined;
  const { $patch: _, ...rest } = template;
  return rest;
}
