import type { Clock } from "@tmc/kube/clock.ts";
import { systemClock } from "@tmc/kube/clock.ts";

/** The system clock, with which a test can skip waiting times. */
export interface SkippingClock extends Clock {
  /** Advances the clock to a time if it is in the future, and runs the due timers in order. */
  skipTo(ms: number): void;
}

type Task = { readonly atMs: number; readonly run: () => void; cancel: () => void };

/** Creates a clock that equals the system clock until a time is skipped. */
export function createSkippingClock(): SkippingClock {
  const tasks = new Set<Task>();
  let skippedMs = 0;
  const now = (): number => systemClock.now() + skippedMs;
  const next = (): Task | undefined => {
    let first: Task | undefined;
    for (const task of tasks) if (first === undefined || task.atMs < first.atMs) first = task;
    return first;
  };
  const putForwardTo = (ms: number): void => {
    skippedMs += Math.max(0, ms - now());
  };
  const start = (task: Task): void => {
    task.cancel = systemClock.after(Math.max(0, task.atMs - now()), () => {
      tasks.delete(task);
      task.run();
    });
  };
  return {
    ...systemClock,
    now,
    after: (delayMs, run) => {
      const task: Task = { atMs: now() + Math.max(0, delayMs), run, cancel: () => {} };
      tasks.add(task);
      start(task);
      return () => {
        tasks.delete(task);
        task.cancel();
      };
    },
    skipTo: (ms) => {
      if (ms <= now()) return;
      for (let due = next(); due !== undefined && due.atMs <= ms; due = next()) {
        tasks.delete(due);
        due.cancel();
        putForwardTo(due.atMs);
        due.run();
      }
      putForwardTo(ms);
      for (const task of tasks) {
        task.cancel();
        start(task);
      }
    },
  };
}
