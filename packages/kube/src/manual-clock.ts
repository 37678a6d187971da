import type { Clock } from "./clock.ts";

/** A clock for tests; its time changes only with `advance` and `setBack`. */
export interface ManualClock extends Clock {
  /** Advances the time and runs the tasks that become due, in order; `advance(0)` runs those that are due now. */
  advance(ms: number): void;
  /** Sets the wall clock back, as an administrator does. Time passes as before: pending tasks stay due after the same delay. */
  setBack(ms: number): void;
  /** The number of pending tasks. */
  readonly pending: number;
  /** Milliseconds until the next task is due; undefined if none is pending. */
  readonly nextMs: number | undefined;
  /** Milliseconds until each pending task is due, sorted. */
  readonly waits: readonly number[];
}

/** Creates a clock that starts at `start` (milliseconds since the epoch). */
export function createManualClock(start: number = Date.parse("2026-01-01T00:00:00Z")): ManualClock {
  /** Starts at 0, like the clock of a new process: a use that mixes up the two readings does not work in any test. */
  let now = 0;
  let wallAtZero = start;
  let order = 0;
  const tasks = new Set<{ at: number; order: number; task: () => void }>();
  const nextDue = (until: number) => {
    let next: { at: number; order: number; task: () => void } | undefined;
    for (const entry of tasks) {
      if (entry.at > until) continue;
      if (next === undefined || entry.at < next.at || (entry.at === next.at && entry.order < next.order)) next = entry;
    }
    return next;
  };
  return {
    now: () => wallAtZero + now,
    monotonicMs: () => now,
    after: (delayMs, task) => {
      order += 1;
      const entry = { at: now + Math.max(0, delayMs), order, task };
      tasks.add(entry);
      return () => {
        tasks.delete(entry);
      };
    },
    advance: (ms) => {
      const until = now + ms;
      for (let due = nextDue(until); due !== undefined; due = nextDue(until)) {
        tasks.delete(due);
        now = Math.max(now, due.at);
        due.task();
      }
      now = until;
    },
    setBack: (ms) => {
      wallAtZero -= ms;
    },
    get pending() {
      return tasks.size;
    },
    get nextMs() {
      let next: number | undefined;
      for (const { at } of tasks) if (next === undefined || at < next) next = at;
      return next === undefined ? undefined : next - now;
    },
    get waits() {
      return [...tasks].map(({ at }) => at - now).toSorted((a, b) => a - b);
    },
  };
}
