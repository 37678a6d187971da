import type { Clock } from "@tmc/kube/clock.ts";

/** The time of a simulated world. Tasks that fall due together run in an order that the seed chooses. */
export interface SimClock extends Clock {
  /** Lets time pass up to a moment; everything that follows from one task happens before the next one runs. */
  runUntil(ms: number): Promise<void>;
  /** Sets the time for another run; `random` chooses the order from then on. No task may be waiting. */
  restart(ms: number, random: () => number): void;
  readonly pending: number;
}

type Task = { readonly atMs: number; readonly rank: number; run: (() => void) | undefined };

/** Creates a clock that stands still until `run` is called. */
export function createSimClock(): SimClock {
  const heap: Task[] = [];
  let nowMs = 0;
  let random = (): number => 0;
  let waiting = 0;

  const isBefore = (one: Task, other: Task): boolean =>
    one.atMs < other.atMs || (one.atMs === other.atMs && one.rank < other.rank);

  const push = (task: Task): void => {
    let at = heap.length;
    heap.push(task);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(task, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = task;
  };
  const pop = (): Task | undefined => {
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      const left = heap[2 * at + 1];
      const right = heap[2 * at + 2];
      const [child, index] =
        left !== undefined && right !== undefined && isBefore(right, left) ? [right, 2 * at + 2] : [left, 2 * at + 1];
      if (child === undefined || !isBefore(child, last)) break;
      heap[at] = child;
      at = index;
    }
    heap[at] = last;
    return first;
  };

  return {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    after: (delayMs, run) => {
      const task: Task = { atMs: nowMs + Math.max(0, delayMs), rank: random(), run };
      waiting += 1;
      push(task);
      return () => {
        if (task.run === undefined) return;
        task.run = undefined;
        waiting -= 1;
      };
    },
    runUntil: async (ms) => {
      // Whatever was begun before the time runs goes as far as it can without time.
      await quiet();
      for (;;) {
        const next = heap[0];
        if (next === undefined || next.atMs > ms) break;
        pop();
        const { run } = next;
        if (run === undefined) continue;
        next.run = undefined;
        waiting -= 1;
        nowMs = Math.max(nowMs, next.atMs);
        run();
        await quiet();
      }
      nowMs = Math.max(nowMs, ms);
    },
    restart: (ms, choose) => {
      if (waiting > 0) throw new Error(`simulation: ${waiting} tasks of the last run still wait`);
      heap.length = 0;
      nowMs = ms;
      random = choose;
    },
    get pending() {
      return waiting;
    },
  };
}

/** Nothing in the simulated system waits for the machine, so one turn of its loop is enough for all that follows. */
function quiet(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
