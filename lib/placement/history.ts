import { clip } from "./clip.ts";
import { type Decision, formatMoment, type PlacementStatus } from "./explain.ts";
import { byText } from "./observed.ts";

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
  const added = selected.filter((name) => !earlier.has(name)).toSorted(byText);
  const removed = [...earlier].filter((name) => !later.has(name)).toSorted(byText);
  if (added.length === 0 && removed.length === 0) return known;
  const reasons = new Map(decisions.map((decision) => [decision.cluster, decision.message]));
  const gone = removed.map((name) => `${name} left: ${reasons.get(name) ?? "it is not registered any more"}`);
  const come = added.map((name) => `${name} joined: ${reasons.get(name) ?? "chosen"}`);
  const entry: HistoryEntry = {
    time: formatMoment(nowMs),
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
