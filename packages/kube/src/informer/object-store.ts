import type { KubeObject } from "../kube-object.ts";
import { compareResourceVersions } from "./resource-version.ts";
import { createReverseIndex, type ReverseIndex } from "./reverse-index.ts";

/** One change of a stored entry. `before` is undefined for a new entry, `after` for one that was removed. */
export type StoreChange<T> = Readonly<{ id: string; before: T | undefined; after: T | undefined }>;

export type ObjectStoreOptions<T, Index extends string> = Readonly<{
  /** Turns an object into its entry; undefined for an object that does not belong in the store. */
  transform: (object: KubeObject) => T | undefined;
  /** The id of an object. @default `objectId` */
  idOf?: ((object: KubeObject) => string) | undefined;
  /** The resourceVersion of an entry. */
  versionOf: (entry: T) => string | undefined;
  /** The uid of an entry. */
  uidOf: (entry: T) => string | undefined;
  /** Values under which an entry is found with `byIndex`. @default none */
  indexers?: Readonly<Record<Index, (entry: T, id: string) => readonly string[]>> | undefined;
  /**
   * Whether a state from a list or a watch that is not older ends staleness. Where it does not, only a request to the server
   * does (`request`). @default false
   */
  isFreshAfterUpdate?: boolean | undefined;
  /** Called after each change of an entry, before the operation that caused it returns. */
  onChange?: ((change: StoreChange<T>) => void) | undefined;
}>;

/**
 * The objects of one collection of one server, as lists, watches and requests report them.
 *
 * Of two states of an object that cross on their way, the newer one wins: resourceVersions of one collection can be
 * compared. What was read later wins with any version, because a server that is restored from a backup goes back to smaller
 * versions, and need not say so: a list that is not older than the entry, and an answer to a request that was sent after
 * the entry was stored.
 *
 * An object that is missing from a list is kept and marked stale, because not seen is not gone: only a watch event or the
 * server's own answer removes it. Entries are shared with all callers and must not be changed.
 */
export interface ObjectStore<T, Index extends string = never> {
  readonly size: number;
  /** Whether the collection has been listed at least once. */
  readonly isListed: boolean;
  get(id: string): T | undefined;
  /** All entries in the order of their ids; the same array until an entry changes. */
  list(): readonly T[];
  /** All entries with their ids, in no particular order. */
  entries(): Iterable<readonly [string, T]>;
  /** The ids of the entries that have `value` under an index, sorted. */
  byIndex(index: Index, value: string): readonly string[];

  /**
   * Stores a complete list and returns the ids of entries that it lacks and should have; these are stale from now on.
   *
   * A listed object replaces its entry, with any version of its own. The only exception is an entry that is newer than the
   * list: an answer that crossed it, such as that of our own write. It is kept and, because the list has another state,
   * stale. A list that is older than what the watch has reported comes from a server that was restored or replaced: there
   * are no exceptions then.
   *
   * Without the list's resourceVersion, objects of one uid are compared by their own versions, and answers about unknown
   * objects are not stored (see `request`).
   */
  replace(objects: readonly KubeObject[], resourceVersion?: string): readonly string[];
  /** Counts as a list, and says nothing about the entries: the server does not serve the type. */
  markListed(): void;
  /** Stores an object from a watch event and returns the entry that is stored afterwards. */
  upsert(object: KubeObject): T | undefined;
  /** Removes an entry, unless it is newer than `resourceVersion`. */
  remove(id: string, resourceVersion?: string): void;
  /** The watch has reported everything up to this version. */
  bookmark(resourceVersion: string): void;
  /** Drops all entries, as if nothing had been listed yet. */
  clear(): void;

  /**
   * Announces a request for one object; call it before the request is sent. Call the returned function with the answer:
   * the object, or undefined if the server says that it does not exist. It returns the newest known state: the answer, with
   * any version, if nothing has changed the entry since the request was sent, otherwise the newer of the two.
   *
   * An answer about an object that is not stored is stored only if it is newer than everything that the watch has
   * reported. Otherwise the watch may already have reported its deletion, and a late answer would bring it back.
   */
  request(id: string): (answer: KubeObject | undefined) => T | undefined;

  /** Marks an id stale: the next read has to go to the server. */
  markStale(id: string): void;
  /** Ends staleness without an answer of the server: the caller knows the state otherwise. */
  markFresh(id: string): void;
  isStale(id: string): boolean;
}

const none: readonly never[] = [];

/** Creates an empty store. */
export function createObjectStore<T, Index extends string = never>(
  options: ObjectStoreOptions<T, Index>,
): ObjectStore<T, Index> {
  const { transform, idOf = objectId, versionOf } = options;
  const content = createContent(options);
  const { entries, stale, put, drop, list, byIndex } = content;
  const isNewer = newerThan(versionOf);
  const storeListed = createListWriter(options, content);
  let isListed = false;
  /** How far the watch has reported; empty while that is not known. */
  let position = "";

  const advance = (version: string | undefined): void => {
    if (version === undefined || position === "" || compareResourceVersions(version, position) <= 0) return;
    position = version;
  };
  /** The server says that an object does not exist. `atRequest` is its entry at the time of the request. */
  const storeAbsence = (id: string, atRequest: T | undefined): T | undefined => {
    if (atRequest !== undefined && entries.get(id) === atRequest) drop(id);
    return entries.get(id);
  };
  const storeAnswer = (id: string, atRequest: T | undefined, answer: KubeObject): T | undefined => {
    const before = entries.get(id);
    const { resourceVersion } = answer.metadata;
    const entry = transform(answer);
    if (before === undefined) {
      const isNewest = !isListed || (position !== "" && compareResourceVersions(resourceVersion, position) > 0);
      if (entry !== undefined && isNewest) put(id, entry);
      return entry;
    }
    const isLater = before === atRequest ? resourceVersion !== versionOf(before) : isNewer(resourceVersion, before);
    if (!isLater) return before;
    if (entry === undefined) drop(id);
    else put(id, entry);
    return entry;
  };

  return {
    get size() {
      return entries.size;
    },
    get isListed() {
      return isListed;
    },
    get: (id) => entries.get(id),
    list,
    entries: () => entries,
    byIndex,

    replace: (objects, resourceVersion) => {
      const isReset = resourceVersion !== undefined && compareResourceVersions(resourceVersion, position) < 0;
      const missing = new Set(entries.keys());
      for (const object of objects) {
        const id = idOf(object);
        if (storeListed(object, id, { listVersion: resourceVersion, isReset })) missing.delete(id);
      }
      isListed = true;
      if (isReset || position === "") position = resourceVersion ?? "";
      else advance(resourceVersion);
      for (const id of missing) {
        const entry = entries.get(id);
        const isYounger =
          entry !== undefined && !isReset && compareResourceVersions(versionOf(entry), resourceVersion) > 0;
        if (isYounger) missing.delete(id);
        stale.add(id);
      }
      return [...missing];
    },
    markListed: () => {
      isListed = true;
    },
    upsert: (object) => {
      const id = idOf(object);
      const { resourceVersion } = object.metadata;
      const before = entries.get(id);
      advance(resourceVersion);
      if (before !== undefined && !isNewer(resourceVersion, before)) {
        if (options.isFreshAfterUpdate === true && resourceVersion === versionOf(before)) stale.delete(id);
        return before;
      }
      const entry = transform(object);
      if (entry !== undefined) put(id, entry);
      else drop(id);
      return entry;
    },
    remove: (id, resourceVersion) => {
      advance(resourceVersion);
      stale.delete(id);
      const before = entries.get(id);
      if (before === undefined) return;
      // There is a newer object of that name by now.
      if (resourceVersion !== undefined && compareResourceVersions(versionOf(before), resourceVersion) > 0) return;
      drop(id);
    },
    bookmark: advance,
    clear: () => {
      isListed = false;
      position = "";
      for (const id of [...entries.keys()]) drop(id);
      stale.clear();
    },

    request: (id) => {
      const atRequest = entries.get(id);
      return (answer) => {
        stale.delete(id);
        return answer === undefined ? storeAbsence(id, atRequest) : storeAnswer(id, atRequest, answer);
      };
    },

    markStale: (id) => void stale.add(id),
    markFresh: (id) => void stale.delete(id),
    isStale: (id) => stale.has(id),
  };
}

/** Whether a version is newer than that of an entry. Of versions that cannot be ordered, the one that arrives later is. */
function newerThan<T>(versionOf: (entry: T) => string | undefined) {
  return (version: string | undefined, before: T): boolean =>
    version !== versionOf(before) && compareResourceVersions(version, versionOf(before)) >= 0;
}

/** Creates the function that stores a listed object. It returns whether the list accounts for the entry of that id. */
function createListWriter<T, Index extends string>(
  { transform, versionOf, uidOf, isFreshAfterUpdate = false }: ObjectStoreOptions<T, Index>,
  { entries, stale, put }: Content<T, Index>,
) {
  const isNewer = newerThan(versionOf);
  /** Whether a listed object leaves the entry of its id as it is. */
  const isOutdated = (object: KubeObject, before: T, listVersion: string | undefined): boolean => {
    if (listVersion !== undefined) return compareResourceVersions(versionOf(before), listVersion) > 0;
    const { resourceVersion, uid } = object.metadata;
    return uid === uidOf(before) && !isNewer(resourceVersion, before);
  };
  const isSame = ({ metadata: { uid = "", resourceVersion } }: KubeObject, before: T): boolean =>
    uid === (uidOf(before) ?? "") && resourceVersion === versionOf(before);

  return (
    object: KubeObject,
    id: string,
    { listVersion, isReset }: Readonly<{ listVersion: string | undefined; isReset: boolean }>,
  ): boolean => {
    const before = entries.get(id);
    if (before !== undefined && isSame(object, before)) {
      if (isFreshAfterUpdate) stale.delete(id);
      return true;
    }
    if (before !== undefined && !isReset && isOutdated(object, before, listVersion)) {
      if (listVersion !== undefined) stale.add(id);
      return true;
    }
    const entry = transform(object);
    if (entry !== undefined) put(id, entry);
    return entry !== undefined;
  };
}

/** The entries of a store with their indexes. It decides nothing about versions. */
type Content<T, Index extends string> = Pick<ObjectStore<T, Index>, "list" | "byIndex"> &
  Readonly<{
    entries: ReadonlyMap<string, T>;
    stale: Set<string>;
    put(id: string, entry: T): void;
    drop(id: string): void;
  }>;

function createContent<T, Index extends string>({
  indexers,
  isFreshAfterUpdate,
  onChange,
}: ObjectStoreOptions<T, Index>): Content<T, Index> {
  const indexes = createIndexes(indexers);
  const entries = new Map<string, T>();
  const stale = new Set<string>();
  /** Sorted ids, undefined after an id was added or removed; sorted entries, undefined after any change. */
  let sortedIds: readonly string[] | undefined;
  let sortedEntries: readonly T[] | undefined;

  const changed = (id: string, before: T | undefined, after: T | undefined): void => {
    sortedEntries = undefined;
    if (before === undefined || after === undefined) sortedIds = undefined;
    indexes?.set(id, after);
    onChange?.({ id, before, after });
  };
  return {
    entries,
    stale,
    put: (id, entry) => {
      const before = entries.get(id);
      entries.set(id, entry);
      if (isFreshAfterUpdate === true) stale.delete(id);
      changed(id, before, entry);
    },
    drop: (id) => {
      const before = entries.get(id);
      stale.delete(id);
      if (entries.delete(id)) changed(id, before, undefined);
    },
    list: () => {
      if (sortedEntries !== undefined) return sortedEntries;
      sortedIds ??= [...entries.keys()].toSorted();
      const all: T[] = [];
      for (const id of sortedIds) {
        const entry = entries.get(id);
        if (entry !== undefined) all.push(entry);
      }
      sortedEntries = all;
      return all;
    },
    byIndex: (index, value) => indexes?.find(index, value) ?? none,
  };
}

/** The id of an object in a store: `namespace/name`, or the name of an object without a namespace. */
export function objectId({ metadata }: Pick<KubeObject, "metadata">): string {
  const { namespace, name = "" } = metadata;
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

type Indexes<T, Index extends string> = Readonly<{
  set(id: string, entry: T | undefined): void;
  find(index: Index, value: string): readonly string[];
}>;

function createIndexes<T, Index extends string>(
  indexers: ObjectStoreOptions<T, Index>["indexers"],
): Indexes<T, Index> | undefined {
  if (indexers === undefined) return undefined;
  const all = new Map<
    string,
    Readonly<{ index: ReverseIndex; valuesOf: (entry: T, id: string) => readonly string[] }>
  >();
  for (const name in indexers) all.set(name, { index: createReverseIndex(), valuesOf: indexers[name] });
  return {
    set: (id, entry) => {
      for (const { index, valuesOf } of all.values()) index.set(id, entry === undefined ? none : valuesOf(entry, id));
    },
    find: (name, value) => [...(all.get(name)?.index.owners(value) ?? none)].toSorted(),
  };
}
