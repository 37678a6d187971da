import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { neverAborted } from "@tmc/kube/deadline.ts";

/** How many calls a cluster gets. */
export type CallRate = Readonly<{
  perSecond: number;
  /** So many may come at once after a quiet time. */
  burst: number;
}>;

/**
 * Far below what a server bears, and above what one tenant's roll-outs need: servers guard themselves by priority and fairness,
 * and their 429 is heeded. It keeps one client from being what they have to guard themselves against.
 */
export const defaultCallRate: CallRate = { perSecond: 200, burst: 400 };

/** Waits for the turn of a call; fails with the signal's reason when that comes first. */
export type Turn = (signal: AbortSignal) => Promise<void>;

/** Creates the turns of one cluster: a bucket of tokens that fills by itself, and those who wait in the order they came. */
export function createTurns({ perSecond, burst }: CallRate, clock: Clock): Turn {
  let tokens = burst;
  let filledMs = clock.now();
  const waiting = new Set<() => void>();
  let cancelTimer: (() => void) | undefined;

  const fill = (): void => {
    const nowMs = clock.now();
    // A clock that was set back gives nothing, and takes nothing.
    tokens = Math.min(burst, tokens + (Math.max(0, nowMs - filledMs) * perSecond) / 1000);
    filledMs = nowMs;
  };
  const serve = (): void => {
    cancelTimer = undefined;
    fill();
    for (const go of waiting) {
      if (tokens < 1) break;
      tokens -= 1;
      waiting.delete(go);
      go();
    }
    wakeNext();
  };
  /** Wakes the next one when there is a token. */
  const wakeNext = (): void => {
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
      const leave = (): void => {
        waiting.delete(go);
        if (waiting.size === 0) {
          cancelTimer?.();
          cancelTimer = undefined;
        }
        reject(signal.reason);
      };
      const go = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      signal.addEventListener("abort", leave, { once: true });
      waiting.add(go);
      wakeNext();
    });
  };
}

/** The calls that are made on clusters. */
export type PacedClient = Pick<
  KubeClient,
  "server" | "get" | "list" | "listAll" | "create" | "patch" | "delete" | "raw"
> &
  Readonly<{ metadata: Pick<KubeClient["metadata"], "get" | "list"> }>;

/** A client whose every call waits for its turn. The time that a call may take counts from then on. */
export function pacedClient(client: KubeClient, turn: Turn, callSeconds?: number): PacedClient {
  type Limits = Readonly<{ signal?: AbortSignal | undefined; timeoutMs?: number | undefined }>;
  const paced = async <O extends Limits, T>(options: O | undefined, call: (limited: O) => Promise<T>): Promise<T> => {
    await turn(options?.signal ?? neverAborted);
    const timeoutMs = options?.timeoutMs ?? (callSeconds === undefined ? undefined : callSeconds * 1000);
    // Every field of these options may be left out.
    return call({ ...options, timeoutMs } as O);
  };
  return {
    server: client.server,
    get: (address, options) => paced(options, (limited) => client.get(address, limited)),
    list: (collection, options) => paced(options, (limited) => client.list(collection, limited)),
    listAll: (collection, options) => paced(options, (limited) => client.listAll(collection, limited)),
    create: (collection, object, options) => paced(options, (limited) => client.create(collection, object, limited)),
    patch: (address, patch, options) => paced(options, (limited) => client.patch(address, patch, limited)),
    delete: (address, options) => paced(options, (limited) => client.delete(address, limited)),
    raw: (method, path, options) => paced(options, (limited) => client.raw(method, path, limited)),
    metadata: {
      get: (address, options) => paced(options, (limited) => client.metadata.get(address, limited)),
      list: (collection, options) => paced(options, (limited) => client.metadata.list(collection, limited)),
    },
  };
}
