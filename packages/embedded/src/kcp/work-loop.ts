import type { Clock } from "@tmc/kube/clock.ts";
import { ApiFailure } from "../machinery/api-errors.ts";

/** Names one object and the reconciler that handles it. */
export type KcpWorkKey = Readonly<{ kind: string; logicalCluster: string; name: string }>;

/** A work queue. A key that is added again before it runs is queued once; keys never run inside `add`. */
export interface WorkLoop {
  add(key: KcpWorkKey): void;
  addAfter(delayMs: number, key: KcpWorkKey): void;
  /** Runs until the queue is empty; for bootstrapping, when no time passes. */
  drain(): void;
  stop(): void;
}

/**
 * More rounds than any chain of reconciles needs. Beyond that, a controller triggers itself forever, which is a bug.
 */
const maxRounds = 100_000;

export function createWorkLoop(clock: Clock, reconcile: (key: KcpWorkKey) => void): WorkLoop {
  const queued = new Map<string, KcpWorkKey>();
  const timers = new Set<() => void>();
  let scheduled: (() => void) | undefined;
  let stopped = false;

  const drain = (): void => {
    scheduled?.();
    scheduled = undefined;
    for (let round = 0; queued.size > 0 && !stopped; round++) {
      if (round > maxRounds) throw new Error("embedded kcp: the controllers did not settle");
      const [text, key] = queued.entries().next().value ?? [];
      if (text === undefined || key === undefined) return;
      queued.delete(text);
      try {
        reconcile(key);
      } catch (error) {
        // A precondition is missing. The change that fixes it enqueues the key again.
        if (!(error instanceof ApiFailure)) throw error;
      }
    }
  };

  const add = (key: KcpWorkKey): void => {
    if (stopped) return;
    queued.set(`${key.kind}|${key.logicalCluster}|${key.name}`, key);
    scheduled ??= clock.after(0, () => {
      scheduled = undefined;
      drain();
    });
  };

  return {
    add,
    addAfter: (delayMs, key) => {
      const cancel = clock.after(delayMs, () => {
        timers.delete(cancel);
        add(key);
      });
      timers.add(cancel);
    },
    drain,
    stop: () => {
      stopped = true;
      scheduled?.();
      for (const cancel of timers) cancel();
    },
  };
}
