import { createBackoff } from "../backoff.ts";
import type { Collection, KubeClient, SelectOptions } from "../client.ts";
import { type Clock, systemClock } from "../clock.ts";
import { createDeadline, delay } from "../deadline.ts";
import { ApiError } from "../errors.ts";
import type { Fault } from "../fault.ts";
import type { KubeObject } from "../kube-object.ts";
import { formatTarget } from "../paths.ts";
import { defaultTimeoutMs } from "../transport/exchange.ts";

/** An event of an endless watch. */
export type EndlessWatchEvent<T = KubeObject> =
  /**
   * The complete list: at the start, and whenever the watch could not be resumed. An object that is missing from the list
   * is not necessarily deleted, because another server, selector or permission gives another list. Read the object from the
   * server before you act on its absence: not seen is not gone.
   */
  | Readonly<{ type: "listed"; objects: readonly T[]; resourceVersion: string }>
  | Readonly<{ type: "changed"; object: T }>
  /** The object's last state. */
  | Readonly<{ type: "deleted"; object: T }>
  /** The watch has reported everything up to this resourceVersion. */
  | Readonly<{ type: "bookmark"; resourceVersion: string }>
  /** A list or a watch failed; the endless watch continues after `retryInMs`. */
  | Readonly<{ type: "failed"; error: ApiError; retryInMs: number }>;

export type EndlessWatchOptions = SelectOptions &
  Readonly<{
    /** Ends the iteration at once, without an error. */
    signal: AbortSignal;
    /**
     * Lists again about this often, with some jitter, even without a failure: a kcp watch of a type that was not served
     * when the watch began never reports anything. @default never
     */
    relistSeconds?: number | undefined;
    /** @default 500 */
    pageSize?: number | undefined;
    /** Called for each watch that the server has accepted; an earlier failure is then over. */
    onOpen?: (() => void) | undefined;
    clock?: Clock | undefined;
    random?: (() => number) | undefined;
  }>;

/** A watch that continues until its signal is aborted. It can be iterated once. */
export interface EndlessWatch<T = KubeObject> extends AsyncIterable<EndlessWatchEvent<T>> {
  /** Lists again now; ends the current watch or pause. */
  relist(): void;
}

const shortestPauseMs = 1_000;
const longestPauseMs = 30_000;
/** A longer Retry-After is shortened to this. */
const longestRetryAfterMs = 60_000;
/** The server ends a watch after 240 to 300 seconds, so that not all watches end at the same time. */
const shortestWatchSeconds = 240;
const watchSpreadSeconds = 60;
/** A watch that ends sooner than this without an event did not end because of its age. */
const quickEndMs = 1_000;
/** An attempt that is older than this was accepted: a call waits no longer than that for its headers. */
const surelyOpenMs = defaultTimeoutMs;

/** Faults after which the watch can be resumed from the same resourceVersion: the server did not judge that version. */
const keepingPosition: ReadonlySet<Fault> = new Set(["unreachable", "throttled", "forbidden", "unauthorized"]);

/**
 * Lists a collection, then watches it until the signal is aborted.
 *
 * A watch that ends or is cut resumes from the last resourceVersion it saw, bookmarks included. The collection is listed
 * again only if the server has compacted that version (410), or no longer serves the type. No failure ends the watch: each
 * is reported as `failed`, followed by a pause that grows from 1 to 30 seconds or is the server's Retry-After.
 *
 * It reads as fast as it is iterated and buffers no events. A slow consumer should put events into a queue of its own,
 * keyed by object: servers cut a watch that does not keep up.
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

  let needsList = true;
  let version = "";
  /** Consecutive attempts that ended at once or with 410, without an event. */
  let emptyAttempts = 0;
  let interrupt = (): void => {};
  let cancelRelistTimer = (): void => {};
  const relist = (): void => {
    needsList = true;
    interrupt();
  };

  async function* listNow(attemptSignal: AbortSignal): AsyncGenerator<EndlessWatchEvent<T>, void, undefined> {
    needsList = false;
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
      needsList = true;
      throw error;
    }
  }

  async function* watchNow(attemptSignal: AbortSignal): AsyncGenerator<EndlessWatchEvent<T>, void, undefined> {
    const startedAt = clock.monotonicMs();
    const events = client.watch<T>(collection, {
      labelSelector,
      fieldSelector,
      resourceVersion: version,
      timeoutSeconds: Math.round(shortestWatchSeconds + random() * watchSpreadSeconds),
      allowWatchBookmarks: true,
      onOpen: options.onOpen,
      signal: attemptSignal,
    });
    let hasEvents = false;
    try {
      for await (const event of events) {
        hasEvents = true;
        emptyAttempts = 0;
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
      const wasOpen = hasEvents || clock.monotonicMs() - startedAt > surelyOpenMs;
      if (hasEvents) backoff.reset();
      // An open stream that was cut is treated like one that ended.
      if (!(cut && wasOpen)) throw error;
      return;
    }
    if (hasEvents || clock.monotonicMs() - startedAt >= quickEndMs) {
      backoff.reset();
      emptyAttempts = 0;
    } else if (++emptyAttempts > 1) {
      const message = `watch ${formatTarget(collection)}: ended at once without an event`;
      throw new ApiError("unreachable", message, { network: "reset" });
    }
  }

  const decidePauseMs = (error: ApiError): number => {
    if (!keepingPosition.has(error.fault)) needsList = true;
    // At once, unless the version that was just listed is already too old: that would loop without a pause.
    if (error.fault === "expired" && ++emptyAttempts <= 1) return 0;
    if (error.retryAfterSeconds === undefined) return backoff.nextMs();
    return Math.min(longestRetryAfterMs, Math.round(error.retryAfterSeconds * 1000 + random() * shortestPauseMs));
  };

  async function* run(): AsyncGenerator<EndlessWatchEvent<T>, void, undefined> {
    try {
      while (!signal.aborted) {
        const attempt = createDeadline(clock, { signal, timeoutMs: undefined });
        interrupt = () => attempt.cancel(new Error("interrupted to list again"));
        try {
          yield* needsList ? listNow(attempt.signal) : watchNow(attempt.signal);
        } catch (error) {
          if (signal.aborted) return;
          if (attempt.signal.aborted) continue; // by us, to list again
          if (!(error instanceof ApiError)) throw error;
          const retryInMs = decidePauseMs(error);
          yield { type: "failed", error, retryInMs };
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
