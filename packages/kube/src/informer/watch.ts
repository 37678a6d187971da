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
  /**
   * Lists again soon: the server may not be what it was. No more often than once a minute, and for at most a tenth of the
   * time; several calls cause one list.
   */
  relistSoon(): void;
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
/** A watch that the server ends because of its age ends no more than this before the time that was asked for. */
const earlyEndMs = 1_000;
/** After an interruption, a list follows the last one after at least this time, or this many times as long as the last took. */
const shortestRelistMs = 60_000;
const relistPauseFactor = 10;
/** The relists of all watches that were interrupted together are spread over this time. */
const relistSpreadMs = 5_000;
/** An attempt that is older than this was accepted: a call waits no longer than that for its headers. */
const surelyOpenMs = defaultTimeoutMs;

/** Faults after which the watch can be resumed from the same resourceVersion: the server did not judge that version. */
const keepingPosition: ReadonlySet<Fault> = new Set(["unreachable", "throttled", "forbidden", "unauthorized"]);

/**
 * Lists a collection, then watches it until the signal is aborted.
 *
 * A watch that ends or is cut resumes from the last resourceVersion it saw, bookmarks included. The collection is listed
 * again if the server has compacted that version (410), or no longer serves the type. No failure ends the watch: each is
 * reported as `failed`, followed by a pause that grows from 1 to 30 seconds or is the server's Retry-After.
 *
 * A watch that was interrupted, and did not just reach the age that was asked for, resumes as well, and the collection is
 * listed again soon. The server may have been restored from a backup: the version that the watch resumes from is then of
 * another history, a watch from a version in the future reports nothing, and no server says so.
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
  let isWatching = false;
  let version = "";
  /** Consecutive attempts that ended at once or with 410, without an event. */
  let emptyAttempts = 0;
  let interrupt = (): void => {};
  const listAgain = ({ isUrgent }: Readonly<{ isUrgent: boolean }>): void => {
    needsList = true;
    // After an interruption a pause is not shortened: the server is down.
    if (isUrgent || isWatching) interrupt();
  };
  const relists = createRelistTimer({ clock, random, everySeconds: options.relistSeconds, relist: listAgain });
  const relistSoon = (): void => (needsList ? undefined : relists.soon());

  async function* listNow(attemptSignal: AbortSignal): AsyncGenerator<EndlessWatchEvent<T>, void, undefined> {
    needsList = false;
    const startedMs = clock.monotonicMs();
    try {
      const selection = { labelSelector, fieldSelector, limit: options.pageSize, signal: attemptSignal };
      const list = await client.listAll<T>(collection, selection);
      version = list.metadata.resourceVersion ?? "";
      relists.listed(startedMs);
      yield { type: "listed", objects: list.items, resourceVersion: version };
    } catch (error) {
      needsList = true;
      throw error;
    }
  }

  async function* watchNow(attemptSignal: AbortSignal): AsyncGenerator<EndlessWatchEvent<T>, void, undefined> {
    const startedAt = clock.monotonicMs();
    const timeoutSeconds = Math.round(shortestWatchSeconds + random() * watchSpreadSeconds);
    const events = client.watch<T>(collection, {
      labelSelector,
      fieldSelector,
      resourceVersion: version,
      timeoutSeconds,
      allowWatchBookmarks: true,
      onOpen: options.onOpen,
      signal: attemptSignal,
    });
    let hasEvents = false;
    isWatching = true;
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
      const wasOpen = hasEvents || clock.monotonicMs() - startedAt > surelyOpenMs;
      if (hasEvents) backoff.reset();
      // An open stream that was cut is treated like one that ended.
      if (!(wasOpen && isCut(error))) throw error;
      relistSoon();
      return;
    } finally {
      isWatching = false;
    }
    if (clock.monotonicMs() - startedAt < timeoutSeconds * 1000 - earlyEndMs) relistSoon();
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
    else if (error.fault === "unreachable") relistSoon();
    // At once, unless the version that was just listed is already too old: that would loop without a pause.
    if (error.fault === "expired" && ++emptyAttempts <= 1) return 0;
    return retryAfterMs(error, random) ?? backoff.nextMs();
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
      relists.stop();
      interrupt = () => {};
    }
  }

  return { [Symbol.asyncIterator]: run, relist: () => listAgain({ isUrgent: true }), relistSoon };
}

function isCut(error: unknown): boolean {
  return error instanceof ApiError && (error.network === "reset" || error.network === "timeout");
}

/** How long the server asks to wait, with some jitter; undefined if it does not. */
function retryAfterMs({ retryAfterSeconds }: ApiError, random: () => number): number | undefined {
  if (retryAfterSeconds === undefined) return undefined;
  return Math.min(longestRetryAfterMs, Math.round(retryAfterSeconds * 1000 + random() * shortestPauseMs));
}

type RelistTimerOptions = Readonly<{
  clock: Clock;
  random: () => number;
  everySeconds: number | undefined;
  /** `isUrgent` is false after an interruption. */
  relist: (options: Readonly<{ isUrgent: boolean }>) => void;
}>;

/** Decides when a collection is listed again: about every `everySeconds`, and earlier after an interruption. */
function createRelistTimer({ clock, random, everySeconds, relist }: RelistTimerOptions) {
  let cancel = (): void => {};
  /** No list follows the last one before this time because of an interruption. */
  let notBeforeMs = clock.monotonicMs();
  let isInterrupted = false;
  let isStopped = false;
  const set = (afterMs: number, isUrgent: boolean): void => {
    cancel();
    if (isStopped) return;
    cancel = clock.after(afterMs, () => relist({ isUrgent }));
  };
  return {
    /** A list has ended that started at this time. */
    listed: (startedMs: number): void => {
      const nowMs = clock.monotonicMs();
      notBeforeMs = nowMs + Math.max(shortestRelistMs, (nowMs - startedMs) * relistPauseFactor);
      isInterrupted = false;
      cancel();
      if (everySeconds !== undefined) set(everySeconds * 1000 * (0.9 + 0.2 * random()), true);
    },
    /** The watch was interrupted. */
    soon: (): void => {
      if (isInterrupted) return;
      isInterrupted = true;
      const waitMs = Math.max(0, notBeforeMs - clock.monotonicMs()) + Math.round(random() * relistSpreadMs);
      set(waitMs, false);
    },
    stop: (): void => {
      isStopped = true;
      cancel();
    },
  };
}
