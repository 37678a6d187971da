import { maxClockSkewMs, parseTimestamp } from "../model/timestamp.ts";
import type { ClusterDecision } from "./explain.ts";
import { rejectingFilter } from "./filters.ts";
import { countsForMassFailure, isPartOfMassFailure, type MassFailure } from "./mass-failure.ts";
import type { ClusterFacts } from "./observed.ts";
import type { ParsedSpec } from "./parsed-spec.ts";
import type { DecisionReason, ReasonDetail } from "./reasons.ts";
import { defaultNotReadySeconds, formatTaint, toleratedSeconds } from "./taints.ts";

/** Whether a cluster that was selected before is retained or evicted. */
export type RetentionVerdict = Readonly<
  | { isRetained: false }
  | { isRetained: true; reason: "Selected" }
  | { isRetained: true; reason: "KeptUnschedulable" | "KeptMassFailure"; detail: ReasonDetail }
  | { isRetained: true; reason: "KeptTolerated"; detail: ReasonDetail; untilMs: number | undefined }
>;

/**
 * The reasons that evict at once, because a user caused them. Facts that TMC only observed (served types, resources, a
 * capability that is no longer detected) stop new workloads and move nothing: an observation may be temporarily wrong.
 */
export const immediateEvictionReasons: ReadonlySet<DecisionReason> = new Set([
  "Deleting",
  "NotListed",
  "SelectorMismatch",
  "AffinityMismatch",
  "AntiAffinityMatch",
] satisfies DecisionReason[]);

/** The decision that an earlier reconcile recorded for the cluster. */
export type PreviousDecision = Readonly<{
  actual: string | undefined;
  /** Whether the cluster was kept because of a mass failure. */
  isHeld: boolean;
  /** Until when its state is tolerated. */
  untilMs: number | undefined;
}>;

/** Reads what retention needs from a recorded decision. */
export function previousDecisionOf({ actual, reason, until }: ClusterDecision): PreviousDecision {
  return { actual, isHeld: reason === "KeptMassFailure", untilMs: parseTimestamp(until) };
}

/**
 * Decides whether a cluster that was selected before is retained. It is while it fits, and as long as the placement
 * tolerates its state. The tolerated time of a taint without `timeAdded`, or with one in the future, starts when TMC first
 * observed it, which `previous` carries from one reconcile to the next: a clock that was set back prolongs no toleration. A
 * cluster that lost Ready in a mass failure is retained beyond the tolerated time, because TMC may have lost its connection to
 * all of them. It is also retained, for the reason it had, as long as the process does not know yet whether there is one.
 */
export function decideRetention(
  spec: ParsedSpec,
  cluster: ClusterFacts,
  {
    nowMs,
    previous,
    massFailures = [],
    isProcessUnknown = false,
  }: Readonly<{
    nowMs: number;
    previous: PreviousDecision | undefined;
    massFailures?: readonly MassFailure[] | undefined;
    /** Whether there may be further mass failures, among clusters that this process has not listed yet. @default false */
    isProcessUnknown?: boolean | undefined;
  }>,
): RetentionVerdict {
  const failed = rejectingFilter(spec, cluster);
  if (failed === undefined) return { isRetained: true, reason: "Selected" };
  if (immediateEvictionReasons.has(failed.reason) || isDeclaredUnavailable(spec, cluster)) return { isRetained: false };

  const issues = toleratedIssues(spec, cluster, { nowMs, previous });
  const first = issues.toSorted((a, b) => (a.untilMs ?? Infinity) - (b.untilMs ?? Infinity))[0];
  if (first === undefined) {
    return { isRetained: true, reason: "KeptUnschedulable", detail: failed.detail(spec, cluster) };
  }
  if (first.untilMs !== undefined && first.untilMs <= nowMs) {
    const { detail, untilMs } = first;
    const mayHold = issues.every((each) => each.detail.rule === "Ready" || (each.untilMs ?? Infinity) > nowMs);
    if (!mayHold) return { isRetained: false };
    const isInMassFailure = isPartOfMassFailure(cluster, massFailures);
    if (!isInMassFailure && !(isProcessUnknown && countsForMassFailure(cluster))) return { isRetained: false };
    return isInMassFailure || previous?.isHeld === true
      ? { isRetained: true, reason: "KeptMassFailure", detail }
      : { isRetained: true, reason: "KeptTolerated", detail, untilMs };
  }
  return { isRetained: true, reason: "KeptTolerated", detail: first.detail, untilMs: first.untilMs };
}

/** The last timestamp that a status can hold; a toleration that ends later has no end. */
const maxTimestampMs = Date.UTC(9999, 11, 31);

type ToleratedIssue = Readonly<{ detail: ReasonDetail & Readonly<{ actual: string }>; untilMs: number | undefined }>;

function toleratedIssues(
  { tolerations, notReadySeconds }: ParsedSpec,
  { ready, readyReason, notReadySinceMs, evictAfterSeconds, taints }: ClusterFacts,
  { nowMs, previous }: Readonly<{ nowMs: number; previous: PreviousDecision | undefined }>,
): readonly ToleratedIssue[] {
  const issues: ToleratedIssue[] = [];
  // With `nowMs` -Infinity no time passes, and no time is in the future.
  const isBelieved = (ms: number): boolean => nowMs === Number.NEGATIVE_INFINITY || ms <= nowMs + maxClockSkewMs;
  const add = (rule: string, actual: string, seconds: number, sinceMs: number | undefined) => {
    const recordedMs =
      previous?.untilMs !== undefined && previous.actual === actual ? previous.untilMs - seconds * 1000 : undefined;
    const startMs = [sinceMs, recordedMs].find((ms) => ms !== undefined && isBelieved(ms)) ?? nowMs;
    const endMs = startMs + seconds * 1000;
    const untilMs = endMs > maxTimestampMs ? undefined : endMs;
    issues.push({
      detail: {
        rule,
        expected: seconds === Infinity ? "tolerated without limit" : `tolerated for ${seconds} s`,
        actual,
      },
      untilMs,
    });
  };
  if (ready !== "True") {
    const seconds = notReadySeconds ?? evictAfterSeconds ?? defaultNotReadySeconds;
    add("Ready", `Ready=${ready} (${readyReason})`, seconds, notReadySinceMs);
  }
  for (const taint of taints) {
    if (taint.effect !== "NoExecute") continue;
    const seconds = toleratedSeconds(tolerations, taint) ?? 0;
    if (seconds !== Infinity) add("tolerations", `taint ${formatTaint(taint)}`, seconds, taint.addedMs);
  }
  return issues;
}

function isDeclaredUnavailable({ capabilities }: ParsedSpec, cluster: ClusterFacts): boolean {
  return capabilities.some(({ type }) => {
    const capability = cluster.capabilities.get(type);
    return capability?.declared === true && !capability.available;
  });
}
