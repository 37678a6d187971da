import type { Clock } from "@tmc/kube/clock.ts";

/** Defers tasks so that the event loop can serve its sockets in between. */
export interface Yielder {
  /** Runs the task as a microtask; after pending input, if time has passed since the event loop last read its sockets. */
  defer(task: () => void): void;
}

/**
 * Creates a yielder.
 *
 * Reconciles that find nothing to do never wait for anything. Ten thousand of them in a row would keep the process from
 * its sockets for as long as they take, and delay the changes of every other tenant.
 */
export function createYielder({ monotonicMs, afterInput }: Pick<Clock, "monotonicMs" | "afterInput">): Yielder {
  if (afterInput === undefined) return { defer: queueMicrotask };
  /** When the event loop last read its sockets; undefined until the next call measures it. */
  let lastInputMs: number | undefined;
  return {
    defer: (task) => {
      if (lastInputMs === undefined) {
        lastInputMs = monotonicMs();
        afterInput(() => {
          lastInputMs = undefined;
        });
      }
      if (monotonicMs() > lastInputMs) afterInput(task);
      else queueMicrotask(task);
    },
  };
}
