import type { Clock } from "@tmc/kube/clock.ts";

/** Tasks that run later, earliest first; tasks of the same time run in the order in which they were scheduled. */
export interface DelayHeap {
  readonly size: number;
  /** Runs `task` at that time. The returned function cancels it, and has no effect once it has run. */
  schedule(atMs: number, task: () => void): () => void;
  /** Runs overdue tasks, and from now on every task at its time. */
  start(): void;
  /** Runs no task until the next start, and leaves no timer that would keep the process alive. */
  stop(): void;
}

type DelayedTask = { readonly atMs: number; readonly order: number; readonly task: () => void; position: number };

/** Timers hold 31 bits of milliseconds, about 24 days; longer delays take several timers. */
const maxTimerMs = 24 * 3600 * 1000;

const removedPosition = -1;

/**
 * Creates a delay heap. It needs one timer for any number of tasks. Every task knows its position in the heap, so a
 * canceled task is removed at once and memory is bounded by the tasks that will still run.
 */
export function createDelayHeap(clock: Clock): DelayHeap {
  const heap: DelayedTask[] = [];
  let order = 0;
  let started = false;
  let armed: Readonly<{ atMs: number; disarm: () => void }> | undefined;

  const isBefore = (left: DelayedTask, right: DelayedTask): boolean =>
    left.atMs !== right.atMs ? left.atMs < right.atMs : left.order < right.order;

  const place = (task: DelayedTask, position: number): void => {
    heap[position] = task;
    task.position = position;
  };

  const rise = (task: DelayedTask): void => {
    let position = task.position;
    while (position > 0) {
      const parentPosition = (position - 1) >> 1;
      const parent = heap[parentPosition];
      if (parent === undefined || !isBefore(task, parent)) break;
      place(parent, position);
      position = parentPosition;
    }
    place(task, position);
  };

  const sink = (task: DelayedTask): void => {
    let position = task.position;
    for (;;) {
      const [left, right] = [heap[position * 2 + 1], heap[position * 2 + 2]];
      const child = right !== undefined && left !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, task)) break;
      const childPosition = child.position;
      place(child, position);
      position = childPosition;
    }
    place(task, position);
  };

  const remove = (task: DelayedTask): void => {
    const { position } = task;
    task.position = removedPosition;
    const last = heap.pop();
    if (last === undefined || last === task) return;
    place(last, position);
    rise(last);
    sink(last);
  };

  const arm = (): void => {
    const first = started ? heap[0] : undefined;
    if (first?.atMs === armed?.atMs) return;
    armed?.disarm();
    armed = undefined;
    if (first === undefined) return;
    const delayMs = Math.min(maxTimerMs, Math.max(0, first.atMs - clock.monotonicMs()));
    armed = {
      atMs: first.atMs,
      disarm: clock.after(delayMs, () => {
        armed = undefined;
        runDue();
      }),
    };
  };

  /** Runs the tasks that are due. Tasks scheduled meanwhile wait for the next call: a task that reschedules itself must not loop here. */
  const runDue = (): void => {
    const nowMs = clock.monotonicMs();
    const newest = order;
    for (let first = heap[0]; first !== undefined && first.atMs <= nowMs && first.order <= newest; first = heap[0]) {
      remove(first);
      first.task();
    }
    arm();
  };

  return {
    get size() {
      return heap.length;
    },
    schedule: (atMs, task) => {
      order += 1;
      const delayed: DelayedTask = { atMs, order, task, position: heap.length };
      heap.push(delayed);
      rise(delayed);
      arm();
      return () => {
        if (delayed.position === removedPosition) return;
        remove(delayed);
        arm();
      };
    },
    start: () => {
      started = true;
      runDue();
    },
    stop: () => {
      started = false;
      arm();
    },
  };
}
