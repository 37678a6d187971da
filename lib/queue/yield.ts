import type { Clock } from "@tmc/kube/clock.ts";

/** Runs tasks one after the other, and lets the process breathe in between. */
export interface Breather {
  /** Runs the task after the present step; after whatever has come in, when time has passed since the process last looked. */
  soon(task: () => void): void;
}

/**
 * Creates a breather.
 *
 * Work that finds nothing to do never waits for anything: ten thousand such keys in a row would keep the process from its
 * sockets for as long as they take, and everybody else's changes with it.
 */
export function createBreather({ now, afterInput }: Pick<Clock, "now" | "afterInput">): Breather {
  if (afterInput === undefined) return { soon: queueMicrotask };
  /** When the process last came to its sockets, as far as anybody has asked since. */
  let breathedMs: number | undefined;
  return {
    soon: (task) => {
      if (breathedMs === undefined) {
        breathedMs = now();
        afterInput(() => {
          breathedMs = undefined;
        });
      }
      if (now() > breathedMs) afterInput(task);
      else queueMicrotask(task);
    },
  };
}
