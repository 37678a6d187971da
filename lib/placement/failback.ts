import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { maxClockSkewMs } from "../model/timestamp.ts";
import { formatTimestampUp, type PlacementStatus } from "./explain.ts";
import { type Filter, rejectingFilter } from "./filters.ts";
import type { ClusterFacts } from "./observed.ts";
import type { ParsedSpec, SpreadConstraint } from "./parsed-spec.ts";
import { recoverableReasons } from "./reasons.ts";
import { immediateEvictionReasons } from "./retention.ts";
import { preferenceOf } from "./scores.ts";
import type { ClusterSelection } from "./select-clusters.ts";

/**
 * A cluster that a placement moves back to: either the placement was evicted from it because of the cluster's state, or
 * the placement prefers it over a selected cluster.
 */
export type FailbackTarget = Readonly<{
  cluster: ClusterFacts;
  reason: string;
  since: string;
  /** The selected cluster that this one will replace. */
  standIn: string | undefined;
  /** Since when it has been Ready and has fit; undefined while it does not. */
  fittingSinceMs: number | undefined;
}>;

/** The reason of a target from which the placement was not evicted. */
const preferredReason = "Preferred";

/**
 * Returns the failback targets of `status.failback` with the current facts of their clusters; none if the spec has no
 * failback. A target whose registration is gone, or that the spec now excludes, is dropped.
 *
 * The waiting time restarts whenever the target did not fit, however short that was. To catch an interruption that no
 * reconcile observed, the later of the recorded time and the cluster's own `readySinceMs` counts.
 */
export function failbackTargetsOf(
  spec: ParsedSpec,
  { status }: WorkloadPlacement,
  clusters: readonly ClusterFacts[],
  { nowMs, capacity }: Readonly<{ nowMs: number; capacity: Filter }>,
): readonly FailbackTarget[] {
  if (spec.failbackSeconds === undefined || spec.numberOfClusters === undefined) return [];
  return (status?.failback ?? [])
    .flatMap(({ cluster: name, reason, since, standIn, fittingSince }): FailbackTarget[] => {
      const cluster = clusters.find((each) => each.name === name);
      const failed = cluster === undefined ? undefined : rejectingFilter(spec, cluster);
      if (cluster === undefined || (failed !== undefined && immediateEvictionReasons.has(failed.reason))) return [];
      const recordedMs = Date.parse(fittingSince ?? "");
      // A cluster that other placements have filled meanwhile does not fit.
      const isFitting = failed === undefined && !capacity.fails(spec, cluster);
      const fittingSinceMs = isFitting
        ? latestStartMs(cluster, Number.isNaN(recordedMs) ? nowMs : recordedMs, nowMs)
        : undefined;
      return [{ cluster, reason, since, standIn, fittingSinceMs }];
    })
    .toSorted((one, other) => compareStrings(one.cluster.name, other.cluster.name));
}

/** When the placement moves back to a target; undefined while the target does not fit. */
export function failbackDueMs({ failbackSeconds }: ParsedSpec, { fittingSinceMs }: FailbackTarget): number | undefined {
  if (fittingSinceMs === undefined || failbackSeconds === undefined) return undefined;
  return fittingSinceMs + failbackSeconds * 1000;
}

/** The targets to move back to now: those whose time is over, and those that fit while fewer clusters than requested remain. */
export function dueFailbackTargets(
  spec: ParsedSpec,
  targets: readonly FailbackTarget[],
  { retained, nowMs }: Readonly<{ retained: ReadonlyMap<string, unknown>; nowMs: number }>,
): readonly FailbackTarget[] {
  let missing = (spec.numberOfClusters ?? 0) - retained.size;
  const replaced = new Set<string>();
  // A stand-in may have two targets: it is replaced once, by the one that the placement prefers.
  const byPreference = targets.toSorted(
    (one, other) => preferenceOf(spec, other.cluster) - preferenceOf(spec, one.cluster),
  );
  return byPreference.filter((target) => {
    const { cluster, standIn } = target;
    const dueMs = failbackDueMs(spec, target);
    if (dueMs === undefined || retained.has(cluster.name)) return false;
    if (standIn !== undefined && retained.has(standIn)) {
      if (dueMs > nowMs || replaced.has(standIn)) return false;
      replaced.add(standIn);
      return true;
    }
    missing -= 1;
    return missing >= 0;
  });
}

/** A strict constraint that a selection exceeds by more than another selection does. */
export function worsenedConstraint(
  { spreadConstraints }: ParsedSpec,
  selection: ClusterSelection,
  other: ClusterSelection,
): SpreadConstraint | undefined {
  return spreadConstraints.find(({ topologyKey, isStrict }) => {
    const skewIn = ({ exceededSkews }: ClusterSelection): number =>
      exceededSkews.find(({ key }) => key === topologyKey)?.skew ?? 0;
    return isStrict && skewIn(selection) > skewIn(other);
  });
}

export type FailbackFacts = Readonly<{
  placement: WorkloadPlacement;
  targets: readonly FailbackTarget[];
  selection: ClusterSelection;
  clusters: readonly ClusterFacts[];
  nowMs: number;
}>;

/** The failback targets to record after a selection. */
export function failbackTargetsAfter(spec: ParsedSpec, facts: FailbackFacts): readonly FailbackTarget[] {
  const { placement, targets, selection, clusters, nowMs } = facts;
  if (spec.failbackSeconds === undefined || spec.numberOfClusters === undefined) return [];
  const selected = new Map(selection.selected.map((cluster) => [cluster.name, cluster]));
  const before = new Set(placement.status?.selectedClusters);
  const pending = targets.filter(({ cluster }) => !selected.has(cluster.name));
  const known = [...pending, ...newlyEvicted(spec, { before, selected, targets, clusters, nowMs })].toSorted(
    (one, other) => compareStrings(one.cluster.name, other.cluster.name),
  );
  const usedStandIns = new Set(
    known.flatMap(({ standIn }) => (standIn !== undefined && selected.has(standIn) ? standIn : [])),
  );
  const targetNames = new Set(targets.map(({ cluster }) => cluster.name));
  const freeStandIns = [...selected.keys()].filter(
    (name) => !before.has(name) && !usedStandIns.has(name) && !targetNames.has(name),
  );
  const isFull = selected.size >= spec.numberOfClusters;
  const remaining = known
    .map((target) =>
      target.standIn !== undefined && selected.has(target.standIn)
        ? target
        : { ...target, standIn: freeStandIns.shift() },
    )
    .filter(({ cluster, reason, standIn }) => {
      const replaced = standIn === undefined ? undefined : selected.get(standIn);
      // Without a stand-in the target is needed only if clusters are missing: otherwise fewer clusters are requested now.
      if (replaced === undefined) return !isFull && reason !== preferredReason;
      const gain = preferenceOf(spec, cluster) - preferenceOf(spec, replaced);
      return reason === preferredReason ? gain > 0 : gain >= 0;
    });
  const mayPrefer = isFull && remaining.every(({ reason }) => reason !== preferredReason) && hasPreferences(spec);
  const better = mayPrefer ? preferredTarget(spec, { selection, targets: remaining, nowMs }) : undefined;
  return better === undefined
    ? remaining
    : [...remaining, better].toSorted((one, other) => compareStrings(one.cluster.name, other.cluster.name));
}

/** The targets in the form of `status.failback`. */
export function formatFailbackTargets(targets: readonly FailbackTarget[]): PlacementStatus["failback"] | undefined {
  if (targets.length === 0) return undefined;
  return targets.map(({ cluster, reason, since, standIn, fittingSinceMs }) => ({
    cluster: cluster.name,
    reason,
    since,
    ...(standIn === undefined ? {} : { standIn }),
    ...(fittingSinceMs === undefined ? {} : { fittingSince: formatTimestampUp(fittingSinceMs) }),
  }));
}

/**
 * The later of the two times that is not in the future: after a clock was set back, the waiting time starts again, and only once.
 * Rounded up to whole seconds, the resolution of the status, so that the waiting time is never cut short.
 */
function latestStartMs({ readySinceMs }: ClusterFacts, recordedMs: number, nowMs: number): number {
  const believedMs = [recordedMs, readySinceMs ?? recordedMs].filter((ms) => ms <= nowMs + maxClockSkewMs);
  return Math.ceil(Math.max(...(believedMs.length === 0 ? [nowMs] : believedMs)) / 1000) * 1000;
}

type EvictedFacts = Readonly<{
  before: ReadonlySet<string>;
  selected: ReadonlyMap<string, ClusterFacts>;
  targets: readonly FailbackTarget[];
  clusters: readonly ClusterFacts[];
  nowMs: number;
}>;

/** Clusters that the selection evicts because of their state. An evicted stand-in does not become a target itself. */
function newlyEvicted(
  spec: ParsedSpec,
  { before, selected, targets, clusters, nowMs }: EvictedFacts,
): readonly FailbackTarget[] {
  const evicted = [...before].filter((name) => !selected.has(name));
  if (evicted.length === 0) return [];
  const known = namesOf(targets);
  return clusters.flatMap((cluster): FailbackTarget[] => {
    if (!evicted.includes(cluster.name) || known.has(cluster.name)) return [];
    const reason = rejectingFilter(spec, cluster)?.reason;
    if (reason === undefined || !recoverableReasons.has(reason)) return [];
    return [{ cluster, reason, since: formatTimestampUp(nowMs), standIn: undefined, fittingSinceMs: undefined }];
  });
}

function hasPreferences({
  preferred,
  preferredClusters,
  hintedClusters,
  avoidedClusters,
  hintedLocations,
}: ParsedSpec): boolean {
  return (
    preferred.length > 0 ||
    preferredClusters.size > 0 ||
    hintedClusters.size > 0 ||
    avoidedClusters.size > 0 ||
    hintedLocations.size > 0
  );
}

/** The most preferred cluster that is not selected, if the placement prefers it over its least preferred selected one. */
function preferredTarget(
  spec: ParsedSpec,
  { selection, targets, nowMs }: Pick<FailbackFacts, "selection" | "targets" | "nowMs">,
): FailbackTarget | undefined {
  const known = namesOf(targets);
  // A stand-in for a cluster that does not fit now may stay for good, so it does not keep a preferred cluster away.
  const kept = namesOf(targets.filter(({ fittingSinceMs }) => fittingSinceMs !== undefined));
  const leastPreferred = maxBy(
    selection.selected.filter(({ name }) => !kept.has(name)),
    (cluster) => -preferenceOf(spec, cluster),
  );
  const fitting = selection.notSelected.map(({ cluster }) => cluster).filter(({ name }) => !known.has(name));
  const mostPreferred = maxBy(fitting, (cluster) => preferenceOf(spec, cluster));
  if (leastPreferred === undefined || mostPreferred === undefined) return undefined;
  if (preferenceOf(spec, mostPreferred) <= preferenceOf(spec, leastPreferred)) return undefined;
  return {
    cluster: mostPreferred,
    reason: preferredReason,
    since: formatTimestampUp(nowMs),
    standIn: leastPreferred.name,
    fittingSinceMs: latestStartMs(mostPreferred, nowMs, nowMs),
  };
}

/** The names of all targets and of their stand-ins. */
function namesOf(targets: readonly FailbackTarget[]): ReadonlySet<string> {
  return new Set(
    targets.flatMap(({ cluster, standIn }) => (standIn === undefined ? [cluster.name] : [cluster.name, standIn])),
  );
}

/** The item with the highest value; the first of several equal ones. */
function maxBy<T>(items: readonly T[], measure: (item: T) => number): T | undefined {
  let best: Readonly<{ item: T; value: number }> | undefined;
  for (const item of items) {
    const value = measure(item);
    if (best === undefined || value > best.value) best = { item, value };
  }
  return best?.item;
}
