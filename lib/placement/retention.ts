import { rejection } from "./filters.ts";
import type { ClusterFacts } from "./observed.ts";
import type { Wish } from "./parsed-spec.ts";
import type { DecisionReason, Detail } from "./reasons.ts";
import { defaultNotReadySeconds, formatTaint, toleratedSeconds } from "./taints.ts";

/** What becomes of a cluster that was chosen before. */
export type HeldVerdict = Readonly<
  | { stays: false }
  | { stays: true; reason: "Selected" }
  | { stays: true; reason: "KeptUnschedulable"; detail: Detail }
  | { stays: true; reason: "KeptTolerated"; detail: Detail; untilMs: number | undefined }
>;

/**
 * The reasons for which work leaves at once, because a person wants it so. What is merely observed (types, room, a
 * capability that is no longer detected) keeps new work away and moves nothing: an observation may be wrong for a while.
 */
export const leavingReasons: ReadonlySet<DecisionReason> = new Set([
  "Deleting",
  "NotListed",
  "SelectorMismatch",
  "AffinityMismatch",
  "AntiAffinityMatch",
] satisfies DecisionReason[]);

/** What was said before about a cluster that is borne for a while. */
export type Borne = Readonly<{ actual: string | undefined; untilMs: number }>;

/**
 * Judges a cluster that was chosen before: it stays while it fits, and for as long as the placement bears what is wrong.
 * Where nobody wrote down when a taint was added, the time counts from when it was first seen, which `before` tells.
 */
export function judgeHeld(
  wish: Wish,
  cluster: ClusterFacts,
  { nowMs, before }: Readonly<{ nowMs: number; before: Borne | undefined }>,
): HeldVerdict {
  const failed = rejection(wish, cluster);
  if (failed === undefined) return { stays: true, reason: "Selected" };
  if (leavingReasons.has(failed.reason) || isDeclaredMissing(wish, cluster)) return { stays: false };

  const borne = whatIsBorne(wish, cluster, { nowMs, before });
  const soonest = borne.toSorted((a, b) => (a.untilMs ?? Infinity) - (b.untilMs ?? Infinity))[0];
  if (soonest === undefined) return { stays: true, reason: "KeptUnschedulable", detail: failed.detail(wish, cluster) };
  if (soonest.untilMs !== undefined && soonest.untilMs <= nowMs) return { stays: false };
  return { stays: true, reason: "KeptTolerated", detail: soonest.detail, untilMs: soonest.untilMs };
}

/** The last moment that can be written down; what is borne for longer is borne for ever. */
const endOfTimeMs = Date.UTC(9999, 11, 31);

type Grievance = Readonly<{ detail: Detail & Readonly<{ actual: string }>; untilMs: number | undefined }>;

function whatIsBorne(
  { tolerations, notReadySeconds }: Wish,
  { ready, readyReason, notReadySinceMs, evictAfterSeconds, taints }: ClusterFacts,
  { nowMs, before }: Readonly<{ nowMs: number; before: Borne | undefined }>,
): readonly Grievance[] {
  const grievances: Grievance[] = [];
  const add = (rule: string, actual: string, seconds: number, sinceMs: number | undefined) => {
    const counted = sinceMs ?? (before?.actual === actual ? before.untilMs - seconds * 1000 : nowMs);
    const endMs = counted + seconds * 1000;
    const untilMs = endMs > endOfTimeMs ? undefined : endMs;
    grievances.push({
      detail: { rule, expected: seconds === Infinity ? "tolerated for ever" : `tolerated for ${seconds} s`, actual },
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
  return grievances;
}

function isDeclaredMissing({ capabilities }: Wish, cluster: ClusterFacts): boolean {
  return capabilities.some(({ type }) => {
    const capability = cluster.capabilities.get(type);
    return capability?.declared === true && !capability.available;
  });
}
