import type { Clock } from "../../../lib/model/clock.ts";

/** A clock that stands still until it is told to go on. */
export interface ManualClock extends Clock {
  /** Goes on, and runs what falls due on the way. */
  advance(ms: number): void;
  /** The waits that are under way, shortest first. */
  pending(): number[];
}

/** Creates a clock that starts at the given moment. */
export function createManualClock(startMs = Date.parse("2026-01-01T00:00:00Z")): ManualClock {
  let nowMs = startMs;
  const timers = new Set<{ atMs: number; task: () => void }>();
  return {
    now: () => nowMs,
    after: (delayMs, task) => {
      const timer = { atMs: nowMs + delayMs, task };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance: (ms) => {
      const endMs = nowMs + ms;
      for (;;) {
        const due = [...timers].filter(({ atMs }) => atMs <= endMs).toSorted((a, b) => a.atMs - b.atMs)[0];
        if (due === undefined) break;
        timers.delete(due);
        nowMs = due.atMs;
        due.task();
      }
      nowMs = endMs;
    },
    pending: () => [...timers].map(({ atMs }) => atMs - nowMs).toSorted((a, b) => a - b),
  };
}
