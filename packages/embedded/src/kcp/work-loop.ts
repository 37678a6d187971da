import type { Clock } from "@tmc/kube/clock.ts";
import { ApiFailure } from "../api-failure.ts";

/** Something that may have to be put right: one object of one kind of work. */
export type WorkKey = Readonly<{ kind: string; cluster: string; name: string }>;

/** Works through keys, each once however often it was added in between, never inside the caller's own call. */
export interface WorkLoop {
  add(key: WorkKey): void;
  addAfter(delayMs: number, key: WorkKey): void;
  /** Works until nothing is left, now; for setting up, where nobody lets time pass. */
  drain(): void;
  stop(): void;
}

/** More rounds than any chain of reactions needs; a controller that answers itself for ever is a fault of ours. */
const mostRounds = 100_000;

export function createWorkLoop(clock: Clock, work: (key: WorkKey) => void): WorkLoop {
  const waiting = new Map<string, WorkKey>();
  const timers = new Set<() => void>();
  let scheduled: (() => void) | undefined;
  let stopped = false;

  const drain = (): void => {
    scheduled?.();
    scheduled = undefined;
    for (let round = 0; waiting.size > 0 && !stopped; round++) {
      if (round > mostRounds) throw new Error("embedded kcp: its controllers do not come to rest");
      const [text, key] = waiting.entries().next().value ?? [];
      if (text === undefined || key === undefined) return;
      waiting.delete(text);
      try {
        work(key);
      } catch (error) {
        // What it needs is not there (yet): the change that brings it wakes the key again.
        if (!(error instanceof ApiFailure)) throw error;
      }
    }
  };

  const add = (key: WorkKey): void => {
    if (stopped) return;
    waiting.set(`${key.kind}|${key.cluster}|${key.name}`, key);
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
