import { createBackoff } from "@tmc/kube/backoff.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkItem, WorkQueue } from "../../model/work-item.ts";
import type { TenantRate } from "../../queue/tenant-rate-limit.ts";
import { createTenantQueues } from "./tenant-queues.ts";
import { createTenantRateLimiter } from "./tenant-rate-limiter.ts";

/** Keys that are still to be sent. It is a set: however long the queue is down, each object has at most one key in it. */
export interface Outbox {
  /** Adds items and sends them as soon as possible; an item whose key is waiting already coalesces with it. */
  add(items: readonly WorkItem[]): void;
  /** Drops the keys of a logical cluster that is no longer relayed; a batch that is being sent is not stopped. */
  drop(logicalCluster: string): void;
  /** How many keys are not sent yet. */
  readonly size: number;
  /** Of these, the keys that wait because their tenant exceeds its rate limit. */
  readonly limited: number;
  /** Age of the oldest key that waits for the queue; 0 if none does. Keys that wait for a rate limit do not count. */
  oldestAgeSeconds(): number;
  /** Whether keys wait because the queue rejected the last ones. */
  readonly isFailing: boolean;
  /**
   * Resolves when everything is sent, or when the signal aborts; returns how many keys were not sent. It does not wait for
   * keys over a tenant's rate limit: the next relay lists everything.
   */
  drain(signal: AbortSignal): Promise<number>;
  /** Sends nothing more. */
  stop(): void;
}

export type OutboxOptions = Readonly<{
  queue: Pick<WorkQueue, "send">;
  clock: Clock;
  random: () => number;
  /** How many keys are sent at a time; if the queue rejects some of them, all are sent again. @default 1000 */
  batchSize?: number | undefined;
  /** How long a first key waits for others, so that a burst needs few calls. @default 0 */
  gatherMs?: number | undefined;
  /** The rate limit for the keys of one tenant. @default none */
  tenantRate?: TenantRate | undefined;
  /** Called after every failed attempt. */
  onFailure?: ((error: unknown, details: Readonly<{ keys: number; retryInMs: number }>) => void) | undefined;
}>;

/** A larger batch would only repeat more keys after a rejection. */
const defaultBatchSize = 1_000;
const minBackoffMs = 250;
const maxBackoffMs = 30_000;
/** Tenants over their rate limit are tried at most this often; the keys that they may send by then go in one call. */
const minRateLimitWaitMs = 100;

/**
 * Creates an empty outbox for a queue. It sends the keys of logical clusters in turn, each within its rate limit. The keys of
 * a tenant over its limit stay in the outbox and delay no other tenant.
 */
export function createOutbox(options: OutboxOptions): Outbox {
  const { queue, clock, random, batchSize = defaultBatchSize, gatherMs = 0, onFailure } = options;
  const queues = createTenantQueues();
  const limiter = options.tenantRate && createTenantRateLimiter(options.tenantRate);
  /** Tenants whose keys wait for their rate limit, and for nothing else. */
  const overLimit = new Set<string>();
  const backoff = createBackoff({ shortestMs: minBackoffMs, longestMs: maxBackoffMs, random });
  const drains = createDrainWaiters(() => queues.size);
  let stopped = false;
  let sending = false;
  let failing = false;
  let cancelWait: (() => void) | undefined;
  let cancelRateLimitWait = (): void => {};

  const workAfter = (delayMs: number): void => {
    cancelWait = clock.after(delayMs, () => {
      cancelWait = undefined;
      void work();
    });
  };
  const work = async (): Promise<void> => {
    if (sending || stopped || cancelWait !== undefined) return;
    sending = true;
    cancelRateLimitWait();
    let isAccepted = true;
    while (queues.size > 0 && !stopped) {
      const batch = queues.next(
        batchSize,
        limiter && ((logicalCluster) => limiter.allowed(logicalCluster, clock.monotonicMs())),
      );
      if (batch.length === 0) break;
      try {
        await queue.send(batch.map(({ item }) => item));
      } catch (error) {
        isAccepted = false;
        failing = true;
        const retryInMs = backoff.nextMs();
        onFailure?.(error, { keys: queues.size, retryInMs });
        workAfter(retryInMs);
        break;
      }
      failing = false;
      backoff.reset();
      for (const { item } of batch) limiter?.spend(item.key.logicalCluster, 1, clock.monotonicMs());
      queues.remove(batch);
    }
    sending = false;
    overLimit.clear();
    if (isAccepted) waitForRateLimit();
    resolveIfDrained();
  };
  /** When the queue accepted everything that was allowed, all remaining keys are over a rate limit. */
  const waitForRateLimit = (): void => {
    for (const logicalCluster of queues.logicalClusters()) overLimit.add(logicalCluster);
    if (overLimit.size === 0 || limiter === undefined || stopped) return;
    cancelRateLimitWait = clock.after(Math.max(limiter.msPerKey, minRateLimitWaitMs), () => void work());
  };
  const limited = (): number => {
    let keys = 0;
    for (const logicalCluster of overLimit) keys += queues.sizeOf(logicalCluster);
    return keys;
  };
  const resolveIfDrained = (): void => {
    if (queues.size === limited()) drains.resolveAll();
  };

  return {
    add: (added) => {
      const nowMs = clock.monotonicMs();
      for (const item of added) queues.add(item, nowMs);
      // All of these wait for a rate limit, and a timer for them is running.
      if (overLimit.size > 0 && added.every(({ key }) => overLimit.has(key.logicalCluster))) return;
      if (gatherMs > 0 && !sending && !stopped && cancelWait === undefined && queues.size > 0) workAfter(gatherMs);
      else void work();
    },
    drop: (logicalCluster) => {
      queues.drop(logicalCluster);
      overLimit.delete(logicalCluster);
      limiter?.forget(logicalCluster);
      if (!sending) resolveIfDrained();
    },
    get size() {
      return queues.size;
    },
    get limited() {
      return limited();
    },
    oldestAgeSeconds: () => {
      const nowMs = clock.monotonicMs();
      return (nowMs - (queues.oldestMs((logicalCluster) => overLimit.has(logicalCluster)) ?? nowMs)) / 1000;
    },
    get isFailing() {
      return failing && queues.size > 0;
    },
    drain: (signal) => {
      if (queues.size === 0 || stopped || signal.aborted) return Promise.resolve(queues.size);
      const drained = drains.wait(signal);
      // The process is ending: it does not wait for the backoff.
      cancelWait?.();
      cancelWait = undefined;
      void work();
      return drained;
    },
    stop: () => {
      stopped = true;
      cancelRateLimitWait();
      cancelWait?.();
      cancelWait = undefined;
      drains.resolveAll();
    },
  };
}

type DrainWaiters = Readonly<{
  /** Resolves at the next `resolveAll`, or when the signal aborts; returns the size at that time. */
  wait(signal: AbortSignal): Promise<number>;
  resolveAll(): void;
}>;

function createDrainWaiters(size: () => number): DrainWaiters {
  const waiters = new Set<() => void>();
  return {
    wait: (signal) =>
      new Promise((resolve) => {
        const done = (): void => {
          signal.removeEventListener("abort", done);
          waiters.delete(done);
          resolve(size());
        };
        signal.addEventListener("abort", done, { once: true });
        waiters.add(done);
      }),
    resolveAll: () => {
      for (const resolve of [...waiters]) resolve();
    },
  };
}
