import { createBackoff } from "../kube/backoff.ts";
import type { Clock } from "../model/clock.ts";
import { formatKey } from "../model/key.ts";
import { collapse } from "../queue/collapse.ts";
import type { WorkItem, WorkQueue } from "../queue/work-queue.ts";

/** What is still to be sent: a set of keys, so that a queue that is down for long costs no more than there are objects. */
export interface Outbox {
  /** Takes items in and sends them as soon as it can; a key that is in it already is in it once. */
  add(items: readonly WorkItem[]): void;
  /** How many keys are not sent yet. */
  readonly size: number;
  /** How long the key that waits longest has been waiting; 0 when none does. */
  oldestAgeSeconds(): number;
  /** Whether keys are left over because the queue did not take the last ones. */
  readonly isFailing: boolean;
  /** Resolves when nothing is left to send, or when the signal ends the wait; answers how many keys are left. */
  drain(signal: AbortSignal): Promise<number>;
  /** Sends nothing more. */
  stop(): void;
}

export type OutboxOptions = Readonly<{
  queue: Pick<WorkQueue, "send">;
  clock: Clock;
  random: () => number;
  /** As many keys are sent at a time; where a part is refused, all of them go again. @default 1000 */
  batchSize?: number | undefined;
  /** So long the first of some keys waits for others that go with it: a burst then costs few calls. @default 0 */
  gatherMs?: number | undefined;
  /** Hears of every failed attempt. */
  onTrouble?: ((error: unknown, details: Readonly<{ keys: number; retryInMs: number }>) => void) | undefined;
}>;

/** More at a time would only make a refusal dearer. */
const defaultBatchSize = 1_000;
const shortestWaitMs = 250;
const longestWaitMs = 30_000;

/** A key that waits, and since when: a change while it was on its way out counts from that change on. */
type Waiting = Readonly<{ item: WorkItem; sinceMs: number; lastMs: number }>;

/** Creates an empty outbox for a queue. */
export function createOutbox(options: OutboxOptions): Outbox {
  const { queue, clock, random, batchSize = defaultBatchSize, gatherMs = 0, onTrouble } = options;
  const waiting = new Map<string, Waiting>();
  const backoff = createBackoff({ shortestMs: shortestWaitMs, longestMs: longestWaitMs, random });
  const emptied = new Set<() => void>();
  let stopped = false;
  let sending = false;
  let failing = false;
  let cancelWait: (() => void) | undefined;

  const workAfter = (delayMs: number): void => {
    cancelWait = clock.after(delayMs, () => {
      cancelWait = undefined;
      void work();
    });
  };
  const work = async (): Promise<void> => {
    if (sending || stopped || cancelWait !== undefined) return;
    sending = true;
    while (waiting.size > 0 && !stopped) {
      const batch = [...waiting.entries().take(batchSize)];
      try {
        await queue.send(batch.map(([, { item }]) => item));
      } catch (error) {
        failing = true;
        const retryInMs = backoff.nextMs();
        onTrouble?.(error, { keys: waiting.size, retryInMs });
        workAfter(retryInMs);
        break;
      }
      failing = false;
      backoff.reset();
      for (const [text, sent] of batch) {
        const now = waiting.get(text);
        if (now === sent) waiting.delete(text);
        // What was added while it was on its way is news, and goes again.
        else if (now !== undefined) waiting.set(text, { ...now, sinceMs: now.lastMs });
      }
    }
    sending = false;
    if (waiting.size === 0) for (const tell of [...emptied]) tell();
  };

  return {
    add: (added) => {
      const nowMs = clock.now();
      for (const item of added) {
        const text = formatKey(item.key);
        const before = waiting.get(text);
        waiting.set(text, {
          item: before === undefined ? item : collapse(before.item, item),
          sinceMs: before?.sinceMs ?? nowMs,
          lastMs: nowMs,
        });
      }
      if (gatherMs > 0 && !sending && !stopped && cancelWait === undefined && waiting.size > 0) workAfter(gatherMs);
      else void work();
    },
    get size() {
      return waiting.size;
    },
    oldestAgeSeconds: () => {
      const oldestMs = waiting.values().reduce((least, { sinceMs }) => Math.min(least, sinceMs), clock.now());
      return (clock.now() - oldestMs) / 1000;
    },
    get isFailing() {
      return failing && waiting.size > 0;
    },
    drain: (signal) =>
      new Promise((resolve) => {
        const done = (): void => {
          signal.removeEventListener("abort", done);
          emptied.delete(done);
          resolve(waiting.size);
        };
        if (waiting.size === 0 || stopped || signal.aborted) {
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
