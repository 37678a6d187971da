import { createBackoff } from "./backoff.ts";
import type { Collection, KubeClient, SelectOptions } from "./client.ts";
import { type Clock, systemClock } from "./clock.ts";
import { createDeadline, delay } from "./deadline.ts";
import { ApiError } from "./errors.ts";
import { defaultTimeoutMs } from "./exchange.ts";
import type { Fault } from "./fault.ts";
import type { KubeObject } from "./kube-object.ts";
import { formatTarget } from "./paths.ts";

/** What an endless watch tells its consumer. */
export type EndlessWatchEvent<T = KubeObject> =
  /**
   * All that there is, as one event: at the start, and whenever the thread was lost. What a consumer knows and does not
   * find here has vanished from this list; that alone does not say it is gone. Another server, selector or right gives
   * another list, so ask for the object itself before acting on its absence: not seen is not gone.
   */
  | Readonly<{ type: "listed"; objects: readonly T[]; resourceVersion: string }>
  | Readonly<{ type: "changed"; object: T }>
  /** The object's last state. */
  | Readonly<{ type: "deleted"; object: T }>
  /** Everything up to this resourceVersion has been told. */
  | Readonly<{ type: "bookmark"; resourceVersion: string }>
  /** Something failed; the watch goes on by itself after the time given. */
  | Readonly<{ type: "trouble"; error: ApiError; retryInMs: number }>;

export type EndlessWatchOptions = SelectOptions &
  Readonly<{
    /** Ends the iteration, quietly and at once. */
    signal: AbortSignal;
    /**
     * Lists again about this often, even when all seems well: a kcp watch of a type that nobody served when it began
     * stays silent for ever. Some jitter is added. @default never
     */
    relistSeconds?: number | undefined;
    /** @default 500 */
    pageSize?: number | undefined;
    /** Hears of each watch that the server has taken: after trouble, it is over. */
    onOpen?: (() => void) | undefined;
    clock?: Clock | undefined;
    random?: (() => number) | undefined;
  }>;

/** A watch that goes on until its signal ends it. It is iterated once. */
export interface EndlessWatch<T = KubeObject> extends AsyncIterable<EndlessWatchEvent<T>> {
  /** Lists again now, without waiting for the end of a watch or of a pause. */
  relist(): void;
}

const shortestPauseMs = 1_000;
const longestPauseMs = 30_000;
/** No server may send us away for longer than this. */
const longestRetryAfterMs = 60_000;
/** A watch is ended by the server after 240 to 300 seconds: not all of them in the same moment. */
const shortestWatchSeconds = 240;
const watchSpreadSeconds = 60;
/** A watch that ends sooner than this and told nothing was not ended for its age. */
const quickEndMs = 1_000;
/** An attempt older than this was answered: a call waits no longer than that for its headers. */
const surelyOpenMs = defaultTimeoutMs;

/** Faults after which the place in the stream is still good: the server was not asked, or not willing, to go on from it. */
const keepingPosition: ReadonlySet<Fault> = new Set(["unreachable", "throttled", "forbidden", "unauthorized"]);

/**
 * Lists a collection, then watches it for ever.
 *
 * A watch that ends or is cut goes on from the last resourceVersion it saw, bookmarks included; only when the server has
 * forgotten that (410), or no longer serves the type, is everything listed again. No failure ends it: each is told as
 * `trouble`, with a pause that grows from 1 to 30 seconds or is the one that the server asked for.
 *
 * It reads as fast as it is iterated and keeps no events. A consumer that works slowly should take events into a queue
 * of its own, keyed by object: a server cuts a watch that does not keep up.
 */
export function watchForever<T extends KubeObject = KubeObject>(
  client: Pick<KubeClient, "listAll" | "watch">,
  collection: Collection,
  options: EndlessWatchOptions,
): EndlessWatch<T> {
  const { signal, labelSelector, fieldSelector } = options;
  const clock = options.clock ?? systemClock;
  const random = options.random ?? Math.random;
  const backoff = createBackoff({ shortestMs: shortestPauseMs, longestMs: longestPauseMs, random });

  let listWanted = true;
  let version = "";
  /** Attempts in a row that ended at once or too old, without a single event. */
  let fruitless = 0;
  let interrupt = (): void => {};
  let cancelRelistTimer = (): void => {};
  const relist = (): void => {
    listWanted = true;
    interrupt();
  };

  async function* listNow(attemptSignal: AbortSignal): AsyncGenerator<EndlessWatchEvent<T>, void, undefined> {
    listWanted = false;
    try {
      const selection = { labelSelector, fieldSelector, limit: options.pageSize };
      const list = await client.listAll<T>(collection, { ...selection, signal: attemptSignal });
      version = list.metadata.resourceVersion ?? "";
      cancelRelistTimer();
      if (options.relistSeconds !== undefined) {
        cancelRelistTimer = clock.after(options.relistSeconds * 1000 * (0.9 + 0.2 * random()), relist);
      }
      yield { type: "listed", objects: list.items, resourceVersion: version };
    } catch (error) {
      listWanted = true;
      throw error;
    }
  }

  async function* watchNow(attemptSignal: AbortSignal): AsyncGenerator<EndlessWatchEvent<T>, void, undefined> {
    const startedAt = clock.now();
    const events = client.watch<T>(collection, {
      labelSelector,
      fieldSelector,
      resourceVersion: version,
      timeoutSeconds: Math.round(shortestWatchSeconds + random() * watchSpreadSeconds),
      allowWatchBookmarks: true,
      onOpen: options.onOpen,
      signal: attemptSignal,
    });
    let told = false;
    try {
      for await (const event of events) {
        told = true;
        fruitless = 0;
        if (event.type === "BOOKMARK") {
          version = event.resourceVersion;
          yield { type: "bookmark", resourceVersion: version };
        } else {
          version = event.object.metadata.resourceVersion ?? version;
          yield { type: event.type === "DELETED" ? "deleted" : "changed", object: event.object };
        }
      }
    } catch (error) {
      const cut = error instanceof ApiError && (error.network === "reset" || error.network === "timeout");
      const wasOpen = told || clock.now() - startedAt > surelyOpenMs;
      if (told) backoff.reset();
      // An open stream that was cut is as good as one that ended.
      if (!(cut && wasOpen)) throw error;
      return;
    }
    if (told || clock.now() - startedAt >= quickEndMs) {
      backoff.reset();
      fruitless = 0;
    } else if (++fruitless > 1) {
      const message = `watch ${formatTarget(collection)}: ended at once, and told nothing`;
      throw new ApiError("unreachable", message, { network: "reset" });
    }
  }

  const decidePauseMs = (error: ApiError): number => {
    if (!keepingPosition.has(error.fault)) listWanted = true;
    // Straight away, unless what was just listed is too old already: that would go on without an end.
    if (error.fault === "expired" && ++fruitless <= 1) return 0;
    if (error.retryAfterSeconds === undefined) return backoff.nextMs();
    return Math.min(longestRetryAfterMs, Math.round(error.retryAfterSeconds * 1000 + random() * shortestPauseMs));
  };

  async function* run(): AsyncGenerator<EndlessWatchEvent<T>, void, undefined> {
    try {
      while (!signal.aborted) {
        const attempt = createDeadline(clock, { signal, timeoutMs: undefined });
        interrupt = () => attempt.cancel(new Error("interrupted to list again"));
        try {
          yield* listWanted ? listNow(attempt.signal) : watchNow(attempt.signal);
        } catch (error) {
          if (signal.aborted) return;
          if (attempt.signal.aborted) continue; // by us, to list again
          if (!(error instanceof ApiError)) throw error;
          const retryInMs = decidePauseMs(error);
          yield { type: "trouble", error, retryInMs };
          if (retryInMs > 0) await delay(clock, retryInMs, attempt.signal);
        } finally {
          attempt.end();
        }
      }
    } finally {
      cancelRelistTimer();
      interrupt = () => {};
    }
  }

  return { [Symbol.asyncIterator]: run, relist };
}
