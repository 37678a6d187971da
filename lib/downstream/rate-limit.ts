import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { neverAborted } from "@tmc/kube/deadline.ts";

/** A token bucket: how many requests a cluster gets. */
export type RateLimit = Readonly<{
  perSecond: number;
  /** The capacity of the bucket: how many requests are sent at once after an idle time. */
  burst: number;
}>;

/**
 * Far below the capacity of an API server, and above what the rollouts of one tenant need. Servers protect themselves by priority
 * and fairness, and the client respects their 429. This limit keeps TMC from reaching that point.
 */
export const defaultRateLimit: RateLimit = { perSecond: 200, burst: 400 };

/** Waits for a token; rejects with the signal's reason if that aborts first. */
export type AcquireToken = (signal: AbortSignal) => Promise<void>;

/** Creates the token bucket of one cluster. Callers get tokens in the order of their calls. */
export function createRateLimiter({ perSecond, burst }: RateLimit, clock: Clock): AcquireToken {
  let tokens = burst;
  let filledMs = clock.monotonicMs();
  const waiting = new Set<() => void>();
  let cancelTimer: (() => void) | undefined;

  const fill = (): void => {
    const nowMs = clock.monotonicMs();
    tokens = Math.min(burst, tokens + ((nowMs - filledMs) * perSecond) / 1000);
    filledMs = nowMs;
  };
  const serve = (): void => {
    cancelTimer = undefined;
    fill();
    for (const grant of waiting) {
      if (tokens < 1) break;
      tokens -= 1;
      waiting.delete(grant);
      grant();
    }
    schedule();
  };
  /** Sets a timer for the next token if a caller waits for it. */
  const schedule = (): void => {
    if (waiting.size === 0 || cancelTimer !== undefined) return;
    cancelTimer = clock.after(Math.ceil(((1 - tokens) * 1000) / perSecond), serve);
  };

  return (signal) => {
    if (signal.aborted) return Promise.reject(signal.reason);
    fill();
    if (waiting.size === 0 && tokens >= 1) {
      tokens -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const abandon = (): void => {
        waiting.delete(grant);
        if (waiting.size === 0) {
          cancelTimer?.();
          cancelTimer = undefined;
        }
        reject(signal.reason);
      };
      const grant = (): void => {
        signal.removeEventListener("abort", abandon);
        resolve();
      };
      signal.addEventListener("abort", abandon, { once: true });
      waiting.add(grant);
      schedule();
    });
  };
}

/** The requests that TMC sends to clusters. */
export type RateLimitedClient = Pick<
  KubeClient,
  "server" | "get" | "list" | "listAll" | "create" | "patch" | "delete" | "raw"
> &
  Readonly<{ metadata: Pick<KubeClient["metadata"], "get" | "list"> }>;

/** Returns a client that waits for a token before each request. The timeout of a request starts after that. */
export function rateLimitedClient(client: KubeClient, acquire: AcquireToken, callSeconds?: number): RateLimitedClient {
  type Limits = Readonly<{ signal?: AbortSignal | undefined; timeoutMs?: number | undefined }>;
  const limited = async <O extends Limits, T>(options: O | undefined, call: (options: O) => Promise<T>): Promise<T> => {
    await acquire(options?.signal ?? neverAborted);
    const timeoutMs = options?.timeoutMs ?? (callSeconds === undefined ? undefined : callSeconds * 1000);
    // All fields of these options are optional.
    return call({ ...options, timeoutMs } as O);
  };
  return {
    server: client.server,
    get: (address, options) => limited(options, (given) => client.get(address, given)),
    list: (collection, options) => limited(options, (given) => client.list(collection, given)),
    listAll: (collection, options) => limited(options, (given) => client.listAll(collection, given)),
    create: (collection, object, options) => limited(options, (given) => client.create(collection, object, given)),
    patch: (address, patch, options) => limited(options, (given) => client.patch(address, patch, given)),
    delete: (address, options) => limited(options, (given) => client.delete(address, given)),
    raw: (method, path, options) => limited(options, (given) => client.raw(method, path, given)),
    metadata: {
      get: (address, options) => limited(options, (given) => client.metadata.get(address, given)),
      list: (collection, options) => limited(options, (given) => client.metadata.list(collection, given)),
    },
  };
}
