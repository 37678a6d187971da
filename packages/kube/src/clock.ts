/** The time, as a parameter: only entry points use the machine's clock. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `task` once after `delayMs`. Returns a function that cancels it: a pending task keeps the process alive. */
  after(delayMs: number, task: () => void): () => void;
  /** Runs `task` after pending input of the event loop was processed. A manual clock has no input and omits this. */
  afterInput?(task: () => void): void;
  /** How long the event loop of this process has been busy, in milliseconds. A manual clock omits this. */
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
