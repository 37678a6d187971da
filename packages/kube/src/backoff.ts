/** Grows waits between attempts, each caller's in its own way, so that many do not come back at once. */
export interface Backoff {
  /** The wait before the next attempt. */
  nextMs(): number;
  /** Starts again from the shortest wait: the last attempt went well. */
  reset(): void;
}

/**
 * Creates a back-off with decorrelated jitter: each wait lies between the shortest and three times the last one, and
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
