import type { Clock } from "@tmc/kube/clock.ts";
import { ApiFailure } from "../api-failure.ts";

/** Keys that have to be looked at again, each once however often it was added. */
export interface DirtyKeys {
  add(key: string): void;
  stop(): void;
}

/**
 * Works through keys in the order in which they came, in a task of the clock's and never inside the caller's own call, so
 * that a clock that is handed in decides when the server's own controllers act.
 */
export function createDirtyKeys(clock: Clock, work: (key: string) => void): DirtyKeys {
  const waiting = new Set<string>();
  let cancel: (() => void) | undefined;
  let stopped = false;

  const run = (): void => {
    cancel = undefined;
    for (const key of waiting) {
      waiting.delete(key);
      try {
        work(key);
      } catch (error) {
        // What the work needs is not there or is refused; the change that brings it adds the key again.
        if (!(error instanceof ApiFailure)) throw error;
      }
    }
  };
  return {
    add: (key) => {
      if (stopped) return;
      waiting.add(key);
      cancel ??= clock.after(0, run);
    },
    stop: () => {
      stopped = true;
      cancel?.();
      waiting.clear();
    },
  };
}
