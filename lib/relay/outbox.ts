import { createBackoff } from "../kube/backoff.ts";
import type { Clock } from "../model/clock.ts";
import { formatKey } from "../model/key.ts";
import type { WorkItem, WorkQueue } from "../queue/work-queue.ts";

/** What is still to be sent: a set of keys, so that a queue that is down for long costs no more than there are objects. */
export interface Outbox {
  /** Takes items in and sends them as soon as it can; a key that is in it already is in it once. */
  add(items: readonly WorkItem[]): void;
  /** How many keys are not sent yet. */
  readonly size: number;
  /** Resolves when nothing is left to send, or when the signal ends the wait; answers how many keys are left. */
  drain(signal: AbortSignal): Promise<number>;
  /** Sends nothing more. */
  stop(): void;
}

export type OutboxOptions = Readonly<{
  queue: Pick<WorkQueue, "send">;
  clock: Clock;
  random: () => number;
  /** Hears of every failed attempt. */
  onTrouble?: ((error: unknown, details: Readonly<{ keys: number; retryInMs: number }>) => void) | undefined;
}>;

/** More at a time would only make a refusal dearer. */
const largestBatch = 1_000;
const shortestWaitMs = 250;
const longestWaitMs = 30_000;

/** Creates an empty outbox for a queue. */
export function createOutbox({ queue, clock, random, onTrouble }: OutboxOptions): Outbox {
  const items = new Map<string, WorkItem>();
  const backoff = createBackoff({ shortestMs: shortestWaitMs, longestMs: longestWaitMs, random });
  const emptied = new Set<() => void>();
  let stopped = false;
  let sending = false;
  let cancelWait: (() => void) | undefined;

  const work = async (): Promise<void> => {
    if (sending || stopped || cancelWait !== undefined) return;
    sending = true;
    while (items.size > 0 && !stopped) {
      const batch = [...items].slice(0, largestBatch);
      try {
        await queue.send(batch.map(([, item]) => item));
      } catch (error) {
        const retryInMs = backoff.nextMs();
        onTrouble?.(error, { keys: items.size, retryInMs });
        cancelWait = clock.after(retryInMs, () => {
          cancelWait = undefined;
          void work();
        });
        break;
      }
      backoff.reset();
      // What was added while it was on its way is news, and goes again.
      for (const [text, item] of batch) if (items.get(text) === item) items.delete(text);
    }
    sending = false;
    if (items.size === 0) for (const tell of [...emptied]) tell();
  };

  return {
    add: (added) => {
      for (const item of added) items.set(formatKey(item.key), item);
      void work();
    },
    get size() {
      return items.size;
    },
    drain: (signal) =>
      new Promise((resolve) => {
        const done = (): void => {
          signal.removeEventListener("abort", done);
          emptied.delete(done);
          resolve(items.size);
        };
        if (items.size === 0 || stopped || signal.aborted) {
          done();
          return;
        }
        signal.addEventListener("abort", done, { once: true });
        emptied.add(done);
        // No time to lose: the wait after the last failure is cut short.
        cancelWait?.();
        cancelWait = undefined;
        void work();
      }),
    stop: () => {
      stopped = true;
      cancelWait?.();
      cancelWait = undefined;
      for (const tell of [...emptied]) tell();
    },
  };
}
