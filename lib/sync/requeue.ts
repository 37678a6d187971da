import { done, earliestNext, type Next, requeueAfter } from "../model/work-item.ts";
import type { SyncSettings } from "./settings.ts";
import type { CopyRecord, SyncStatus } from "./sync-objects.ts";
import type { CopyOutcome } from "./targets/apply.ts";

/** The poll interval of something that does not change grows from min to max. */
type PollInterval = SyncSettings["pollInterval"];

/** The interval is this share of the time since the last change: a slow rollout is noticed late by a quarter of its duration. */
const shareOfAge = 1 / 4;

/** States that a cluster leaves by itself. All others are final, wait for a user, or have a requeue time of their own. */
const transientStates: ReadonlySet<CopyRecord["state"]> = new Set(["Pending", "Applied", "Failed"]);

/**
 * Decides when to reconcile again because of the copies: where an outcome asks for it, and, if copies are not watched, for
 * copies that are not ready. A copy that is ready needs no requeue.
 */
export function decideRequeue(
  outcomes: readonly Pick<CopyOutcome, "record" | "copy" | "requeueSeconds">[],
  {
    status,
    settings,
    nowMs,
  }: Readonly<{
    /** The status as it was written: it has the time of each copy's last change. */
    status: SyncStatus | undefined;
    settings: Pick<SyncSettings, "watchesCopies" | "pollInterval">;
    nowMs: number;
  }>,
): Next {
  const entries = new Map((status?.clusters ?? []).map((entry) => [entry.name, entry]));
  return outcomes.reduce<Next>((next, { record, copy, requeueSeconds }) => {
    const isPolled = !settings.watchesCopies && copy !== undefined && transientStates.has(record.state);
    const intervals: readonly PollInterval[] = [
      ...(requeueSeconds === undefined ? [] : [{ minSeconds: requeueSeconds, maxSeconds: requeueSeconds }]),
      ...(isPolled ? [settings.pollInterval] : []),
    ];
    const sinceMs = Date.parse(entries.get(record.name)?.lastObservedTime ?? "");
    return intervals.reduce(
      (soonest, interval) => earliestNext(soonest, requeueAfter(secondsToRequeue(interval, sinceMs, nowMs))),
      next,
    );
  }, done);
}

/**
 * The seconds until the next poll of something that last changed at `sinceMs`.
 *
 * Due times follow from `sinceMs` alone, so every call between two polls returns the same next one. On a queue that cannot
 * withdraw a delayed message, requeues for several causes therefore coincide instead of multiplying.
 */
export function secondsToRequeue({ minSeconds, maxSeconds }: PollInterval, sinceMs: number, nowMs: number): number {
  if (Number.isNaN(sinceMs)) return minSeconds;
  const ageSeconds = Math.max(0, nowMs - sinceMs) / 1000;
  let interval = minSeconds;
  while (interval * 2 <= Math.min(maxSeconds, ageSeconds * shareOfAge)) interval *= 2;
  // A poll that is nearer than half an interval is skipped: it would observe the same state again.
  return Math.ceil(ageSeconds / interval + 0.5) * interval - ageSeconds;
}
