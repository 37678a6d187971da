import { compareStrings } from "@tmc/kube/compare.ts";
import { annotationsValidType, invalidAnnotation, unregisteredErrors } from "../api/annotations.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { type DecidedCondition, findCondition, withCondition } from "../model/condition.ts";
import type { ObjectEvent } from "../model/event.ts";
import { clip, formatNames, summarizeNames } from "../model/text.ts";
import { formatTimestamp } from "../model/timestamp.ts";
import { type ClusterDecision, countReasons, type DecisionGroup, type PlacementStatus } from "./explain.ts";
import type { ClusterFacts } from "./observed.ts";
import { defaultStrategy, hintAnnotations, type InvalidSpec, type ParsedSpec, satisfies } from "./parsed-spec.ts";
import type { ReadyReason, selectionReasons } from "./reasons.ts";
import type { ClusterSelection } from "./select-clusters.ts";

export type ReadyDecision = Readonly<{ status: "True" | "False"; reason: ReadyReason; message: string }>;

/** The decided values from which a status is built. */
export type PlacementOutcome = Readonly<{
  strategy: string;
  selected: readonly string[];
  decisions: NonNullable<PlacementStatus["decisions"]>;
  omitted: PlacementStatus["decisionsOmitted"] | undefined;
  failback: PlacementStatus["failback"] | undefined;
  evictedClusters: PlacementStatus["evictedClusters"] | undefined;
  ready: ReadyDecision;
  /** The clusters from which the placement is not evicted, because of a suspected mass failure. */
  heldEvictions: readonly string[];
  nowMs: number;
}>;

/** Returns the placement's status updated with an outcome. Fields and conditions of other writers are kept. */
export function buildStatus({ metadata, status = {} }: WorkloadPlacement, outcome: PlacementOutcome): PlacementStatus {
  const generation = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation };
  const { decisionsOmitted: _, ...others } = status;
  const rest: { -readonly [Field in keyof PlacementStatus]: PlacementStatus[Field] } = { ...others };
  // Fields that stay keep their position in the object: the same facts must give the same bytes.
  if (outcome.selected.length === 0) delete rest.clusterSummary;
  if (outcome.failback === undefined) delete rest.failback;
  if (outcome.evictedClusters === undefined) delete rest.evictedClusters;
  const { nowMs, selected, decisions } = outcome;
  const history = historyAfter({ before: status, generation: metadata.generation, selected, decisions, nowMs });
  const ready: DecidedCondition = { type: "Ready", ...outcome.ready, ...generation };
  const now = formatTimestamp(nowMs);
  const conditions = withCondition(status.conditions ?? [], ready, now);
  const held = heldCondition(conditions, outcome.heldEvictions);
  return {
    ...rest,
    strategy: outcome.strategy === "" ? defaultStrategy : outcome.strategy,
    selectedClusters: outcome.selected,
    ...(selected.length === 0 ? {} : { clusterSummary: summarizeNames(selected) }),
    decisions: outcome.decisions,
    ...(outcome.omitted === undefined ? {} : { decisionsOmitted: outcome.omitted }),
    ...(outcome.failback === undefined ? {} : { failback: outcome.failback }),
    ...(outcome.evictedClusters === undefined ? {} : { evictedClusters: outcome.evictedClusters }),
    conditions: held === undefined ? conditions : withCondition(conditions, { ...held, ...generation }, now),
    ...(history.length === 0 ? {} : { history }),
    ...generation,
  };
}

const evictionsHeldType = "EvictionsHeld";

/** The Ready condition: which clusters are selected, or why none is. */
export function readyCondition(
  spec: ParsedSpec,
  {
    clusters,
    selection,
    others,
  }: Readonly<{ clusters: readonly ClusterFacts[]; selection: ClusterSelection; others: readonly DecisionGroup[] }>,
): ReadyDecision {
  const { selected, exceededSkews } = selection;
  if (selected.length > 0) {
    const requested = spec.numberOfClusters ?? selected.length;
    const sentences = [
      `${spec.strategy} selected ${formatClusterNames(selected)}`,
      ...(selected.length < requested
        ? [`${requested} clusters are requested, other clusters: ${countReasons(others) || "none"}`]
        : []),
      ...exceededSkews.map(({ key, skew, maxSkew }) => `the skew over ${key} is ${skew}, which exceeds ${maxSkew}`),
    ];
    return { status: "True", reason: "PlacementReady", message: sentences.join("; ") };
  }
  const counted = countReasons(others);
  if (counted === "") return { status: "False", reason: "NoClusters", message: "no cluster is registered" };
  const sentences = [
    `0 of ${clusters.length} ${clusters.length === 1 ? "cluster fits" : "clusters fit"}: ${counted}`,
    ...formatUnmatched(spec, clusters),
  ];
  return { status: "False", reason: "NoSuitableClusters", message: sentences.join("; ") };
}

/** The command in the message stays short: the failure of more clusters is confirmed in several steps. */
const maxConfirmed = 5;

/** The condition that says whether evictions are held. A placement that was never held has none. */
function heldCondition(
  conditions: NonNullable<PlacementStatus["conditions"]>,
  clusters: readonly string[],
): DecidedCondition | undefined {
  if (clusters.length > 0) {
    const message = `most clusters stopped responding at about the same time, and TMC may have lost its connection to them: evictions from ${formatNames(clusters)} are held until enough clusters respond again; if they have failed, run: tmc confirm ${clusters
      .map((name) => `failure/${name}`)
      .slice(0, maxConfirmed)
      .join(" ")}`;
    return { type: evictionsHeldType, status: "True", reason: "MassFailureSuspected", message };
  }
  if (findCondition(conditions, evictionsHeldType) === undefined) return undefined;
  return { type: evictionsHeldType, status: "False", reason: "NoMassFailure", message: "no eviction is held" };
}

/** The Event to record on a placement after its status was written: evictions are held from now on. */
export function evictionsHeldEvent(before: PlacementStatus, after: PlacementStatus): ObjectEvent | undefined {
  const held = findCondition(after.conditions, evictionsHeldType);
  if (held?.status !== "True") return undefined;
  if (findCondition(before.conditions, evictionsHeldType)?.status === "True") return undefined;
  return { type: "Warning", reason: held.reason, message: held.message };
}

/** The Event to record on a placement after its status was written: a hint of it is ignored from now on. */
export function invalidAnnotationEvent(before: PlacementStatus, after: PlacementStatus): ObjectEvent | undefined {
  const condition = findCondition(after.conditions, annotationsValidType);
  if (condition === undefined || findCondition(before.conditions, annotationsValidType) !== undefined) return undefined;
  return { type: "Warning", reason: condition.reason, message: condition.message };
}

/** Whether the status says that evictions are held. */
export function areEvictionsHeld({ conditions }: PlacementStatus): boolean {
  return findCondition(conditions, evictionsHeldType)?.status === "True";
}

const selectionType = "WorkloadsSelected";

/** Adds the condition WorkloadsSelected to the status of a placement that governs no workload, and removes it otherwise. */
export function withSelectionCondition(
  placement: WorkloadPlacement,
  status: PlacementStatus,
  { governsNone, nowMs }: Readonly<{ governsNone: boolean; nowMs: number }>,
): PlacementStatus {
  const message =
    placement.spec.workloadSelector === undefined
      ? "it has no workloadSelector, and selects nothing"
      : "its workloadSelector matches no workload that another placement does not govern";
  const reason = "NothingSelected" satisfies keyof typeof selectionReasons;
  const finding = governsNone ? { reason, message } : undefined;
  return withFinding(placement, status, { type: selectionType, finding, nowMs });
}

/** Adds the condition AnnotationsValid to the status of a placement with hints that are ignored, and removes it otherwise. */
export function withAnnotationCondition(
  placement: WorkloadPlacement,
  status: PlacementStatus,
  { clusters, nowMs }: Readonly<{ clusters: readonly ClusterFacts[]; nowMs: number }>,
): PlacementStatus {
  const { preferredCluster, avoidCluster } = hintAnnotations;
  const registered = new Set(clusters.map(({ name }) => name));
  const errors = unregisteredErrors(placement.metadata.annotations, [preferredCluster, avoidCluster], (name) =>
    registered.has(name),
  );
  const finding = errors.length === 0 ? undefined : { reason: invalidAnnotation, message: errors.join("; ") };
  return withFinding(placement, status, { type: annotationsValidType, finding, nowMs });
}

type Finding = Readonly<{
  type: string;
  finding: Readonly<{ reason: string; message: string }> | undefined;
  nowMs: number;
}>;

/** Sets a condition to False while there is a finding, and removes it otherwise. */
function withFinding(
  { metadata }: WorkloadPlacement,
  status: PlacementStatus,
  { type, finding, nowMs }: Finding,
): PlacementStatus {
  const { conditions = [] } = status;
  if (finding === undefined) {
    if (findCondition(conditions, type) === undefined) return status;
    return { ...status, conditions: conditions.filter((condition) => condition.type !== type) };
  }
  const generation = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation };
  const condition: DecidedCondition = { type, status: "False", ...finding, ...generation };
  return { ...status, conditions: withCondition(conditions, condition, formatTimestamp(nowMs)) };
}

export function invalidSpecCondition({ reason, message }: InvalidSpec): ReadyDecision {
  return { status: "False", reason, message: clip(message, 1000) };
}

/** Parses from the message of `readyCondition` which selector requirements no cluster satisfies. */
export function parseUnmatched(message: string): readonly string[] {
  return /no cluster has (.*) \(locationSelector\)$/.exec(message)?.[1]?.split(" or ") ?? [];
}

/** A requirement that no cluster satisfies is usually misspelled, so the message names it. */
function formatUnmatched({ locationSelector }: ParsedSpec, clusters: readonly ClusterFacts[]): readonly string[] {
  if (clusters.length === 0) return [];
  const unmatched = locationSelector.filter(
    (requirement) => !clusters.some(({ deleting, labels }) => !deleting && satisfies(labels, requirement)),
  );
  if (unmatched.length === 0) return [];
  return [`no cluster has ${unmatched.map(({ text }) => clip(text)).join(" or ")} (locationSelector)`];
}

function formatClusterNames(clusters: readonly ClusterFacts[]): string {
  return formatNames(clusters.map(({ name }) => name));
}

export type HistoryEntry = NonNullable<PlacementStatus["history"]>[number];

export const maxHistoryEntries = 10;
/** How many names an entry of the history lists. */
const maxNames = 5;

export type HistoryFacts = Readonly<{
  before: PlacementStatus;
  generation: number | undefined;
  selected: readonly string[];
  decisions: readonly ClusterDecision[];
  nowMs: number;
}>;

/** The history after a decision, the latest entry first. A decision that selects the same clusters adds no entry. */
export function historyAfter({
  before,
  generation,
  selected,
  decisions,
  nowMs,
}: HistoryFacts): readonly HistoryEntry[] {
  const known = before.history ?? [];
  const earlier = new Set(before.selectedClusters);
  const later = new Set(selected);
  const added = selected.filter((name) => !earlier.has(name)).toSorted(compareStrings);
  const removed = [...earlier].filter((name) => !later.has(name)).toSorted(compareStrings);
  if (added.length === 0 && removed.length === 0) return known;
  const reasons = new Map(decisions.map((decision) => [decision.cluster, decision.message]));
  const removals = removed.map((name) => `${name} removed: ${reasons.get(name) ?? "it is no longer registered"}`);
  const additions = added.map((name) => `${name} added: ${reasons.get(name) ?? "selected"}`);
  const entry: HistoryEntry = {
    time: formatTimestamp(nowMs),
    reason: historyReason(before, generation),
    clusters: selected.length,
    ...(added.length === 0 ? {} : { added: added.slice(0, maxNames) }),
    ...(removed.length === 0 ? {} : { removed: removed.slice(0, maxNames) }),
    message: clip([...removals.slice(0, 3), ...additions.slice(0, 3)].join("; "), 500),
    ...(generation === undefined ? {} : { generation }),
  };
  return [entry, ...known].slice(0, maxHistoryEntries);
}

/** Whether a user changed the placement, or the facts of the clusters changed. */
function historyReason(
  { observedGeneration, selectedClusters }: PlacementStatus,
  generation: number | undefined,
): HistoryEntry["reason"] {
  if (selectedClusters === undefined) return "FirstDecision";
  return observedGeneration === generation ? "ClustersChanged" : "PlacementChanged";
}
