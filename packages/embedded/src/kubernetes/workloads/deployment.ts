import { findCondition, resolveAmount, withoutZeros } from "../conditions.ts";
import type { Condition, Deployment, DeploymentStatus, ReplicaSet } from "../kinds.ts";
import { controllerReference, formatTime, parseTime } from "../kinds.ts";
import type { Draft, EventNote } from "../world.ts";
import type { Bounds, Scaling, SetSize } from "./rollout.ts";
import { planProportional, planRollingStep } from "./rollout.ts";
import { hashTemplate, sameTemplate, templateHashLabel } from "./template-hash.ts";

export type DeploymentFacts = Readonly<{
  deployment: Deployment;
  /** Those it owns. */
  replicaSets: readonly ReplicaSet[];
  /** Whether pods of an old template are still there; Recreate waits for them. */
  oldPodsRemain: boolean;
  now: number;
}>;

export type DeploymentPlan = Readonly<{
  create?: Draft;
  /** Replica sets as they should be. */
  update: readonly ReplicaSet[];
  remove: readonly ReplicaSet[];
  /** The revision the deployment itself should be marked with. */
  revision: string | undefined;
  status: DeploymentStatus;
  events: readonly EventNote[];
  nextMs: number | undefined;
}>;

const revisionKey = "deployment.kubernetes.io/revision";
const historyKey = "deployment.kubernetes.io/revision-history";
const desiredKey = "deployment.kubernetes.io/desired-replicas";
const maxKey = "deployment.kubernetes.io/max-replicas";
// Annotations that belong to the deployment alone and are not handed on to its replica sets.
const ownAnnotations = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionKey,
  historyKey,
  desiredKey,
  maxKey,
  "deprecated.deployment.rollback.to",
]);

/** Chooses the next step of a deployment: which replica sets there should be, how large, and what its status says. */
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
    return { update: [], remove: [], revision: undefined, events: [], ...finish(context, byAge) };
  }
  if (paused || isScalingEvent(deployment, byAge)) {
    return outcome(context, planScale(context), current === undefined ? undefined : nextRevision);
  }

  const recreate = deployment.spec.strategy?.type === "Recreate";
  if (recreate) {
    const down = new Map(old.filter((set) => sizeOf(set) > 0).map((set) => [set.metadata.name, 0]));
    if (down.size > 0 || facts.oldPodsRemain) {
      return outcome(context, down, current === undefined ? undefined : nextRevision);
    }
  }
  if (current === undefined) return createNew(context, nextRevision, recreate);
  const scaling = recreate
    ? new Map(sizeOf(current) === bounds.desired ? [] : [[current.metadata.name, bounds.desired]])
    : planRollingStep(bounds, asSize(current), old.map(asSize));
  return outcome(context, scaling, nextRevision);
}

type Context = DeploymentFacts &
  Readonly<{
    current: ReplicaSet | undefined;
    old: readonly ReplicaSet[];
    bounds: Bounds;
    conditions: readonly Condition[];
  }>;

const sizeOf = (set: ReplicaSet): number => set.spec.replicas ?? 1;
const asSize = (set: ReplicaSet): SetSize => ({
  name: set.metadata.name,
  replicas: sizeOf(set),
  available: set.status?.availableReplicas ?? 0,
});
const revisionOf = (set: ReplicaSet): number => Number(set.metadata.annotations?.[revisionKey] ?? 0) || 0;

function boundsOf({ spec }: Deployment): Bounds {
  const desired = spec.replicas ?? 1;
  if (spec.strategy?.type === "Recreate") return { desired, maxSurge: 0, maxUnavailable: 0 };
  const { maxSurge = "25%", maxUnavailable = "25%" } = spec.strategy?.rollingUpdate ?? {};
  const surge = resolveAmount(maxSurge, desired, "up");
  const unavailable = resolveAmount(maxUnavailable, desired, "down");
  // With neither, nothing could ever move.
  return {
    desired,
    maxSurge: surge,
    maxUnavailable: Math.min(desired, surge === 0 && unavailable === 0 ? 1 : unavailable),
  };
}

const isScalingEvent = (deployment: Deployment, sets: readonly ReplicaSet[]): boolean =>
  sets.some((set) => {
    const marked = set.metadata.annotations?.[desiredKey];
    return sizeOf(set) > 0 && marked !== undefined && Number(marked) !== (deployment.spec.replicas ?? 1);
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
      annotations: { ...handedOn(deployment), ...sizeMarks(bounds), [revisionKey]: revision },
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
    update: old.flatMap((set) => marked(set, sizeOf(set), bounds, undefined, undefined) ?? []),
    remove: [],
    revision,
    events: replicas === 0 ? [] : [scaled("up", name, 0, replicas)],
    ...finish({ ...context, conditions }, context.replicaSets),
  };
}

function outcome(context: Context, scaling: Scaling, revision: string | undefined): DeploymentPlan {
  const { deployment, current, old, bounds } = context;
  const sets = current === undefined ? old : [...old, current];
  const update = sets.flatMap(
    (set) =>
      marked(
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
    return [scaled(to > sizeOf(set) ? "up" : "down", set.metadata.name, sizeOf(set), to)];
  });
  const result = finish(context, sets);
  return { update, remove: finished(context, result.status) ? outdated(context) : [], revision, events, ...result };
}

/** The replica set with its size and marks as they should be, or undefined when they are. */
function marked(
  set: ReplicaSet,
  replicas: number,
  bounds: Bounds,
  revision: string | undefined,
  template: Deployment | undefined,
): ReplicaSet | undefined {
  const before = set.metadata.annotations ?? {};
  const annotations: Record<string, string> = { ...before, ...(template === undefined ? {} : handedOn(template)) };
  // Old sets without pods keep the marks of the time when they had some.
  if (replicas > 0 || sizeOf(set) > 0 || template !== undefined) Object.assign(annotations, sizeMarks(bounds));
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

const sizeMarks = ({ desired, maxSurge }: Bounds): Record<string, string> => ({
  [desiredKey]: String(desired),
  [maxKey]: String(desired + maxSurge),
});

const handedOn = (deployment: Deployment): Record<string, string> =>
  Object.fromEntries(Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => !ownAnnotations.has(key)));

const namespaceOf = (deployment: Deployment): { namespace?: string } =>
  deployment.metadata.namespace === undefined ? {} : { namespace: deployment.metadata.namespace };

const scaled = (way: "up" | "down", name: string, from: number, to: number): EventNote => ({
  type: "Normal",
  reason: "ScalingReplicaSet",
  message: `Scaled ${way} replica set ${name} from ${from} to ${to}`,
  source: "deployment-controller",
});

const newCondition = (type: string, status: Condition["status"], reason: string, now: number): Condition => ({
  type,
  status,
  reason,
  message: "",
  lastUpdateTime: formatTime(now),
  lastTransitionTime: formatTime(now),
});

/** Puts a condition last, as the deployment controller does, unless it says nothing new. */
function setCondition(conditions: readonly Condition[], condition: Condition): readonly Condition[] {
  const before = findCondition(conditions, condition.type);
  if (before?.status === condition.status && before.reason === condition.reason) return conditions;
  const kept =
    before?.status === condition.status && before.lastTransitionTime !== undefined
      ? { ...condition, lastTransitionTime: before.lastTransitionTime }
      : condition;
  return [...conditions.filter((each) => each.type !== condition.type), kept];
}

function pausedConditions(deployment: Deployment, now: number): readonly Condition[] {
  const conditions = deployment.status?.conditions ?? [];
  const { progressDeadlineSeconds, paused } = deployment.spec;
  const reason = findCondition(conditions, "Progressing")?.reason;
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

function finish(
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
  conditions: readonly Condition[],
): readonly Condition[] {
  if (deployment.spec.progressDeadlineSeconds === undefined) return conditions;
  const progressing = findCondition(before, "Progressing");
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
  const left = deadlineIn(deployment, conditions, now);
  if (left !== undefined && left <= 0) {
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

/** Milliseconds until a rollout counts as stuck; undefined while none is under way. */
function deadlineIn(deployment: Deployment, conditions: readonly Condition[], now: number): number | undefined {
  const progressing = findCondition(conditions, "Progressing");
  const seconds = deployment.spec.progressDeadlineSeconds;
  if (seconds === undefined || progressing?.lastUpdateTime === undefined || deployment.spec.paused === true)
    return undefined;
  if (progressing.reason === "NewReplicaSetAvailable" || progressing.reason === "ProgressDeadlineExceeded")
    return undefined;
  return parseTime(progressing.lastUpdateTime) + seconds * 1000 - now;
}

function replicaFailure({ current, old }: Context, conditions: readonly Condition[]): readonly Condition[] {
  const failed = [current, ...old].flatMap((set) => findCondition(set?.status?.conditions, "ReplicaFailure") ?? [])[0];
  const before = findCondition(conditions, "ReplicaFailure");
  if (failed === undefined) return before === undefined ? conditions : conditions.filter((each) => each !== before);
  const lastUpdateTime = failed.lastTransitionTime;
  return setCondition(conditions, { ...failed, ...(lastUpdateTime === undefined ? {} : { lastUpdateTime }) });
}

const finished = ({ deployment }: Context, status: DeploymentStatus): boolean => isComplete(deployment, status);

/** Old replica sets beyond what the history keeps: only those that are empty and were seen to be. */
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
