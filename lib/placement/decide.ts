import { byKey } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { ReservedByCluster } from "../model/reserved-resources.ts";
import { done, earliestNext, type Next, requeueAfter } from "../model/work-item.ts";
import { allocationRank, capacityFilter, capacityRecheckSeconds } from "./capacity.ts";
import {
  type BlockedFailback,
  decisionGroups,
  type Rejected,
  type Retained,
  type RetainedCluster,
  sortByName,
} from "./decision-groups.ts";
import { evictionsAfter } from "./evictions.ts";
import { type DecisionGroup, decisionBounds, listDecisions, type PlacementStatus } from "./explain.ts";
import {
  dueFailbackTargets,
  type FailbackTarget,
  failbackDueMs,
  failbackTargetsAfter,
  failbackTargetsOf,
  formatFailbackTargets,
  worsenedConstraint,
} from "./failback.ts";
import { compileFilters, type Filter, rejectingFilter } from "./filters.ts";
import {
  defaultMassFailureSettings,
  type MassFailure,
  massFailureRecheckSeconds,
  massFailuresIn,
} from "./mass-failure.ts";
import type { ClusterFacts, ObservedPlacement } from "./observed.ts";
import { InvalidSpec, type ParsedSpec, tryParseSpec } from "./parsed-spec.ts";
import type { DecisionReason } from "./reasons.ts";
import { decideRetention, type PreviousDecision, previousDecisionOf } from "./retention.ts";
import { createScorers, type Scorers, totalScore } from "./scores.ts";
import { type ClusterSelection, type ScoredCluster, selectClusters } from "./select-clusters.ts";
import { buildStatus, invalidSpecCondition, readyCondition, withAnnotationCondition } from "./status.ts";

export type PlacementPlan = Readonly<{
  /** The complete desired status. */
  status: PlacementStatus;
  next: Next;
  /** Whether the load has influenced the selection, or would have if it had been given. */
  dependsOnLoad: boolean;
}>;

const noReservations: ReservedByCluster = new Map();

/** Bounds of `status.decisions`; `tmc explain` lists all decisions. */
export type DecisionBounds = Readonly<{ entries: number; bytes: number }>;

/**
 * Decides on which clusters a placement runs, and explains the decision for every cluster.
 *
 * The same facts, in any order, give the same bytes. A selected cluster that still fits is kept: moving workloads costs
 * users more than an uneven distribution. Applied to its own result, it changes nothing.
 */
export function decidePlacement(observed: ObservedPlacement, bounds: DecisionBounds = decisionBounds): PlacementPlan {
  const { placement, nowMs } = observed;
  if (placement.metadata.deletionTimestamp !== undefined) {
    return { status: placement.status ?? {}, next: done, dependsOnLoad: false };
  }
  const clusters = sortByName(observed.clusters);
  const spec = tryParseSpec(placement);
  if (spec instanceof InvalidSpec) return planForInvalidSpec(placement, clusters, spec, { nowMs, bounds });

  const scorers = createScorers(spec);
  const retainedBefore = retainedClusters(spec, observed, clusters);
  const capacity = capacityFilter(observed.reserved ?? noReservations);
  const targets = failbackTargetsOf(spec, placement, clusters, { nowMs, capacity });
  const { retained, selection, rejected, blockedFailback } = selectWithFailback(spec, {
    scorers,
    clusters,
    retained: retainedBefore,
    targets,
    capacity,
    observed,
  });
  for (const cluster of selection.dropped) addRejected(rejected, rejectingFilter(spec, cluster) ?? capacity, cluster);

  const pendingTargets = failbackTargetsAfter(spec, { placement, targets, selection, clusters, nowMs });
  const { selected, others } = decisionGroups(spec, {
    scorers,
    clusters,
    retained,
    selection,
    pendingTargets,
    blockedFailback,
    rejected,
    maxListed: bounds.entries,
  });
  const { decisions, omitted } = listDecisions([selected, ...others], bounds);
  const built = buildStatus(placement, {
    strategy: spec.strategy,
    selected: selection.selected.map(({ name }) => name),
    decisions,
    omitted,
    failback: formatFailbackTargets(pendingTargets),
    evictedClusters: evictionsAfter(spec, {
      placement,
      failbackTargets: targets,
      selected: selection.selected,
      clusters,
      nowMs,
    }),
    ready: readyCondition(spec, { clusters, selection, others }),
    heldEvictions: selection.selected
      .map(({ name }) => name)
      .filter((name) => retained.get(name)?.verdict.reason === "KeptMassFailure"),
    nowMs,
  });
  return {
    status: withAnnotationCondition(placement, built, { clusters, nowMs }),
    next: nextReconcile(spec, { retained, selection, pendingTargets, isFull: rejected.has(capacity.reason), nowMs }),
    // Whether a cluster is full is explained also for placements that need no further cluster.
    dependsOnLoad: selection.dependsOnLoad || capacity.isRelevant?.(spec) === true,
  };
}

type Attempt = Readonly<{
  retained: Retained;
  selection: ClusterSelection;
  rejected: Rejected;
  blockedFailback?: BlockedFailback;
}>;

/** Selects clusters, and moves back to failback targets that are due unless that would worsen a strict spread constraint. */
function selectWithFailback(
  spec: ParsedSpec,
  {
    scorers,
    clusters,
    retained,
    targets,
    capacity,
    observed,
  }: Readonly<{
    scorers: Scorers;
    clusters: readonly ClusterFacts[];
    retained: Retained;
    targets: readonly FailbackTarget[];
    capacity: Filter;
    observed: ObservedPlacement;
  }>,
): Attempt {
  const { load, reserved, nowMs } = observed;
  const rankOf = allocationRank(spec, reserved);
  const attempt = (kept: Retained): Attempt => {
    const { newCandidates, rejected } = filterAndScore(spec, { scorers, clusters, retained: kept, capacity });
    const scored = [...kept.values()].map(({ cluster, verdict }) => ({
      cluster,
      score: totalScore(scorers, cluster),
      isRestricted: verdict.reason !== "Selected",
    }));
    const selection = selectClusters(spec, { retained: scored, newCandidates, load, rankOf });
    return { retained: kept, selection: withFullDropped(spec, selection, { retained: kept, capacity }), rejected };
  };
  const due = dueFailbackTargets(spec, targets, { retained, nowMs });
  if (due.length === 0) return attempt(retained);
  const withFailback = attempt(applyFailback(retained, due));
  if (spec.spreadConstraints.length === 0) return withFailback;
  const withoutFailback = attempt(retained);
  const constraint = worsenedConstraint(spec, withFailback.selection, withoutFailback.selection);
  if (constraint === undefined) return withFailback;
  return {
    ...withoutFailback,
    blockedFailback: { constraint, names: new Set(due.map(({ cluster }) => cluster.name)) },
  };
}

/** Moves retained clusters that were not selected and are full to the dropped ones: they are explained as the next decision would. */
function withFullDropped(
  spec: ParsedSpec,
  selection: ClusterSelection,
  { retained, capacity }: Readonly<{ retained: Retained; capacity: Filter }>,
): ClusterSelection {
  const isFull = ({ cluster }: ScoredCluster) => retained.has(cluster.name) && capacity.fails(spec, cluster);
  if (spec.resources.length === 0 || !selection.notSelected.some(isFull)) return selection;
  const full = selection.notSelected.filter(isFull).map(({ cluster }) => cluster);
  return {
    ...selection,
    notSelected: selection.notSelected.filter((each) => !isFull(each)),
    dropped: [...selection.dropped, ...full],
  };
}

/** Replaces stand-ins by their failback targets; the result is sorted by name. */
function applyFailback(retained: Retained, targets: readonly FailbackTarget[]): Retained {
  const standIns = new Set(targets.map(({ standIn }) => standIn));
  const verdict = { isRetained: true, reason: "Selected" } as const;
  const returning = targets.map(({ cluster }) => [cluster.name, { cluster, verdict }] as const);
  const remaining = [...retained].filter(([name]) => !standIns.has(name));
  return new Map([...remaining, ...returning].toSorted(byKey));
}

/** The previously selected clusters that are retained. */
function retainedClusters(
  spec: ParsedSpec,
  {
    placement,
    nowMs,
    massFailuresOfProcess: ofProcess = [],
    massFailure = defaultMassFailureSettings,
  }: ObservedPlacement,
  clusters: readonly ClusterFacts[],
): Retained {
  const isProcessUnknown = ofProcess === "unknown";
  const retained = new Map<string, RetainedCluster>();
  const current = new Set(placement.status?.selectedClusters);
  if (current.size === 0) return retained;
  // Computed for the first cluster that is not Ready: most placements have none.
  let massFailures: readonly MassFailure[] | undefined;
  for (const cluster of clusters) {
    if (!current.has(cluster.name)) continue;
    if (cluster.ready !== "True")
      massFailures ??= [...massFailuresIn(clusters, nowMs, massFailure), ...(isProcessUnknown ? [] : ofProcess)];
    const previous = previousDecision(placement, cluster.name);
    const verdict = decideRetention(spec, cluster, { nowMs, previous, massFailures, isProcessUnknown });
    if (verdict.isRetained) retained.set(cluster.name, { cluster, verdict });
  }
  return retained;
}

/** The decision that an earlier reconcile recorded for the cluster, if the spec has not changed since. */
function previousDecision({ metadata, status }: WorkloadPlacement, name: string): PreviousDecision | undefined {
  if (status?.observedGeneration !== metadata.generation) return undefined;
  const decision = status?.decisions?.find(({ cluster }) => cluster === name);
  return decision && previousDecisionOf(decision);
}

function filterAndScore(
  spec: ParsedSpec,
  {
    scorers,
    clusters,
    retained,
    capacity,
  }: Readonly<{ scorers: Scorers; clusters: readonly ClusterFacts[]; retained: Retained; capacity: Filter }>,
): { newCandidates: readonly ScoredCluster[]; rejected: Rejected } {
  const newCandidates: ScoredCluster[] = [];
  const rejected: Rejected = new Map();
  const rejectionOf = compileFilters(spec);
  const isCapacityRelevant = capacity.isRelevant?.(spec) === true;
  // Retained clusters have the same order as the clusters, so one pass skips them.
  const toSkip = retained.values();
  let skipped = toSkip.next().value?.cluster;
  for (const cluster of clusters) {
    if (cluster === skipped) {
      skipped = toSkip.next().value?.cluster;
      continue;
    }
    const filter = rejectionOf(cluster) ?? (isCapacityRelevant && capacity.fails(spec, cluster) ? capacity : undefined);
    if (filter === undefined) newCandidates.push({ cluster, score: totalScore(scorers, cluster) });
    else addRejected(rejected, filter, cluster);
  }
  return { newCandidates, rejected };
}

function addRejected(rejected: Rejected, filter: Filter, cluster: ClusterFacts): void {
  const group = rejected.get(filter.reason);
  if (group === undefined) rejected.set(filter.reason, { filter, members: [cluster] });
  else group.members.push(cluster);
}

/** One day: timers have a maximum delay, and an early reconcile is harmless. */
const maxRequeueSeconds = 86_400;

/** Requeues at the end of the first toleration or failback waiting time. */
function nextReconcile(
  spec: ParsedSpec,
  {
    retained,
    selection,
    pendingTargets,
    isFull,
    nowMs,
  }: Readonly<{
    retained: Retained;
    selection: ClusterSelection;
    pendingTargets: readonly FailbackTarget[];
    /** Whether a cluster was rejected because it is full. */
    isFull: boolean;
    nowMs: number;
  }>,
): Next {
  const waitsForCapacity = isFull && selection.selected.length < (spec.numberOfClusters ?? Infinity);
  if (retained.size === 0 && pendingTargets.length === 0 && !waitsForCapacity) return done;
  const ends = [
    waitsForCapacity ? nowMs + capacityRecheckSeconds * 1000 : undefined,
    ...selection.selected.map(({ name }) => {
      const verdict = retained.get(name)?.verdict;
      if (verdict?.reason === "KeptMassFailure") return nowMs + massFailureRecheckSeconds * 1000;
      return verdict?.reason === "KeptTolerated" ? verdict.untilMs : undefined;
    }),
    // A target that is due but blocked by a spread constraint waits for another change, not for a time.
    ...pendingTargets
      .map((target) => failbackDueMs(spec, target))
      .filter((dueMs) => dueMs !== undefined && dueMs > nowMs),
  ];
  return ends.reduce<Next>((next, endMs) => {
    if (endMs === undefined) return next;
    const seconds = Math.ceil((endMs - nowMs) / 1000);
    return earliestNext(next, requeueAfter(Math.min(Math.max(1, seconds), maxRequeueSeconds)));
  }, done);
}

/** A placement with an invalid spec keeps its clusters: a typing error must not move workloads. */
function planForInvalidSpec(
  placement: WorkloadPlacement,
  clusters: readonly ClusterFacts[],
  error: InvalidSpec,
  { nowMs, bounds }: Readonly<{ nowMs: number; bounds: DecisionBounds }>,
): PlacementPlan {
  const selected = placement.status?.selectedClusters ?? [];
  const current = new Set(selected);
  const group = (reason: DecisionReason, isSelected: boolean): DecisionGroup => ({
    reasonOf: reason,
    members: clusters.filter(({ name }) => current.has(name) === isSelected),
    verdictFor: () => ({ reason, detail: {} }),
  });
  const { decisions, omitted } = listDecisions(
    [group("KeptInvalidPlacement", true), group("InvalidPlacement", false)],
    bounds,
  );
  const ready = invalidSpecCondition(error);
  const strategy = placement.spec.strategy ?? "";
  const { failback, evictedClusters } = placement.status ?? {};
  return {
    status: buildStatus(placement, {
      strategy,
      selected,
      decisions,
      omitted,
      failback,
      evictedClusters,
      ready,
      heldEvictions: [],
      nowMs,
    }),
    next: done,
    dependsOnLoad: false,
  };
}
