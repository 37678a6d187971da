import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { clip } from "./clip.ts";
import { byText, type ClusterFacts } from "./facts.ts";
import { type DecisionReason, type Detail, decisionReasons, formatReason } from "./reasons.ts";
import type { ScorePart } from "./scores.ts";

export type PlacementStatus = NonNullable<WorkloadPlacement["status"]>;
export type Decision = NonNullable<PlacementStatus["decisions"]>[number];
export type DecisionsOmitted = NonNullable<PlacementStatus["decisionsOmitted"]>;

/** What is said about one cluster. */
export type Statement = Readonly<{
  reason: DecisionReason;
  detail: Detail;
  parts?: readonly ScorePart[] | undefined;
  untilMs?: number | undefined;
}>;

/** Clusters of which the same kind of thing is said. They are asked one by one, and only as many as are listed. */
export type Group = Readonly<{
  /** The reason of all of them, or how to find it. */
  reasonOf: DecisionReason | ((name: string) => DecisionReason);
  /** The name alone where no cluster is registered under it. */
  members: readonly (ClusterFacts | string)[];
  say: (member: ClusterFacts | string) => Statement;
}>;

/** How long the list may become: objects are kept and sent whole, and there are many placements. */
export const listBounds = { entries: 100, bytes: 24_000 } as const;

/** Puts groups into words, in their order, as far as the bounds allow; the rest is counted. */
export function listDecisions(
  groups: readonly Group[],
  bounds: Readonly<{ entries: number; bytes: number }> = listBounds,
): Readonly<{ decisions: readonly Decision[]; omitted: DecisionsOmitted | undefined }> {
  const decisions: Decision[] = [];
  const left: Pick<Group, "reasonOf" | "members">[] = [];
  let bytes = 0;
  for (const { reasonOf, members, say } of groups) {
    let listed = 0;
    // Once one has been left out so are all that follow.
    for (const member of left.length > 0 ? [] : members) {
      if (decisions.length >= bounds.entries) break;
      const decision = decisionOf(nameOf(member), say(member));
      bytes += roughBytes(decision);
      if (bytes > bounds.bytes) break;
      decisions.push(decision);
      listed += 1;
    }
    if (listed < members.length) left.push({ reasonOf, members: members.slice(listed) });
  }
  return { decisions, omitted: omittedOf(left) };
}

/** `2 NotReady, 1 SelectorMismatch`: the most frequent first. */
export function countReasons(groups: readonly Pick<Group, "reasonOf" | "members">[]): string {
  return [...tally(groups)]
    .toSorted(([a, one], [b, other]) => other - one || byText(a, b))
    .map(([reason, count]) => `${count} ${reason}`)
    .join(", ");
}

/** A moment as Kubernetes writes it, in whole seconds. */
export function formatMoment(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** The end of a time, which is over no sooner than it says. */
export function formatEnd(ms: number): string {
  return formatMoment(Math.ceil(ms / 1000) * 1000);
}

const nameOf = (member: ClusterFacts | string): string => (typeof member === "string" ? member : member.name);

type Open<T> = { -readonly [K in keyof T]: T[K] };

function decisionOf(cluster: string, { reason, detail, parts, untilMs }: Statement): Decision {
  const decision: Open<Decision> = { cluster, selected: decisionReasons[reason].selected, reason, message: "" };
  if (detail.rule !== undefined) decision.rule = clip(detail.rule);
  if (detail.expected !== undefined) decision.expected = clip(detail.expected);
  if (detail.actual !== undefined) decision.actual = clip(detail.actual);
  decision.message = formatReason(reason, decision);
  if (untilMs !== undefined) decision.until = formatEnd(untilMs);
  if (parts !== undefined) {
    let score = 0;
    for (const { value } of parts) score += value;
    decision.score = score;
    if (parts.length > 0) decision.parts = parts;
  }
  return decision;
}

/** About as long as the decision is as JSON, without the cost of writing it. */
function roughBytes({ cluster, reason, rule, expected, actual, parts, message }: Decision): number {
  let bytes = 110 + cluster.length + reason.length + message.length;
  bytes += (rule?.length ?? 0) + (expected?.length ?? 0) + (actual?.length ?? 0);
  for (const { name } of parts ?? []) bytes += 28 + name.length;
  return bytes;
}

function omittedOf(left: readonly Pick<Group, "reasonOf" | "members">[]): DecisionsOmitted | undefined {
  if (left.length === 0) return undefined;
  const reasons = [...tally(left)]
    .map(([reason, count]) => ({ reason, count }))
    .toSorted((a, b) => byText(a.reason, b.reason));
  return { count: reasons.reduce((sum, { count }) => sum + count, 0), reasons };
}

function tally(groups: readonly Pick<Group, "reasonOf" | "members">[]): ReadonlyMap<DecisionReason, number> {
  const counts = new Map<DecisionReason, number>();
  const add = (reason: DecisionReason, count: number) => counts.set(reason, (counts.get(reason) ?? 0) + count);
  for (const { reasonOf, members } of groups) {
    if (typeof reasonOf === "string") {
      if (members.length > 0) add(reasonOf, members.length);
    } else {
      for (const member of members) add(reasonOf(nameOf(member)), 1);
    }
  }
  return counts;
}
