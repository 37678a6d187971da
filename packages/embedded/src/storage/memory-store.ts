import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { dropCachedText, freezeJson } from "./frozen-json.ts";
import type { RestoreOptions, StorageChange, Store, StoreKey, StoreSnapshot } from "./store.ts";

type Scope = Readonly<{ logicalCluster?: string; namespace?: string }>;

export type MemoryStoreOptions = Readonly<{
  /** How many changes per storage watches can resume over; older revisions get 410. @default 10000 */
  history?: number;
  /** @default 0 */
  firstRevision?: number;
}>;

/** Creates an empty store in memory. */
export function createMemoryStore({ history = 10_000, firstRevision = 0 }: MemoryStoreOptions = {}): Store {
  const buckets = new Map<string, Bucket>();
  const listeners = new Set<(change: StorageChange) => void>();
  let revision = firstRevision;
  /** Changes up to this revision are compacted. */
  let compacted = firstRevision;

  const bucketOf = (storage: string): Bucket => {
    const known = buckets.get(storage);
    if (known !== undefined) return known;
    const shelf = createBucket(history, compacted);
    buckets.set(storage, shelf);
    return shelf;
  };

  const undelivered: StorageChange[] = [];
  let delivering = false;
  const publish = (shelf: Bucket, change: StorageChange): void => {
    shelf.record(change);
    deliver([change]);
  };
  const deliver = (changes: readonly StorageChange[]): void => {
    undelivered.push(...changes);
    // A listener may write. Its change is delivered after this one, so that all listeners see the same order.
    if (delivering) return;
    delivering = true;
    try {
      for (let next = undelivered.shift(); next !== undefined; next = undelivered.shift()) {
        // Copied: a listener that subscribes during delivery does not get this change.
        for (const listener of [...listeners]) listener(next);
      }
    } finally {
      delivering = false;
    }
  };

  const compact = (): void => {
    compacted = revision;
    for (const shelf of buckets.values()) shelf.compact(revision);
  };
  const snapshot = (): StoreSnapshot => ({
    revision,
    objects: [...buckets].flatMap(([storage, shelf]) =>
      shelf.entries().map(([path, object]) => [keyOf(storage, path), object] as const),
    ),
  });
  const restore = (restored: StoreSnapshot, { bumpRevision = 0 }: RestoreOptions = {}): void => {
    const before = snapshot().objects;
    revision = restored.revision + bumpRevision;
    for (const [key] of before) bucketOf(key.storage).remove(pathOf(key));
    for (const [key, object] of restored.objects) bucketOf(key.storage).put(pathOf(key), object);
    compact();
    deliver(differencesOf(before, restored.objects, revision));
  };

  return {
    get revision() {
      return revision;
    },
    get oldestRevision() {
      return compacted;
    },
    get: (key) => buckets.get(key.storage)?.get(pathOf(key)),
    list: (storage, scope) => buckets.get(storage)?.list(scope) ?? [],
    listAt: (at, storage, scope) => {
      if (at < compacted) return undefined;
      const shelf = buckets.get(storage);
      return shelf === undefined ? [] : shelf.listAt(at, scope);
    },
    put: (key, object) => {
      const shelf = bucketOf(key.storage);
      const path = pathOf(key);
      const previous = shelf.get(path);
      revision += 1;
      object.metadata.resourceVersion = String(revision);
      freezeJson(object);
      shelf.put(path, object);
      if (previous !== undefined) dropCachedText(previous);
      publish(
        shelf,
        previous === undefined
          ? { type: "ADDED", key, revision, object }
          : { type: "MODIFIED", key, revision, object, previous },
      );
      return object;
    },
    delete: (key) => {
      const shelf = bucketOf(key.storage);
      const path = pathOf(key);
      const previous = shelf.get(path);
      if (previous === undefined) return undefined;
      revision += 1;
      const object: KubeObject = freezeJson({
        ...previous,
        metadata: { ...previous.metadata, resourceVersion: String(revision) },
      });
      shelf.remove(path);
      publish(shelf, { type: "DELETED", key, revision, object, previous });
      return object;
    },
    changesSince: (since, storage) => {
      if (since < compacted) return undefined;
      const shelf = buckets.get(storage);
      return shelf === undefined ? [] : shelf.changesSince(since);
    },
    compact,
    snapshot,
    restore,
    subscribe: (listener) => {
      // Wrapped, so that one function can subscribe twice.
      const entry = (change: StorageChange): void => listener(change);
      listeners.add(entry);
      return () => {
        listeners.delete(entry);
      };
    },
  };
}

/** The objects of one storage, sorted by path, with their recent changes. */
interface Bucket {
  entries(): readonly (readonly [string, KubeObject])[];
  get(path: string): KubeObject | undefined;
  put(path: string, object: KubeObject): void;
  remove(path: string): void;
  list(scope: Scope | undefined): readonly KubeObject[];
  listAt(revision: number, scope: Scope | undefined): readonly KubeObject[] | undefined;
  record(change: StorageChange): void;
  changesSince(revision: number): readonly StorageChange[] | undefined;
  compact(revision: number): void;
}

function createBucket(history: number, since: number): Bucket {
  const objects = new Map<string, KubeObject>();
  const paths: string[] = [];
  let changes: StorageChange[] = [];
  /** `changes` contains everything after this revision. */
  let compactedAt = since;

  const list = (scope: Scope | undefined): KubeObject[] => {
    const prefix = prefixOf(scope);
    const found: KubeObject[] = [];
    for (let index = firstAtOrAfter(paths, prefix); index < paths.length; index += 1) {
      const path = paths[index];
      if (path === undefined || !path.startsWith(prefix)) break;
      const object = objects.get(path);
      if (object !== undefined) found.push(object);
    }
    // Without a logical cluster, the namespace is not a prefix of the path.
    if (scope?.logicalCluster === undefined && scope?.namespace !== undefined) {
      return found.filter((object) => (object.metadata.namespace ?? "") === scope.namespace);
    }
    return found;
  };

  const changesSince = (revision: number): readonly StorageChange[] | undefined => {
    if (revision < compactedAt) return undefined;
    let low = 0;
    let high = changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((changes[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return changes.slice(low);
  };

  return {
    entries: () => [...objects],
    get: (path) => objects.get(path),
    put: (path, object) => {
      if (!objects.has(path)) paths.splice(firstAtOrAfter(paths, path), 0, path);
      objects.set(path, object);
    },
    remove: (path) => {
      if (objects.delete(path)) paths.splice(firstAtOrAfter(paths, path), 1);
    },
    list,
    listAt: (revision, scope) => {
      const later = changesSince(revision);
      if (later === undefined) return undefined;
      if (later.length === 0) return list(scope);
      // Undoes changes from the newest to the oldest; the last value set is the one before the first change.
      const past = new Map<string, KubeObject | undefined>();
      for (const { key, previous } of later.toReversed()) past.set(pathOf(key), previous);
      const merged = [...new Set([...paths, ...past.keys()])].toSorted();
      const prefix = prefixOf(scope);
      return merged.flatMap((path) => {
        if (!path.startsWith(prefix)) return [];
        const object = past.has(path) ? past.get(path) : objects.get(path);
        if (object === undefined) return [];
        const isInOtherNamespace =
          scope?.namespace !== undefined && (object.metadata.namespace ?? "") !== scope.namespace;
        return isInOtherNamespace ? [] : [object];
      });
    },
    record: (change) => {
      changes.push(change);
      // Dropped in bulk, so that a long history is not copied for every change.
      if (changes.length > history * 1.5) {
        const dropped = changes.length - history;
        compactedAt = changes[dropped - 1]?.revision ?? compactedAt;
        changes = changes.slice(dropped);
      }
    },
    changesSince,
    compact: (revision) => {
      changes = [];
      compactedAt = revision;
    },
  };
}

/** The slash sorts `a-b/x` before `a/x`, like the keys in etcd. */
function pathOf({ logicalCluster, namespace, name }: StoreKey): string {
  return namespace === "" ? `${logicalCluster}/${name}` : `${logicalCluster}/${namespace}/${name}`;
}

/** The key with this path; no part of it contains a slash. */
function keyOf(storage: string, path: string): StoreKey {
  const [logicalCluster = "", ...names] = path.split("/");
  const [namespace = "", name = ""] = names.length > 1 ? names : ["", ...names];
  return { storage, logicalCluster, namespace, name };
}

/** The changes that lead from one content to another, all at one revision; deletions come last, as after a list. */
function differencesOf(
  before: StoreSnapshot["objects"],
  after: StoreSnapshot["objects"],
  revision: number,
): readonly StorageChange[] {
  const idOf = (key: StoreKey): string => `${key.storage} ${pathOf(key)}`;
  const old = new Map(before.map(([key, object]) => [idOf(key), { key, object }]));
  const changes = after.flatMap(([key, object]): StorageChange[] => {
    const previous = old.get(idOf(key))?.object;
    old.delete(idOf(key));
    if (previous === object) return [];
    return previous === undefined
      ? [{ type: "ADDED", key, revision, object }]
      : [{ type: "MODIFIED", key, revision, object, previous }];
  });
  const deletions = [...old.values()].map(
    ({ key, object }): StorageChange => ({ type: "DELETED", key, revision, object, previous: object }),
  );
  return [...changes, ...deletions];
}

function prefixOf(scope: Scope | undefined): string {
  if (scope?.logicalCluster === undefined) return "";
  return scope.namespace === undefined || scope.namespace === ""
    ? `${scope.logicalCluster}/`
    : `${scope.logicalCluster}/${scope.namespace}/`;
}

function firstAtOrAfter(paths: readonly string[], path: string): number {
  let low = 0;
  let high = paths.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((paths[middle] ?? "") < path) low = middle + 1;
    else high = middle;
  }
  return low;
}
