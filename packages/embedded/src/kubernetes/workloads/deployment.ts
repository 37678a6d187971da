import { conditionOfType, resolveAmount, withoutZeros } from "../conditions.ts";
import type { Deployment, DeploymentStatus, ObjectCondition, ReplicaSet } from "../kinds.ts";
import { controllerReference, formatTime, parseTime } from "../kinds.ts";
import type { Draft, EventContent } from "../world.ts";
import type { RolloutBounds, Scaling, SetSize } from "./rollout.ts";
import { planProportional, planRollingStep } from "./rollout.ts";
import { hashTemplate, sameTemplate, templateHashLabel } from "./template-hash.ts";

export type DeploymentFacts = Readonly<{
  deployment: Deployment;
  /** Replica sets that the deployment owns. */
  replicaSets: readonly ReplicaSet[];
  /** Whether pods of an old template remain; the Recreate strategy waits for them. */
  oldPodsRemain: boolean;
  now: number;
}>;

export type DeploymentPlan = Readonly<{
  create?: Draft;
  /** Replica sets in their desired state. */
  update: readonly ReplicaSet[];
  remove: readonly ReplicaSet[];
  /** The revision annotation of the deployment. */
  revision: string | undefined;
  status: DeploymentStatus;
  events: readonly EventContent[];
  nextMs: number | undefined;
}>;

const revisionKey = "deployment.kubernetes.io/revision";
const historyKey = "deployment.kubernetes.io/revision-history";
const desiredKey = "deployment.kubernetes.io/desired-replicas";
const maxKey = "deployment.kubernetes.io/max-replicas";
// Annotations that are not copied to replica sets.
const ownAnnotations = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionKey,
  historyKey,
  desiredKey,
  maxKey,
  "deprecated.deployment.rollback.to",
]);

/** Decides the next step of a deployment: its replica sets, their sizes, and its status. */
export function decideDeployment(facts: DeploymentFacts): DeploymentPlan {
  const { deployment, now } = facts;
  const byAge = facts.replicaSets.toSorted(
    (a, b) =>
      a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp) ||
      a.metadata.name.localeCompare(b.metadata.name),
  );
  const current = byAge.find((set) => sameTemplate(set.spec.template, deployment.spec.template));
  const old = byAge.filter((set) => set !== current);
  const bounds = boundsOf(deployment);
  const paused = deployment.spec.paused === true;

  const nextRevision = String(Math.max(0, ...old.map(revisionOf)) + 1);
  const conditions = pausedConditions(deployment, now);
  const context: Context = { ...facts, current, old, bounds, conditions };

  if (deployment.metadata.deletionTimestamp !== undefined) {
    return { update: [], remove: [], revision: undefined, events: [], ...statusOf(context, byAge) };
  }
  if (paused || isScalingEvent(deployment, byAge)) {
    return planOf(context, planScale(context), current === undefined ? undefined : nextRevision);
  }

  const recreate = deployment.spec.strategy?.type === "Recreate";
  if (recreate) {
    const down = new Map(old.filter((set) => sizeOf(set) > 0).map((set) => [set.metadata.name, 0]));
    if (down.size > 0 || facts.oldPodsRemain) {
      return planOf(context, down, current === undefined ? undefined : nextRevision);
    }
  }
  if (current === undefined) return createNew(context, nextRevision, recreate);
  const scaling = recreate
    ? new Map(sizeOf(current) === bounds.desired ? [] : [[current.metadata.name, bounds.desired]])
    : planRollingStep(bounds, asSize(current), old.map(asSize));
  return planOf(context, scaling, nextRevision);
}

type Context = DeploymentFacts &
  Readonly<{
    current: ReplicaSet | undefined;
    old: readonly ReplicaSet[];
    bounds: RolloutBounds;
    conditions: readonly ObjectCondition[];
  }>;

const sizeOf = (set: ReplicaSet): number => set.spec.replicas ?? 1;
const asSize = (set: ReplicaSet): SetSize => ({
  name: set.metadata.name,
  replicas: sizeOf(set),
  available: set.status?.availableReplicas ?? 0,
});
const revisionOf = (set: ReplicaSet): number => Number(set.metadata.annotations?.[revisionKey] ?? 0) || 0;

function boundsOf({ spec }: Deployment): RolloutBounds {
  const desired = spec.replicas ?? 1;
  if (spec.strategy?.type === "Recreate") return { desired, maxSurge: 0, maxUnavailable: 0 };
  const { maxSurge = "25%", maxUnavailable = "25%" } = spec.strategy?.rollingUpdate ?? {};
  const surge = resolveAmount(maxSurge, desired, "up");
  const unavailable = resolveAmount(maxUnavailable, desired, "down");
  // With both at 0, a rollout could not proceed.
  return {
    desired,
    maxSurge: surge,
    maxUnavailable: Math.min(desired, surge === 0 && unavailable === 0 ? 1 : unavailable),
  };
}

const isScalingEvent = (deployment: Deployment, sets: readonly ReplicaSet[]): boolean =>
  sets.some((set) => {
    const recorded = set.metadata.annotations?.[desiredKey];
    return sizeOf(set) > 0 && recorded !== undefined && Number(recorded) !== (deployment.spec.replicas ?? 1);
  });

function planScale({ current, old, bounds }: Context): Scaling {
  const all = [...old, ...(current === undefined ? [] : [current])];
  const active = all.filter((set) => sizeOf(set) > 0);
  const only = active.length === 0 ? (current ?? old.at(-1)) : active.length === 1 ? active[0] : undefined;
  if (only !== undefined) return new Map([[only.metadata.name, bounds.desired]]);
  if (active.length === 0) return new Map();
  const saturated =
    current !== undefined &&
    sizeOf(current) === bounds.desired &&
    Number(current.metadata.annotations?.[desiredKey]) === bounds.desired &&
    (current.status?.availableReplicas ?? 0) === bounds.desired;
  if (saturated) {
    return new Map(active.filter((set) => set !== current).map((set) => [set.metadata.name, 0]));
  }
  return planProportional(
    bounds,
    active.toReversed().map((set) => ({
      ...asSize(set),
      maxReplicas: Number(set.metadata.annotations?.[maxKey]) || bounds.desired + bounds.maxSurge,
    })),
  );
}

function createNew(context: Context, revision: string, recreate: boolean): DeploymentPlan {
  const { deployment, old, bounds, now } = context;
  const { template } = deployment.spec;
  const taken = new Set(old.map((set) => set.metadata.name));
  let collisions = 0;
  while (taken.has(`${deployment.metadata.name}-${hashTemplate(template, collisions)}`)) collisions += 1;
  const hash = hashTemplate(template, collisions);
  const name = `${deployment.metadata.name}-${hash}`;
  const grown = planRollingStep(bounds, { name, replicas: 0, available: 0 }, old.map(asSize)).get(name) ?? 0;
  const replicas = recreate ? bounds.desired : grown;
  const labels = { ...template.metadata?.labels, [templateHashLabel]: hash };
  const conditions = setCondition(context.conditions, {
    ...newCondition("Progressing", "True", "NewReplicaSetCreated", now),
    message: `Created new replica set "${name}"`,
  });
  const create: Draft = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name,
      ...namespaceOf(deployment),
      labels,
      annotations: { ...inheritedAnnotations(deployment), ...sizeAnnotations(bounds), [revisionKey]: revision },
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      replicas,
      selector: {
        ...deployment.spec.selector,
        matchLabels: { ...deployment.spec.selector.matchLabels, [templateHashLabel]: hash },
      },
      template: { ...template, metadata: { ...template.metadata, labels } },
      ...(deployment.spec.minReadySeconds === undefined ? {} : { minReadySeconds: deployment.spec.minReadySeconds }),
    },
  };
  return {
    create,
    update: old.flatMap((set) => resized(set, sizeOf(set), bounds, undefined, undefined) ?? []),
    remove: [],
    revision,
    events: replicas === 0 ? [] : [scaledEvent("up", name, 0, replicas)],
    ...statusOf({ ...context, conditions }, context.replicaSets),
  };
}

function planOf(context: Context, scaling: Scaling, revision: string | undefined): DeploymentPlan {
  const { deployment, current, old, bounds } = context;
  const sets = current === undefined ? old : [...old, current];
  const update = sets.flatMap(
    (set) =>
      resized(
        set,
        scaling.get(set.metadata.name) ?? sizeOf(set),
        bounds,
        set === current ? revision : undefined,
        set === current ? deployment : undefined,
      ) ?? [],
  );
  const events = sets.flatMap((set) => {
    const to = scaling.get(set.metadata.name);
    if (to === undefined || to === sizeOf(set)) return [];
    return [scaledEvent(to > sizeOf(set) ? "up" : "down", set.metadata.name, sizeOf(set), to)];
  });
  const result = statusOf(context, sets);
  return { update, remove: finished(context, result.status) ? outdated(context) : [], revision, events, ...result };
}

/** Returns the replica set with the desired size and annotations, or undefined if it is up to date. */
function resized(
  set: ReplicaSet,
  replicas: number,
  bounds: RolloutBounds,
  revision: string | undefined,
  template: Deployment | undefined,
): ReplicaSet | undefined {
  const before = set.metadata.annotations ?? {};
  const annotations: Record<string, string> = {
    ...before,
    ...(template === undefined ? {} : inheritedAnnotations(template)),
  };
  // Old replica sets without pods keep their size annotations.
  if (replicas > 0 || sizeOf(set) > 0 || template !== undefined) Object.assign(annotations, sizeAnnotations(bounds));
  const earlier = before[revisionKey];
  if (revision !== undefined && Number(revision) > (Number(earlier) || 0)) {
    annotations[revisionKey] = revision;
    if (earlier !== undefined) annotations[historyKey] = [before[historyKey], earlier].filter(Boolean).join(",");
  }
  const minReadySeconds = template?.spec.minReadySeconds ?? set.spec.minReadySeconds;
  const same =
    replicas === sizeOf(set) &&
    (minReadySeconds ?? 0) === (set.spec.minReadySeconds ?? 0) &&
    Object.keys(annotations).every((key) => annotations[key] === before[key]);
  if (same) return undefined;
  return {
    ...set,
    metadata: { ...set.metadata, annotations },
    spec: { ...set.spec, replicas, ...(minReadySeconds === undefined ? {} : { minReadySeconds }) },
  };
}

const sizeAnnotations = ({ desired, maxSurge }: RolloutBounds): Record<string, string> => ({
  [desiredKey]: String(desired),
  [maxKey]: String(desired + maxSurge),
});

const inheritedAnnotations = (deployment: Deployment): Record<string, string> =>
  Object.fromEntries(Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => !ownAnnotations.has(key)));

const namespaceOf = (deployment: Deployment): { namespace?: string } =>
  deployment.metadata.namespace === undefined ? {} : { namespace: deployment.metadata.namespace };

const scaledEvent = (direction: "up" | "down", name: string, from: number, to: number): EventContent => ({
  type: "Normal",
  reason: "ScalingReplicaSet",
  message: `Scaled ${direction} replica set ${name} from ${from} to ${to}`,
  source: "deployment-controller",
});

const newCondition = (
  type: string,
  status: ObjectCondition["status"],
  reason: string,
  now: number,
): ObjectCondition => ({
  type,
  status,
  reason,
  message: "",
  lastUpdateTime: formatTime(now),
  lastTransitionTime: formatTime(now),
});

/** Appends a condition, as the deployment controller does, unless status and reason are unchanged. */
function setCondition(conditions: readonly ObjectCondition[], condition: ObjectCondition): readonly ObjectCondition[] {
  const before = conditionOfType(conditions, condition.type);
  if (before?.status === condition.status && before.reason === condition.reason) return conditions;
  const kept =
    before?.status === condition.status && before.lastTransitionTime !== undefined
      ? { ...condition, lastTransitionTime: before.lastTransitionTime }
      : condition;
  return [...conditions.filter((each) => each.type !== condition.type), kept];
}

function pausedConditions(deployment: Deployment, now: number): readonly ObjectCondition[] {
  const conditions = deployment.status?.conditions ?? [];
  const { progressDeadlineSeconds, paused } = deployment.spec;
  const reason = conditionOfType(conditions, "Progressing")?.reason;
  if (progressDeadlineSeconds === undefined || reason === "ProgressDeadlineExceeded") return conditions;
  if (paused === true && reason !== "DeploymentPaused") {
    const condition = newCondition("Progressing", "Unknown", "DeploymentPaused", now);
    return setCondition(conditions, { ...condition, message: "Deployment is paused" });
  }
  if (paused !== true && reason === "DeploymentPaused") {
    const condition = newCondition("Progressing", "Unknown", "DeploymentResumed", now);
    return setCondition(conditions, { ...condition, message: "Deployment is resumed" });
  }
  return conditions;
}

function statusOf(
  context: Context,
  sets: readonly ReplicaSet[],
): { status: DeploymentStatus; nextMs: number | undefined } {
  const { deployment, current, bounds, now } = context;
  const sum = (of: (set: ReplicaSet) => number | undefined): number =>
    sets.reduce((all, set) => all + (of(set) ?? 0), 0);
  const available = sum((set) => set.status?.availableReplicas);
  const counts = {
    observedGeneration: deployment.metadata.generation ?? 1,
    replicas: sum((set) => set.status?.replicas),
    updatedReplicas: current?.status?.replicas ?? 0,
    readyReplicas: sum((set) => set.status?.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, sum(sizeOf) - available),
    terminatingReplicas: sum((set) => set.status?.terminatingReplicas),
  };
  const enough = available >= bounds.desired - bounds.maxUnavailable;
  let conditions = setCondition(context.conditions, {
    ...newCondition(
      "Available",
      enough ? "True" : "False",
      enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
      now,
    ),
    message: enough ? "Deployment has minimum availability." : "Deployment does not have minimum availability.",
  });
  if (deployment.spec.paused !== true && deployment.metadata.deletionTimestamp === undefined) {
    conditions = progressConditions(context, counts, conditions);
  }
  conditions = replicaFailure(context, conditions);
  return {
    status: withoutZeros(
      {
        ...counts,
        conditions: [...conditions],
        ...(deployment.status?.collisionCount === undefined
          ? {}
          : { collisionCount: deployment.status.collisionCount }),
      },
      ["observedGeneration", "terminatingReplicas"],
    ),
    nextMs: deadlineIn(deployment, conditions, now),
  };
}

function progressConditions(
  { deployment, current, conditions: before, now }: Context,
  counts: DeploymentStatus,
  conditions: readonly ObjectCondition[],
): readonly ObjectCondition[] {
  if (deployment.spec.progressDeadlineSeconds === undefined) return conditions;
  const progressing = conditionOfType(before, "Progressing");
  if (counts.replicas === counts.updatedReplicas && progressing?.reason === "NewReplicaSetAvailable") return conditions;
  const name = current?.metadata.name;
  const subject = name === undefined ? `Deployment "${deployment.metadata.name}"` : `ReplicaSet "${name}"`;
  if (isComplete(deployment, counts)) {
    const condition = newCondition("Progressing", "True", "NewReplicaSetAvailable", now);
    return setCondition(conditions, { ...condition, message: `${subject} has successfully progressed.` });
  }
  if (hasProgressed(deployment.status ?? {}, counts)) {
    const condition = {
      ...newCondition("Progressing", "True", "ReplicaSetUpdated", now),
      message: `${subject} is progressing.`,
      ...(progressing?.status === "True" && progressing.lastTransitionTime !== undefined
        ? { lastTransitionTime: progressing.lastTransitionTime }
        : {}),
    };
    return [...conditions.filter((each) => each.type !== "Progressing"), condition];
  }
  const remainingMs = deadlineIn(deployment, conditions, now);
  if (remainingMs !== undefined && remainingMs <= 0) {
    const condition = newCondition("Progressing", "False", "ProgressDeadlineExceeded", now);
    return setCondition(conditions, { ...condition, message: `${subject} has timed out progressing.` });
  }
  return conditions;
}

function isComplete(deployment: Deployment, status: DeploymentStatus): boolean {
  const desired = deployment.spec.replicas ?? 1;
  return status.updatedReplicas === desired && status.replicas === desired && status.availableReplicas === desired;
}

function hasProgressed(before: DeploymentStatus, after: DeploymentStatus): boolean {
  const old = (status: DeploymentStatus): number => (status.replicas ?? 0) - (status.updatedReplicas ?? 0);
  return (
    (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(after) < old(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

/** Milliseconds until the progress deadline; undefined if no rollout is in progress. */
function deadlineIn(deployment: Deployment, conditions: readonly ObjectCondition[], now: number): number | undefined {
  const progressing = conditionOfType(conditions, "Progressing");
  const seconds = deployment.spec.progressDeadlineSeconds;
  if (seconds === undefined || progressing?.lastUpdateTime === undefined || deployment.spec.paused === true)
    return undefined;
  if (progressing.reason === "NewReplicaSetAvailable" || progressing.reason === "ProgressDeadlineExceeded")
    return undefined;
  return parseTime(progressing.lastUpdateTime) + seconds * 1000 - now;
}

function replicaFailure({ current, old }: Context, conditions: readonly ObjectCondition[]): readonly ObjectCondition[] {
  const failed = [current, ...old].flatMap(
    (set) => conditionOfType(set?.status?.conditions, "ReplicaFailure") ?? [],
  )[0];
  const before = conditionOfType(conditions, "ReplicaFailure");
  if (failed === undefined) return before === undefined ? conditions : conditions.filter((each) => each !== before);
  const lastUpdateTime = failed.lastTransitionTime;
  return setCondition(conditions, { ...failed, ...(lastUpdateTime === undefined ? {} : { lastUpdateTime }) });
}

const finished = ({ deployment }: Context, status: DeploymentStatus): boolean => isComplete(deployment, status);

/** Old replica sets beyond the revision history limit that are observed to be empty. */
function outdated({ deployment, old }: Context): readonly ReplicaSet[] {
  const limit = deployment.spec.revisionHistoryLimit ?? 10;
  const excess = old.length - limit;
  if (excess <= 0) return [];
  return old
    .toSorted((a, b) => revisionOf(a) - revisionOf(b))
    .slice(0, excess)
    .filter(
      (set) =>
        sizeOf(set) === 0 &&
        (set.status?.replicas ?? 0) === 0 &&
        (set.status?.observedGeneration ?? 0) >= (set.metadata.generation ?? 0) &&
        set.metadata.deletionTimestamp === undefined,
    );
}
