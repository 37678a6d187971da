/** The time, as a parameter: only entry points use the machine's clock. */
export interface Clock {
  /** Milliseconds since the epoch, for times that are written, shown or compared with stored ones. It may be set back. */
  now(): number;
  /** Milliseconds since some moment, for intervals: it never goes back, and it counts the time while a machine is suspended. */
  monotonicMs(): number;
  /** Runs `task` once after `delayMs`. Returns a function that cancels it: a pending task keeps the process alive. */
  after(delayMs: number, task: () => void): () => void;
  /** Runs `task` after pending input of the event loop was processed. A manual clock has no input and omits this. */
  afterInput?(task: () => void): void;
  /** How long the event loop of this process has been busy, in milliseconds. A manual clock omits this. */
  busyMs?(): number;
}

/** A larger difference between the two clocks of a machine comes from a suspend or a clock that was set, not from their drift. */
const toleratedDriftMs = 1_000;

/**
 * Creates the monotonic reading of a clock.
 *
 * `performance.now()` stands still while a laptop sleeps or a function is frozen, and a cached credential must not outlive its
 * time there. A wall clock that is ahead of it shows that time has passed; one that was set back changes nothing.
 */
export function createMonotonicReading(wallMs: () => number, processMs: () => number): () => number {
  let differenceMs = wallMs() - processMs();
  let suspendedMs = 0;
  return () => {
    const nowMs = processMs();
    const aheadMs = wallMs() - nowMs - differenceMs;
    if (Math.abs(aheadMs) > toleratedDriftMs) {
      differenceMs += aheadMs;
      suspendedMs += Math.max(0, aheadMs);
    }
    return Math.floor(nowMs + suspendedMs);
  };
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: createMonotonicReading(
    () => Date.now(),
    () => performance.now(),
  ),
  after: (delayMs, task) => {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
  afterInput: (task) => void setImmediate(task),
  busyMs: () => performance.eventLoopUtilization().active,
};
