import { done, earliest, type Next, requeueAfter } from "../model/next.ts";
import type { SyncSettings } from "./settings.ts";
import type { CopyRecord, SyncStatus } from "./sync-objects.ts";
import type { Outcome } from "./targets/apply.ts";

/** How long to wait between two looks at something that does not change. */
type Gaps = Readonly<{ leastSeconds: number; mostSeconds: number }>;

/** A wait is so much of the time that a copy has been as it is: who took long is heard of late by a quarter of that. */
const share = 1 / 4;

/** States that a cluster turns into others by itself. The rest are good, wait for a person, or have a time of their own. */
const mayTurn: ReadonlySet<CopyRecord["state"]> = new Set(["Pending", "Applied", "Failed"]);

/**
 * Decides when copies are looked at again: those that could not be settled, and where nobody tells of changes on clusters,
 * those that are not ready. One that is ready asks for nothing.
 */
export function decideRequeue(
  outcomes: readonly Pick<Outcome, "record" | "copy" | "againSeconds">[],
  {
    status,
    settings,
    nowMs,
  }: Readonly<{
    /** The record as it was written: it knows since when each copy is as it is. */
    status: SyncStatus | undefined;
    settings: Pick<SyncSettings, "isToldOfCopies" | "lookSeconds">;
    nowMs: number;
  }>,
): Next {
  const entries = new Map((status?.clusters ?? []).map((entry) => [entry.name, entry]));
  return outcomes.reduce<Next>((soon, { record, copy, againSeconds }) => {
    const isUntold = !settings.isToldOfCopies && copy !== undefined && mayTurn.has(record.state);
    const gaps: readonly Gaps[] = [
      ...(againSeconds === undefined ? [] : [{ leastSeconds: againSeconds, mostSeconds: againSeconds }]),
      ...(isUntold ? [settings.lookSeconds] : []),
    ];
    const sinceMs = Date.parse(entries.get(record.name)?.lastObservedTime ?? "");
    return gaps.reduce((one, each) => earliest(one, requeueAfter(secondsToRequeue(each, sinceMs, nowMs))), soon);
  }, done);
}

/**
 * The time to the next look at something that has been as it is since then.
 *
 * Looks are due at moments that follow from that time alone. Whoever asks between two of them, and however often, is told the
 * same next one: on a queue that cannot take back what waits, looks for different causes become one, and stay one.
 */
export function secondsToRequeue({ leastSeconds, mostSeconds }: Gaps, sinceMs: number, nowMs: number): number {
  if (Number.isNaN(sinceMs)) return leastSeconds;
  const ageSeconds = Math.max(0, nowMs - sinceMs) / 1000;
  let gap = leastSeconds;
  while (gap * 2 <= Math.min(mostSeconds, ageSeconds * share)) gap *= 2;
  // Not the next but the one after it where that is nearer than half a gap: it would only see the same again.
  return Math.ceil(ageSeconds / gap + 0.5) * gap - ageSeconds;
}
