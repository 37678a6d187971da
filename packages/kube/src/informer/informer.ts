import type { Collection, KubeClient, ListOptions, WatchEvent, WatchOptions } from "../client.ts";
import type { Clock } from "../clock.ts";
import { delay, neverAborted, unlessAborted } from "../deadline.ts";
import { ApiError, faultOf } from "../errors.ts";
import { ControllerError } from "../fault.ts";
import type { KubeList, KubeObject, ResourceType } from "../kube-object.ts";
import type { Attempt, ConnectionGate } from "./connection-gate.ts";
import { type ObjectStore, objectId } from "./object-store.ts";
import { listByPages, type Watchable } from "./paged-list.ts";
import { type EndlessWatch, watchForever } from "./watch.ts";

/** What an informer needs of a client. */
export type InformerClient = Pick<KubeClient, "list" | "listAll" | "watch">;

export type InformerOptions = Readonly<{
  /**
   * The client, or a function that returns the client for the next list or watch. A watch continues only with the client
   * that listed; with any other one the informer lists again first, because it may lead to another server.
   */
  client: InformerClient | ((signal: AbortSignal) => Promise<InformerClient>);
  type: ResourceType;
  labelSelector?: string | undefined;
  /** Applied to each object before the handler gets it; a list is transformed page by page. @default the object itself */
  transform?: ((object: KubeObject) => KubeObject) | undefined;
  /**
   * Whether the type may be missing. If so, 404 and 403 count as an empty collection, and the informer asks again after
   * 10 seconds, then less and less often. @default false
   */
  isOptional?: boolean | undefined;
  /** Lists again about this often, so that a watch that missed something recovers. @default never */
  relistSeconds?: number | undefined;
  /** Awaited between the first page of a list and the second. @default nothing */
  beforeSecondPage?: (() => Promise<void>) | undefined;
  /** Shared by the informers of one server. @default each informer has its own backoff only */
  gate?: ConnectionGate | undefined;
  clock: Clock;
  random: () => number;
}>;

/** One list of an informer. */
export type ListInfo = Readonly<{
  /** The lists of an informer are numbered in the order in which they begin. */
  number: number;
  /** Undefined when the type is missing. */
  resourceVersion: string | undefined;
}>;

/** Receives what an informer reads. Calls never overlap. */
export interface InformerHandler {
  /** All objects of the collection: at the start, and whenever the informer cannot continue its watch. */
  listed(objects: readonly KubeObject[], list: ListInfo): void;
  /** Called instead of `listed` when an optional type is missing. That does not mean that any object was deleted. */
  absent?(error: ApiError, list: ListInfo): void;
  changed(object: KubeObject): void;
  /** The last state of a deleted object. */
  deleted(object: KubeObject): void;
  /** The watch has reported everything up to this version. */
  bookmark?(resourceVersion: string): void;
  /** The server accepted a watch. `isResumed` is false for the first watch after a list. */
  opened?(watch: Readonly<{ isResumed: boolean }>): void;
  /** A list or a watch failed; the informer continues after `retryInMs`. `downMs`: for how long no watch has been open. */
  failed?(failure: Readonly<{ error: unknown; retryInMs: number; downMs: number }>): void;
}

/** A running informer. */
export interface Informer {
  /** Lists again now. */
  relist(): void;
  /** Lists again soon, because the server may not be what it was; limited as in `EndlessWatch.relistSoon`. */
  relistSoon(): void;
  /** How many lists have begun. A list with a greater number begins later. */
  readonly listsBegun: number;
  /** For how long no watch has been open; 0 while one is. */
  readonly downMs: number;
  /** Resolves after the first list, the first failure, or the end of the informer; rejects when `signal` is aborted. */
  whenListed(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Lists a collection by pages and watches it until it is stopped.
 *
 * A watch that ends is resumed from the last resourceVersion, bookmarks included. The collection is listed again after 410,
 * after a change of the client, soon after an interruption of the watch (the server may have been restored from a backup),
 * and every `relistSeconds`. No failure ends the informer; `watchForever` has the backoff.
 */
export function startInformer(options: InformerOptions, handler: InformerHandler): Informer {
  const { type, labelSelector, relistSeconds, clock, random, transform = identity } = options;
  const end = new AbortController();
  const firstList = Promise.withResolvers<void>();
  let listsBegun = 0;
  let downSinceMs: number | undefined = clock.monotonicMs();
  let endless: EndlessWatch | undefined;
  const downMs = (): number => (downSinceMs === undefined ? 0 : clock.monotonicMs() - downSinceMs);

  const source = createSource(options, transform, {
    onList: () => {
      listsBegun += 1;
    },
    onClosed: () => {
      downSinceMs ??= clock.monotonicMs();
    },
  });
  const tolerant = options.isOptional === true ? tolerateAbsence(source, clock) : undefined;

  const handleList = (objects: readonly KubeObject[], resourceVersion: string): void => {
    const missing = tolerant?.missing();
    if (missing === undefined) handler.listed(objects, { number: listsBegun, resourceVersion });
    else handler.absent?.(missing, { number: listsBegun, resourceVersion: undefined });
    firstList.resolve();
  };
  const run = async (): Promise<void> => {
    let isAfterList = false;
    const onOpen = (): void => {
      downSinceMs = undefined;
      handler.opened?.({ isResumed: !isAfterList });
      isAfterList = false;
    };
    endless = watchForever(
      tolerant ?? source,
      { type },
      { labelSelector, signal: end.signal, clock, random, relistSeconds, onOpen },
    );
    for await (const event of endless) {
      switch (event.type) {
        case "listed":
          isAfterList = true;
          handleList(event.objects, event.resourceVersion);
          break;
        case "changed":
          handler.changed(transform(event.object));
          break;
        case "deleted":
          handler.deleted(transform(event.object));
          break;
        case "bookmark":
          handler.bookmark?.(event.resourceVersion);
          break;
        case "failed": {
          const { error, retryInMs } = event;
          // The informer lists again next, and that list reports the state.
          const isExpected = error instanceof ClientChanged || (tolerant !== undefined && error.fault === "not-found");
          if (!isExpected) fail(error, retryInMs);
        }
      }
    }
  };
  const fail = (error: unknown, retryInMs: number): void => {
    firstList.resolve();
    handler.failed?.({ error, retryInMs, downMs: downMs() });
  };
  const stopped = keepRunning(run, { clock, signal: end.signal, onFailure: fail });

  return {
    relist: () => endless?.relist(),
    relistSoon: () => endless?.relistSoon(),
    get listsBegun() {
      return listsBegun;
    },
    get downMs() {
      return downMs();
    },
    whenListed: (signal) => unlessAborted(firstList.promise, signal),
    stop: async () => {
      end.abort();
      firstList.resolve();
      await stopped;
    },
  };
}

/** A handler that keeps a store up to date. */
export function storeHandler<T>(
  store: Pick<ObjectStore<T>, "replace" | "markListed" | "upsert" | "remove" | "bookmark">,
): Required<Pick<InformerHandler, "listed" | "absent" | "changed" | "deleted" | "bookmark">> {
  return {
    listed: (objects, { resourceVersion }) => void store.replace(objects, resourceVersion),
    absent: () => store.markListed(),
    changed: (object) => void store.upsert(object),
    deleted: (object) => store.remove(objectId(object), object.metadata.resourceVersion),
    bookmark: (resourceVersion) => store.bookmark(resourceVersion),
  };
}

const identity = (object: KubeObject): KubeObject => object;

/** The client for this watch is not the one that listed. */
class ClientChanged extends ApiError {}

/** The attempt of an informer without a gate. */
const unguarded: Attempt = { answered: () => {}, failed: () => {}, end: () => {} };

/** Lists by pages and watches, with a client that `open` returns for each attempt. */
function createSource(
  { client, gate, beforeSecondPage }: InformerOptions,
  transform: (object: KubeObject) => KubeObject,
  { onList, onClosed }: Readonly<{ onList: () => void; onClosed: () => void }>,
): Watchable {
  let listedWith: InformerClient | undefined;
  const open = typeof client === "function" ? client : async () => client;

  const begin = async (signal: AbortSignal): Promise<Attempt> => {
    const attempt = gate === undefined ? unguarded : await gate.attempt(signal);
    if (attempt === undefined) throw signal.reason;
    return attempt;
  };
  /** Reports a failed attempt to the gate, and returns the error in a form after which an endless watch continues. */
  const failed = (attempt: Attempt, error: unknown, signal: AbortSignal): unknown => {
    if (signal.aborted) return error;
    const fault = faultOf(error);
    if (fault === "unreachable" || fault === "unauthorized") attempt.failed();
    else attempt.answered();
    if (error instanceof ApiError || !(error instanceof ControllerError)) return error;
    return new ApiError(error.fault, error.message, {}, { cause: error });
  };

  const listAll = async (collection: Collection, options: ListOptions = {}): Promise<KubeList> => {
    const { signal = neverAborted } = options;
    onList();
    const attempt = await begin(signal);
    try {
      const current = await open(signal);
      const list = await listByPages(current, { transform, beforeSecondPage }, collection, options);
      listedWith = current;
      attempt.answered();
      return list;
    } catch (error) {
      throw failed(attempt, error, signal);
    } finally {
      attempt.end();
    }
  };
  async function* watch(
    collection: Collection,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent, void, undefined> {
    const { signal = neverAborted } = options;
    const attempt = await begin(signal);
    try {
      const current = await open(signal);
      if (current !== listedWith) throw new ClientChanged("expired", "another client leads to the server now");
      const onOpen = (): void => {
        attempt.answered();
        options.onOpen?.();
      };
      yield* current.watch(collection, { ...options, onOpen });
    } catch (error) {
      throw failed(attempt, error, signal);
    } finally {
      attempt.end();
      onClosed();
    }
  }
  // A caller names the type of the objects; like the client, these return what the server sends as that type.
  return { listAll: listAll as KubeClient["listAll"], watch: watch as KubeClient["watch"] };
}

/** The first wait for a missing type, after which the informer asks again. A new type is served within seconds. */
const shortestAbsenceMs = 10_000;

/**
 * Turns 404 and 403 of a list into an empty list, and the watch after it into a silent one that ends after a while: it is
 * no failure that a server does not serve an optional type, or does not let us see it.
 */
function tolerateAbsence(
  source: Watchable,
  clock: Clock,
): Watchable & Readonly<{ /** Why the last list was empty. */ missing: () => ApiError | undefined }> {
  let missing: ApiError | undefined;
  let absences = 0;

  const listAll = async (collection: Collection, options?: ListOptions): Promise<KubeList> => {
    try {
      const list = await source.listAll(collection, options);
      missing = undefined;
      absences = 0;
      return list;
    } catch (error) {
      if (!isAbsence(error)) throw error;
      missing = error;
      return { apiVersion: "v1", kind: "List", metadata: {}, items: [] };
    }
  };
  const watch = async function* (collection: Collection, options: WatchOptions = {}) {
    if (missing === undefined) {
      try {
        yield* source.watch(collection, options);
        return;
      } catch (error) {
        throw isAbsence(error) ? listAgain(error) : error;
      }
    }
    options.onOpen?.();
    const longestMs = (options.timeoutSeconds ?? 300) * 1000;
    await delay(clock, Math.min(longestMs, shortestAbsenceMs * 2 ** absences), options.signal ?? neverAborted);
    absences += 1;
    throw listAgain(missing);
  };
  return {
    missing: () => missing,
    // As in `createSource`.
    listAll: listAll as KubeClient["listAll"],
    watch: watch as KubeClient["watch"],
  };
}

function isAbsence(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 404 || error.status === 403);
}

/** An error with the fault after which an endless watch lists again. */
function listAgain(error: ApiError): ApiError {
  return new ApiError("not-found", error.message, { status: error.status, body: error.body }, { cause: error });
}

export type KeepRunningOptions = Readonly<{
  clock: Clock;
  signal: AbortSignal;
  /** Called for unexpected errors only; the watch handles expected ones. */
  onFailure(error: unknown, retryInMs: number): void;
}>;

const pauseMs = 10_000;

/** Runs a loop until the signal is aborted. After an unexpected error it is started again after a pause. */
export async function keepRunning(
  loop: () => Promise<void>,
  { clock, signal, onFailure }: KeepRunningOptions,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await loop();
    } catch (error) {
      if (signal.aborted) return;
      onFailure(error, pauseMs);
      await delay(clock, pauseMs, signal);
    }
  }
}
