import type { Clock } from "@tmc/kube/clock.ts";
import { unlessAborted } from "@tmc/kube/deadline.ts";

/** A value that was read, and how long it may be served from the cache. */
export type CacheRead<T> = Readonly<{ value: T; ttlMs: number }>;

/** A cache with a TTL per entry, for values that are expensive to read. */
export interface ExpiringCache<T> {
  /** Returns the cached value, or reads it. Concurrent calls share one read. */
  get(id: string, read: () => Promise<CacheRead<T>>, signal: AbortSignal): Promise<T>;
  /** The next `get` reads again, even if a read is in flight now. */
  invalidate(id: string): void;
}

export type ExpiringCacheOptions = Readonly<{
  clock: Clock;
  /** Jitters the TTL, so that entries do not all expire at once. */
  random: () => number;
  /** Maximum number of entries; the least recently used is evicted first. @default 5000 */
  capacity?: number | undefined;
  /** Whether an expired value is still served if reading it again fails. An invalidated value never is. @default false */
  serveStaleOnError?: boolean | undefined;
}>;

/**
 * About 5 KB per entry, 25 MB in total. A capacity below the number of clusters would make every probe read its secret, and
 * AWS charges for each read.
 */
const defaultCapacity = 5_000;
/** How long a stale value is served after a failed read before the next attempt. */
const retryAfterFailureMs = 10_000;

/** A read in flight. After `invalidate` it is no longer in the map, and its result is not cached. */
type InFlightRead<T> = { result: Promise<T> | undefined };

export function createExpiringCache<T>(options: ExpiringCacheOptions): ExpiringCache<T> {
  const { clock, random, capacity = defaultCapacity, serveStaleOnError = false } = options;
  const entries = new Map<string, Readonly<{ value: T; untilMs: number }>>();
  const reads = new Map<string, InFlightRead<T>>();

  const store = (id: string, entry: Readonly<{ value: T; untilMs: number }>): void => {
    entries.delete(id); // insertion order is the order of use
    entries.set(id, entry);
    for (const oldest of entries.keys()) {
      if (entries.size <= capacity) return;
      entries.delete(oldest);
    }
  };

  const startRead = (id: string, read: () => Promise<CacheRead<T>>): Promise<T> => {
    const current: InFlightRead<T> = { result: undefined };
    reads.set(id, current);
    const isCurrent = (): boolean => reads.get(id) === current;
    const answer = (async () => {
      try {
        const { value, ttlMs } = await read();
        if (isCurrent()) store(id, { value, untilMs: clock.monotonicMs() + ttlMs * (0.8 + 0.2 * random()) });
        return value;
      } catch (error) {
        const old = entries.get(id);
        if (!serveStaleOnError || old === undefined || !isCurrent()) throw error;
        store(id, { value: old.value, untilMs: clock.monotonicMs() + retryAfterFailureMs });
        return old.value;
      } finally {
        if (isCurrent()) reads.delete(id);
      }
    })();
    current.result = answer;
    return answer;
  };

  return {
    get: (id, read, signal) => {
      const entry = entries.get(id);
      if (entry !== undefined && entry.untilMs > clock.monotonicMs()) {
        store(id, entry);
        return Promise.resolve(entry.value);
      }
      return unlessAborted(reads.get(id)?.result ?? startRead(id, read), signal);
    },
    invalidate: (id) => {
      entries.delete(id);
      reads.delete(id);
    },
  };
}
