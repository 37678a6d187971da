import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { type DecidedCondition, withCondition } from "../model/condition.ts";
import { clip } from "../model/text.ts";
import { formatTimestamp } from "../model/timestamp.ts";
import type { Choice } from "./choose.ts";
import { countReasons, type Decision, type Group, type PlacementStatus } from "./explain.ts";
import type { ClusterFacts } from "./observed.ts";
import { defaultStrategy, type InvalidWish, satisfies, type Wish } from "./parsed-spec.ts";
import type { ReadyReason } from "./reasons.ts";

export type ReadyDecision = Readonly<{ status: "True" | "False"; reason: ReadyReason; message: string }>;

/** All that a status is made from. */
export type Outcome = Readonly<{
  strategy: string;
  selected: readonly string[];
  decisions: NonNullable<PlacementStatus["decisions"]>;
  omitted: PlacementStatus["decisionsOmitted"] | undefined;
  /** What it returns to; undefined for nothing. */
  failback: PlacementStatus["failback"] | undefined;
  left: PlacementStatus["evictedClusters"] | undefined;
  ready: ReadyDecision;
  nowMs: number;
}>;

/** The status of a placement with an outcome put in; what others may have written there stays. */
export function statusOf({ metadata, status = {} }: WorkloadPlacement, outcome: Outcome): PlacementStatus {
  const generation = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation };
  const { decisionsOmitted: _, ...others } = status;
  const rest: { -readonly [Field in keyof PlacementStatus]: PlacementStatus[Field] } = { ...others };
  // What is still said stays where it stands: the same facts give the same bytes.
  if (outcome.failback === undefined) delete rest.failback;
  if (outcome.left === undefined) delete rest.evictedClusters;
  const { nowMs, selected, decisions } = outcome;
  const history = historyAfter({ before: status, generation: metadata.generation, selected, decisions, nowMs });
  const condition: DecidedCondition = { type: "Ready", ...outcome.ready, ...generation };
  return {
    ...rest,
    strategy: outcome.strategy === "" ? defaultStrategy : outcome.strategy,
    selectedClusters: outcome.selected,
    decisions: outcome.decisions,
    ...(outcome.omitted === undefined ? {} : { decisionsOmitted: outcome.omitted }),
    ...(outcome.failback === undefined ? {} : { failback: outcome.failback }),
    ...(outcome.left === undefined ? {} : { evictedClusters: outcome.left }),
    conditions: withCondition(status.conditions ?? [], condition, formatTimestamp(outcome.nowMs)),
    ...(history.length === 0 ? {} : { history }),
    ...generation,
  };
}

/** Says in one sentence which clusters were chosen, or what keeps all of them out. */
export function readyCondition(
  wish: Wish,
  {
    clusters,
    choice,
    others,
  }: Readonly<{ clusters: readonly ClusterFacts[]; choice: Choice; others: readonly Group[] }>,
): ReadyDecision {
  const { selected, excess } = choice;
  if (selected.length > 0) {
    const wanted = wish.wanted ?? selected.length;
    const sentences = [
      `${wish.strategy} chose ${formatNames(selected)}`,
      ...(selected.length < wanted
        ? [`${wanted} clusters are wanted, of the others there are: ${countReasons(others) || "none"}`]
        : []),
      ...excess.map(({ key, skew, maxSkew }) => `the skew over ${key} is ${skew}, more than ${maxSkew}`),
    ];
    return { status: "True", reason: "PlacementReady", message: sentences.join("; ") };
  }
  const counted = countReasons(others);
  if (counted === "") return { status: "False", reason: "NoClusters", message: "no cluster is registered" };
  const sentences = [
    `0 of ${clusters.length} ${clusters.length === 1 ? "cluster fits" : "clusters fit"}: ${counted}`,
    ...formatUnmatched(wish, clusters),
  ];
  return { status: "False", reason: "NoSuitableClusters", message: sentences.join("; ") };
}

/** Says what cannot be read. */
export function unreadableCondition({ reason, message }: InvalidWish): ReadyDecision {
  return { status: "False", reason, message: clip(message, 1000) };
}

/** Reads from a message that this file wrote which requirements of the selector no cluster satisfied. */
export function parseUnmatched(message: string): readonly string[] {
  return /no cluster has (.*) \(locationSelector\)$/.exec(message)?.[1]?.split(" or ") ?? [];
}

/** A key that no cluster has is most often a key that was written otherwise: it deserves to be named. */
function formatUnmatched({ selector }: Wish, clusters: readonly ClusterFacts[]): readonly string[] {
  if (clusters.length === 0) return [];
  const unmatched = selector.filter(
    (requirement) => !clusters.some(({ deleting, labels }) => !deleting && satisfies(labels, requirement)),
  );
  if (unmatched.length === 0) return [];
  return [`no cluster has ${unmatched.map(({ text }) => clip(text)).join(" or ")} (locationSelector)`];
}

function formatNames(clusters: readonly ClusterFacts[]): string {
  const shown = clusters
    .slice(0, 5)
    .map(({ name }) => name)
    .join(", ");
  return clusters.length > 5 ? `${shown} and ${clusters.length - 5} more` : shown;
}

export type HistoryEntry = NonNullable<PlacementStatus["history"]>[number];

/** As many decisions as are remembered, the last first. */
export const mostRemembered = 10;
/** As many names as an entry bears. */
const mostNames = 5;

export type Turn = Readonly<{
  before: PlacementStatus;
  generation: number | undefined;
  selected: readonly string[];
  decisions: readonly Decision[];
  nowMs: number;
}>;

/** What a placement remembers after a decision: one that chooses the same clusters as before is nothing to remember. */
export function historyAfter({ before, generation, selected, decisions, nowMs }: Turn): readonly HistoryEntry[] {
  const known = before.history ?? [];
  const earlier = new Set(before.selectedClusters);
  const later = new Set(selected);
  const added = selected.filter((name) => !earlier.has(name)).toSorted(compareStrings);
  const removed = [...earlier].filter((name) => !later.has(name)).toSorted(compareStrings);
  if (added.length === 0 && removed.length === 0) return known;
  const reasons = new Map(decisions.map((decision) => [decision.cluster, decision.message]));
  const gone = removed.map((name) => `${name} left: ${reasons.get(name) ?? "it is not registered any more"}`);
  const come = added.map((name) => `${name} joined: ${reasons.get(name) ?? "chosen"}`);
  const entry: HistoryEntry = {
    time: formatTimestamp(nowMs),
    reason: reasonOf(before, generation),
    clusters: selected.length,
    ...(added.length === 0 ? {} : { added: added.slice(0, mostNames) }),
    ...(removed.length === 0 ? {} : { removed: removed.slice(0, mostNames) }),
    message: clip([...gone.slice(0, 3), ...come.slice(0, 3)].join("; "), 500),
    ...(generation === undefined ? {} : { generation }),
  };
  return [entry, ...known].slice(0, mostRemembered);
}

/** Whether a person has changed the placement, or what is known of the clusters has changed. */
function reasonOf(
  { observedGeneration, selectedClusters }: PlacementStatus,
  generation: number | undefined,
): HistoryEntry["reason"] {
  if (selectedClusters === undefined) return "FirstDecision";
  return observedGeneration === generation ? "ClustersChanged" : "PlacementChanged";
}
