import { createBackoff } from "@tmc/kube/backoff.ts";
import type { Clock } from "@tmc/kube/clock.ts";

/** One that was let through, and says how it went. */
export interface Passage {
  /** The cluster has answered, whatever it said. */
  answered(): void;
  failed(): void;
  /** It ends; whoever has heard nothing until now never will. */
  end(): void;
}

/**
 * Lets watches of one cluster through to it. While it cannot be reached, one of them tries for all, after pauses that grow: a
 * dead cluster costs the same however many types are watched on it.
 */
export interface ClusterGate {
  /** Waits until it is worth trying; undefined as soon as the signal is aborted. */
  pass(signal: AbortSignal): Promise<Passage | undefined>;
}

const shortestPauseMs = 1_000;
const longestPauseMs = 30_000;

/** Creates a gate that is open. */
export function createClusterGate({ clock, random }: Readonly<{ clock: Clock; random: () => number }>): ClusterGate {
  const backoff = createBackoff({ shortestMs: shortestPauseMs, longestMs: longestPauseMs, random });
  const waiting = new Set<() => void>();
  /** Undefined while it is open. */
  let opensAtMs: number | undefined;
  let scout: Passage | undefined;

  const wakeAll = (): void => {
    for (const wake of [...waiting]) wake();
  };
  const wait = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        waiting.delete(wake);
        cancel();
        signal.removeEventListener("abort", wake);
        resolve();
      };
      // While one tries, its word is all that the others wait for.
      const cancel = scout === undefined ? clock.after(Math.max(0, (opensAtMs ?? 0) - clock.now()), wake) : () => {};
      waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  const createPassage = (): Passage => {
    const passage: Passage = {
      answered: () => {
        if (opensAtMs === undefined) return;
        opensAtMs = undefined;
        scout = undefined;
        backoff.reset();
        wakeAll();
      },
      failed: () => {
        // Those that were on their way when it broke add nothing to the pause.
        if (opensAtMs !== undefined && scout !== passage) return;
        opensAtMs = clock.now() + backoff.nextMs();
        passage.end();
      },
      end: () => {
        if (scout !== passage) return;
        scout = undefined;
        wakeAll();
      },
    };
    return passage;
  };

  return {
    pass: async (signal) => {
      while (!signal.aborted) {
        if (opensAtMs === undefined) return createPassage();
        if (scout === undefined && clock.now() >= opensAtMs) {
          scout = createPassage();
          return scout;
        }
        await wait(signal);
      }
      return undefined;
    },
  };
}
