import { createBackoff } from "@tmc/kube/backoff.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkItem, WorkQueue } from "../model/work-item.ts";
import type { TenantRate } from "../queue/tenant-rate-limit.ts";
import { createOutboxLines } from "./tenant-queues.ts";
import { createTenantLimit } from "./tenant-rate-limiter.ts";

/** What is still to be sent: a set of keys, so that a queue that is down for long costs no more than there are objects. */
export interface Outbox {
  /** Takes items in and sends them as soon as it can; a key that is in it already is in it once. */
  add(items: readonly WorkItem[]): void;
  /** Sends nothing more of a logical cluster that is looked after no more, but for what is on its way. */
  drop(logicalCluster: string): void;
  /** How many keys are not sent yet. */
  readonly size: number;
  /** How many of them wait because their tenant is over its limit. */
  readonly limited: number;
  /** How long the key that waits longest for the queue has been waiting, those over a limit left out; 0 when none does. */
  oldestAgeSeconds(): number;
  /** Whether keys are left over because the queue did not take the last ones. */
  readonly isFailing: boolean;
  /**
   * Resolves when nothing is left to send, or when the signal ends the wait; answers how many keys are left. What is over
   * a tenant's limit is not waited for: whoever comes next lists everything.
   */
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
  /** How fast the keys of one tenant may go. @default as fast as the queue takes them */
  tenantRate?: TenantRate | undefined;
  /** Hears of every failed attempt. */
  onTrouble?: ((error: unknown, details: Readonly<{ keys: number; retryInMs: number }>) => void) | undefined;
}>;

/** More at a time would only make a refusal dearer. */
const defaultBatchSize = 1_000;
const shortestWaitMs = 250;
const longestWaitMs = 30_000;
/** Tenants over their limit are looked at this often at most: what they may send by then goes in one call. */
const shortestPauseMs = 100;

/**
 * Creates an empty outbox for a queue. Logical clusters have their keys sent in turn, each within its limit, and one that is
 * over it holds back nobody else: its keys stay here, each once.
 */
export function createOutbox(options: OutboxOptions): Outbox {
  const { queue, clock, random, batchSize = defaultBatchSize, gatherMs = 0, onTrouble } = options;
  const waiting = createOutboxLines();
  const limit = options.tenantRate && createTenantLimit(options.tenantRate);
  /** Tenants whose keys were left over by their limit, and by nothing else. */
  const held = new Set<string>();
  const backoff = createBackoff({ shortestMs: shortestWaitMs, longestMs: longestWaitMs, random });
  const emptied = new Set<() => void>();
  let stopped = false;
  let sending = false;
  let failing = false;
  let cancelWait: (() => void) | undefined;
  /** Takes back the next look at those that are held. */
  let cancelPause = (): void => {};

  const workAfter = (delayMs: number): void => {
    cancelWait = clock.after(delayMs, () => {
      cancelWait = undefined;
      void work();
    });
  };
  const work = async (): Promise<void> => {
    if (sending || stopped || cancelWait !== undefined) return;
    sending = true;
    cancelPause();
    let isTaken = true;
    while (waiting.size > 0 && !stopped) {
      const batch = waiting.take(batchSize, limit && ((logicalCluster) => limit.allowed(logicalCluster, clock.now())));
      if (batch.length === 0) break;
      try {
        await queue.send(batch.map(({ item }) => item));
      } catch (error) {
        isTaken = false;
        failing = true;
        const retryInMs = backoff.nextMs();
        onTrouble?.(error, { keys: waiting.size, retryInMs });
        workAfter(retryInMs);
        break;
      }
      failing = false;
      backoff.reset();
      for (const { item } of batch) limit?.spend(item.key.logicalCluster, 1, clock.now());
      waiting.sent(batch);
    }
    sending = false;
    held.clear();
    if (isTaken) hold();
    tellIfDone();
  };
  /** What is left when the queue takes everything is over a limit. */
  const hold = (): void => {
    for (const logicalCluster of waiting.clusters()) held.add(logicalCluster);
    if (held.size === 0 || limit === undefined || stopped) return;
    cancelPause = clock.after(Math.max(limit.stepMs, shortestPauseMs), () => void work());
  };
  const limited = (): number => {
    let keys = 0;
    for (const logicalCluster of held) keys += waiting.sizeOf(logicalCluster);
    return keys;
  };
  const tellIfDone = (): void => {
    if (waiting.size === limited()) for (const tell of [...emptied]) tell();
  };

  return {
    add: (added) => {
      const nowMs = clock.now();
      for (const item of added) waiting.add(item, nowMs);
      // They are looked at again in a moment, however many more of their keys come.
      if (held.size > 0 && added.every(({ key }) => held.has(key.logicalCluster))) return;
      if (gatherMs > 0 && !sending && !stopped && cancelWait === undefined && waiting.size > 0) workAfter(gatherMs);
      else void work();
    },
    drop: (logicalCluster) => {
      waiting.drop(logicalCluster);
      held.delete(logicalCluster);
      limit?.forget(logicalCluster);
      if (!sending) tellIfDone();
    },
    get size() {
      return waiting.size;
    },
    get limited() {
      return limited();
    },
    oldestAgeSeconds: () => {
      const nowMs = clock.now();
      return (nowMs - (waiting.oldestMs((logicalCluster) => held.has(logicalCluster)) ?? nowMs)) / 1000;
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
      cancelPause();
      cancelWait?.();
      cancelWait = undefined;
      for (const tell of [...emptied]) tell();
    },
  };
}
