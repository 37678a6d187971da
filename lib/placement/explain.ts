import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { clip } from "../model/text.ts";
import { formatTimestamp } from "../model/timestamp.ts";
import type { ClusterFacts } from "./observed.ts";
import { type DecisionReason, decisionReasons, formatReason, type ReasonDetail } from "./reasons.ts";
import type { ScorePart } from "./scores.ts";

export type PlacementStatus = NonNullable<WorkloadPlacement["status"]>;
export type ClusterDecision = NonNullable<PlacementStatus["decisions"]>[number];
export type DecisionsOmitted = NonNullable<PlacementStatus["decisionsOmitted"]>;

/** The decision for one cluster, before it is rendered. */
export type Verdict = Readonly<{
  reason: DecisionReason;
  detail: ReasonDetail;
  parts?: readonly ScorePart[] | undefined;
  untilMs?: number | undefined;
}>;

/** Clusters with the same kind of decision. `verdictFor` runs only for the members that are listed. */
export type DecisionGroup = Readonly<{
  /** The common reason, or a function that returns the reason of each member. */
  reasonOf: DecisionReason | ((name: string) => DecisionReason);
  /** A name stands for a cluster that is not registered. Contains at least as many members as can be listed. */
  members: readonly (ClusterFacts | string)[];
  /** The total number, if `members` has only the first ones. */
  count?: number | undefined;
  verdictFor: (member: ClusterFacts | string) => Verdict;
}>;

/** Bounds of `status.decisions`: objects are stored and sent as a whole, and there are many placements. */
export const decisionBounds = { entries: 100, bytes: 24_000 } as const;

/** Renders the decisions of the groups, in their order and within the bounds; the omitted ones are counted by reason. */
export function listDecisions(
  groups: readonly DecisionGroup[],
  bounds: Readonly<{ entries: number; bytes: number }> = decisionBounds,
): Readonly<{ decisions: readonly ClusterDecision[]; omitted: DecisionsOmitted | undefined }> {
  const decisions: ClusterDecision[] = [];
  const omitted: CountedGroup[] = [];
  let bytes = 0;
  let rendered: RenderedReason | undefined;
  for (const { reasonOf, members, count = members.length, verdictFor } of groups) {
    let listed = 0;
    // After the first omitted decision all following ones are omitted too.
    for (const member of omitted.length > 0 ? [] : members) {
      if (decisions.length >= bounds.entries) break;
      const verdict = verdictFor(member);
      // Consecutive clusters often share reason and detail, so the rendered text is reused.
      if (rendered?.detail !== verdict.detail || rendered.reason !== verdict.reason) rendered = renderReason(verdict);
      const decision = buildDecision(nameOf(member), verdict, rendered);
      bytes += rendered.bytes + estimateBytes(decision);
      if (bytes > bounds.bytes) break;
      decisions.push(decision);
      listed += 1;
    }
    if (listed < count) omitted.push({ reasonOf, members: members.slice(listed), count: count - listed });
  }
  return { decisions, omitted: summarizeOmitted(omitted) };
}

/** `2 NotReady, 1 SelectorMismatch`: the most frequent first. */
export function countReasons(groups: readonly CountedGroup[]): string {
  return [...countByReason(groups)]
    .toSorted(([a, one], [b, other]) => other - one || compareStrings(a, b))
    .map(([reason, count]) => `${count} ${reason}`)
    .join(", ");
}

/** Formats a time rounded up to whole seconds, so that a waiting time never ends before the formatted time. */
export function formatTimestampUp(ms: number): string {
  return formatTimestamp(Math.ceil(ms / 1000) * 1000);
}

const nameOf = (member: ClusterFacts | string): string => (typeof member === "string" ? member : member.name);

type CountedGroup = Pick<DecisionGroup, "reasonOf" | "members" | "count">;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The part of a decision that several clusters can share: everything but name, score and time. */
type RenderedReason = Readonly<{
  reason: DecisionReason;
  detail: ReasonDetail;
  selected: boolean;
  message: string;
  clipped: ReasonDetail;
  /** Estimated size as JSON. */
  bytes: number;
}>;

function renderReason({ reason, detail }: Verdict): RenderedReason {
  const clipped: Mutable<ReasonDetail> = {};
  let bytes = 110 + reason.length;
  for (const field of ["rule", "expected", "actual"] as const) {
    const text = detail[field];
    if (text === undefined) continue;
    clipped[field] = clip(text);
    bytes += clipped[field].length;
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

function buildDecision(
  targetCluster: string,
  { reason, parts, untilMs }: Verdict,
  { selected, message, clipped }: RenderedReason,
): ClusterDecision {
  const { rule, expected, actual } = clipped;
  const decision: Mutable<ClusterDecision> = { cluster: targetCluster, selected, reason, message };
  if (rule !== undefined) decision.rule = rule;
  if (expected !== undefined) decision.expected = expected;
  if (actual !== undefined) decision.actual = actual;
  if (untilMs !== undefined) decision.until = formatTimestampUp(untilMs);
  if (parts !== undefined) {
    let score = 0;
    for (const { value } of parts) score += value;
    decision.score = score;
    if (parts.length > 0) decision.parts = parts;
  }
  return decision;
}

/** Estimates the JSON size of the part of a decision that is specific to its cluster, without serializing it. */
function estimateBytes({ cluster, parts }: ClusterDecision): number {
  let bytes = cluster.length;
  if (parts !== undefined) for (const { name } of parts) bytes += 28 + name.length;
  return bytes;
}

function summarizeOmitted(omitted: readonly CountedGroup[]): DecisionsOmitted | undefined {
  if (omitted.length === 0) return undefined;
  const reasons = [...countByReason(omitted)]
    .map(([reason, count]) => ({ reason, count }))
    .toSorted((a, b) => compareStrings(a.reason, b.reason));
  return { count: reasons.reduce((sum, { count }) => sum + count, 0), reasons };
}

function countByReason(groups: readonly CountedGroup[]): ReadonlyMap<DecisionReason, number> {
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
