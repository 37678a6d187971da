import type { Clock } from "@tmc/kube/clock.ts";
import { systemClock } from "@tmc/kube/clock.ts";

/** The machine's clock, but a test can skip what it would only wait for. */
export interface SkippingClock extends Clock {
  /** Puts the time forward to a moment, if it has not come yet, and runs what has fallen due, in order. */
  skipTo(ms: number): void;
}

type Task = { readonly atMs: number; readonly run: () => void; cancel: () => void };

/** Makes a clock that is right until something is skipped. */
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
