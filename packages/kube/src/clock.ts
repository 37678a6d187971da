/** Time, handed in: nothing below the entry points asks the machine for it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `task` once after `delayMs`; the answer takes it back. Pending work keeps a process alive: take back what is no longer wanted. */
  after(delayMs: number, task: () => void): () => void;
  /** Runs `task` after whatever the machine has brought in meanwhile; a clock of a test, for which nothing comes in, has no need of it. */
  afterInput?(task: () => void): void;
  /** How long this process has been busy so far, in milliseconds; a clock of a test takes no time for anything. */
  busyMs?(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (delayMs, task) => {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
  afterInput: (task) => void setImmediate(task),
  busyMs: () => performance.eventLoopUtilization().active,
};
