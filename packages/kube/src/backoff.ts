/** Growing waits between attempts, with jitter, so that many callers do not retry at the same time. */
export interface Backoff {
  /** The wait before the next attempt. */
  nextMs(): number;
  /** Starts again from the shortest wait, after an attempt that succeeded. */
  reset(): void;
}

/**
 * Creates a backoff with decorrelated jitter: each wait lies between the shortest and three times the last one, and
 * never above the longest.
 */
export function createBackoff({
  shortestMs,
  longestMs,
  random,
}: Readonly<{ shortestMs: number; longestMs: number; random: () => number }>): Backoff {
  let lastMs = shortestMs;
  return {
    nextMs: () => {
      lastMs = Math.min(longestMs, Math.round(shortestMs + random() * (lastMs * 3 - shortestMs)));
      return lastMs;
    },
    reset: () => {
      lastMs = shortestMs;
    },
  };
}
