import type { Clock } from "@tmc/kube/clock.ts";
import { ApiFailure } from "../machinery/api-errors.ts";

/** A queue of keys to reconcile. A key that is added again before it runs is queued once. */
export interface KeyQueue {
  add(key: string): void;
  stop(): void;
}

/**
 * Reconciles keys in order, in a task of the clock and never inside `add`: with a manual clock, the test decides when
 * the server's controllers run.
 */
export function createKeyQueue(clock: Clock, reconcile: (key: string) => void): KeyQueue {
  const queued = new Set<string>();
  let cancel: (() => void) | undefined;
  let stopped = false;

  const run = (): void => {
    cancel = undefined;
    for (const key of queued) {
      queued.delete(key);
      try {
        reconcile(key);
      } catch (error) {
        // A precondition is missing or the write was rejected. The change that fixes it enqueues the key again.
        if (!(error instanceof ApiFailure)) throw error;
      }
    }
  };
  return {
    add: (key) => {
      if (stopped) return;
      queued.add(key);
      cancel ??= clock.after(0, run);
    },
    stop: () => {
      stopped = true;
      cancel?.();
      queued.clear();
    },
  };
}
