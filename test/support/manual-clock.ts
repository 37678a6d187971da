import type { Clock } from "@tmc/kube/clock.ts";

/** A clock that stands still until a test moves it. */
export interface ManualClock extends Clock {
  /** Lets time pass and runs what falls due, in order; `advance(0)` runs what is due now. */
  advance(ms: number): void;
  /** How many tasks wait for their time. */
  readonly pending: number;
  /** How long until the next of them is due, in milliseconds; undefined where none waits. */
  readonly nextMs: number | undefined;
  /** How long each of them still waits, in milliseconds, the shortest first. */
  readonly waits: readonly number[];
}

/** Makes a clock that starts at `start` (milliseconds since the epoch). */
export function createManualClock(start: number = Date.parse("2026-01-01T00:00:00Z")): ManualClock {
  let now = start;
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
    now: () => now,
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
