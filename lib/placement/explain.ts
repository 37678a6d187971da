import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { clip } from "../model/text.ts";
import { formatTimestamp } from "../model/timestamp.ts";
import type { ClusterFacts } from "./observed.ts";
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
  /** The name alone where no cluster is registered under it. At least as many of them as can be listed. */
  members: readonly (ClusterFacts | string)[];
  /** How many there are in all, where `members` has only the first of them. */
  count?: number | undefined;
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
  const left: Counted[] = [];
  let bytes = 0;
  let words: Words | undefined;
  for (const { reasonOf, members, count = members.length, say } of groups) {
    let listed = 0;
    // Once one has been left out so are all that follow.
    for (const member of left.length > 0 ? [] : members) {
      if (decisions.length >= bounds.entries) break;
      const statement = say(member);
      // Of many clusters in a row the very same is said.
      if (words?.detail !== statement.detail || words.reason !== statement.reason) words = wordsOf(statement);
      const decision = decisionOf(nameOf(member), statement, words);
      bytes += words.bytes + roughBytes(decision);
      if (bytes > bounds.bytes) break;
      decisions.push(decision);
      listed += 1;
    }
    if (listed < count) left.push({ reasonOf, members: members.slice(listed), count: count - listed });
  }
  return { decisions, omitted: omittedOf(left) };
}

/** `2 NotReady, 1 SelectorMismatch`: the most frequent first. */
export function countReasons(groups: readonly Counted[]): string {
  return [...tally(groups)]
    .toSorted(([a, one], [b, other]) => other - one || compareStrings(a, b))
    .map(([reason, count]) => `${count} ${reason}`)
    .join(", ");
}

/** The end of a time, which is over no sooner than it says. */
export function formatEnd(ms: number): string {
  return formatTimestamp(Math.ceil(ms / 1000) * 1000);
}

const nameOf = (member: ClusterFacts | string): string => (typeof member === "string" ? member : member.name);

type Counted = Pick<Group, "reasonOf" | "members" | "count">;
type Open<T> = { -readonly [K in keyof T]: T[K] };

/** What is said about a cluster without what is its own: name, score and time. */
type Words = Readonly<{
  reason: DecisionReason;
  detail: Detail;
  selected: boolean;
  message: string;
  clipped: Detail;
  /** About how long they are as JSON. */
  bytes: number;
}>;

function wordsOf({ reason, detail }: Statement): Words {
  const clipped: Open<Detail> = {};
  let bytes = 110 + reason.length;
  for (const part of ["rule", "expected", "actual"] as const) {
    const text = detail[part];
    if (text === undefined) continue;
    clipped[part] = clip(text);
    bytes += clipped[part].length;
  }
  const message = formatReason(reason, clipped);
  return {
    reason,
    detail,
    selected: decisionReasons[reason].selected,
    message,
    clipped,
    bytes: bytes + message.length,
  };
}

function decisionOf(cluster: string, { reason, parts, untilMs }: Statement, words: Words): Decision {
  const { rule, expected, actual } = words.clipped;
  const decision: Open<Decision> = { cluster, selected: words.selected, reason, message: words.message };
  if (rule !== undefined) decision.rule = rule;
  if (expected !== undefined) decision.expected = expected;
  if (actual !== undefined) decision.actual = actual;
  if (untilMs !== undefined) decision.until = formatEnd(untilMs);
  if (parts !== undefined) {
    let score = 0;
    for (const { value } of parts) score += value;
    decision.score = score;
    if (parts.length > 0) decision.parts = parts;
  }
  return decision;
}

/** About as long as is what is a cluster's own in a decision, as JSON, without the cost of writing it. */
function roughBytes({ cluster, parts }: Decision): number {
  let bytes = cluster.length;
  if (parts !== undefined) for (const { name } of parts) bytes += 28 + name.length;
  return bytes;
}

function omittedOf(left: readonly Counted[]): DecisionsOmitted | undefined {
  if (left.length === 0) return undefined;
  const reasons = [...tally(left)]
    .map(([reason, count]) => ({ reason, count }))
    .toSorted((a, b) => compareStrings(a.reason, b.reason));
  return { count: reasons.reduce((sum, { count }) => sum + count, 0), reasons };
}

function tally(groups: readonly Counted[]): ReadonlyMap<DecisionReason, number> {
  const counts = new Map<DecisionReason, number>();
  const add = (reason: DecisionReason, count: number) => counts.set(reason, (counts.get(reason) ?? 0) + count);
  for (const { reasonOf, members, count = members.length } of groups) {
    if (typeof reasonOf === "string") {
      if (count > 0) add(reasonOf, count);
    } else {
      for (const member of members) add(reasonOf(nameOf(member)), 1);
    }
  }
  return counts;
}
