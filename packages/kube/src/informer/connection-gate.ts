import { createBackoff } from "../backoff.ts";
import type { Clock } from "../clock.ts";

/** Permission for one attempt to reach a server. The holder reports how the attempt went. */
export interface Attempt {
  /** The server answered, with any status. */
  answered(): void;
  /** The server could not be reached, or did not accept the credentials. */
  failed(): void;
  /** The attempt is over; an attempt that has reported nothing by now never will. */
  end(): void;
}

/**
 * Lets the informers of one server reach it. While the server cannot be reached, one informer tries for all of them, with a
 * growing backoff: an unreachable server costs the same however many types are watched on it.
 */
export interface ConnectionGate {
  /** Waits until an attempt is due; undefined as soon as the signal is aborted. */
  attempt(signal: AbortSignal): Promise<Attempt | undefined>;
}

const shortestPauseMs = 1_000;
const longestPauseMs = 30_000;

/** Creates an open gate. */
export function createConnectionGate({
  clock,
  random,
}: Readonly<{ clock: Clock; random: () => number }>): ConnectionGate {
  const backoff = createBackoff({ shortestMs: shortestPauseMs, longestMs: longestPauseMs, random });
  const waiting = new Set<() => void>();
  /** Undefined while the gate is open. */
  let opensAtMs: number | undefined;
  /** The one attempt that is allowed while the gate is closed. */
  let trial: Attempt | undefined;

  const resumeAll = (): void => {
    for (const resume of [...waiting]) resume();
  };
  const wait = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const resume = (): void => {
        waiting.delete(resume);
        cancel();
        signal.removeEventListener("abort", resume);
        resolve();
      };
      // During a trial all callers wait for its result only.
      const cancel =
        trial === undefined ? clock.after(Math.max(0, (opensAtMs ?? 0) - clock.monotonicMs()), resume) : () => {};
      waiting.add(resume);
      signal.addEventListener("abort", resume, { once: true });
    });
  const createAttempt = (): Attempt => {
    const attempt: Attempt = {
      answered: () => {
        if (opensAtMs === undefined) return;
        opensAtMs = undefined;
        trial = undefined;
        backoff.reset();
        resumeAll();
      },
      failed: () => {
        // Attempts that were under way when the gate closed do not lengthen the backoff.
        if (opensAtMs !== undefined && trial !== attempt) return;
        opensAtMs = clock.monotonicMs() + backoff.nextMs();
        attempt.end();
      },
      end: () => {
        if (trial !== attempt) return;
        trial = undefined;
        resumeAll();
      },
    };
    return attempt;
  };

  return {
    attempt: async (signal) => {
      while (!signal.aborted) {
        if (opensAtMs === undefined) return createAttempt();
        if (trial === undefined && clock.monotonicMs() >= opensAtMs) {
          trial = createAttempt();
          return trial;
        }
        await wait(signal);
      }
      return undefined;
    },
  };
}
