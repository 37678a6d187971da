import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { forgetText, freezeJson } from "./frozen-json.ts";
import type { Change, Store, StoreKey } from "./store.ts";

type Scope = Readonly<{ cluster?: string; namespace?: string }>;

export type MemoryStoreOptions = Readonly<{
  /** How many changes per storage watches can resume over; older ones are 410. @default 10000 */
  history?: number;
  /** @default 0 */
  firstRevision?: number;
}>;

/** Makes an empty store that lives in this process and dies with it. */
export function createMemoryStore({ history = 10_000, firstRevision = 0 }: MemoryStoreOptions = {}): Store {
  const shelves = new Map<string, Shelf>();
  const listeners = new Set<(change: Change) => void>();
  let revision = firstRevision;
  /** Changes up to here are forgotten by a compaction. */
  let compacted = firstRevision;

  const shelfOf = (storage: string): Shelf => {
    const known = shelves.get(storage);
    if (known !== undefined) return known;
    const shelf = createShelf(history, compacted);
    shelves.set(storage, shelf);
    return shelf;
  };

  const untold: Change[] = [];
  let telling = false;
  const tell = (shelf: Shelf, change: Change): void => {
    shelf.record(change);
    untold.push(change);
    // A listener that writes must not let its change overtake this one on the way to the others.
    if (telling) return;
    telling = true;
    try {
      for (let next = untold.shift(); next !== undefined; next = untold.shift()) {
        // A copy: who subscribes while it is told does not hear of this change.
        for (const listener of [...listeners]) listener(next);
      }
    } finally {
      telling = false;
    }
  };

  return {
    get revision() {
      return revision;
    },
    get oldestRevision() {
      return compacted;
    },
    get: (key) => shelves.get(key.storage)?.get(pathOf(key)),
    list: (storage, scope) => shelves.get(storage)?.list(scope) ?? [],
    listAt: (at, storage, scope) => {
      if (at < compacted) return undefined;
      const shelf = shelves.get(storage);
      return shelf === undefined ? [] : shelf.listAt(at, scope);
    },
    put: (key, object) => {
      const shelf = shelfOf(key.storage);
      const path = pathOf(key);
      const previous = shelf.get(path);
      revision += 1;
      object.metadata.resourceVersion = String(revision);
      freezeJson(object);
      shelf.put(path, object);
      if (previous !== undefined) forgetText(previous);
      tell(
        shelf,
        previous === undefined
          ? { type: "ADDED", key, revision, object }
          : { type: "MODIFIED", key, revision, object, previous },
      );
      return object;
    },
    delete: (key) => {
      const shelf = shelfOf(key.storage);
      const path = pathOf(key);
      const previous = shelf.get(path);
      if (previous === undefined) return undefined;
      revision += 1;
      const object: KubeObject = freezeJson({
        ...previous,
        metadata: { ...previous.metadata, resourceVersion: String(revision) },
      });
      shelf.remove(path);
      tell(shelf, { type: "DELETED", key, revision, object, previous });
      return object;
    },
    changesSince: (since, storage) => {
      if (since < compacted) return undefined;
      const shelf = shelves.get(storage);
      return shelf === undefined ? [] : shelf.changesSince(since);
    },
    compact: () => {
      compacted = revision;
      for (const shelf of shelves.values()) shelf.forget(revision);
    },
    subscribe: (listener) => {
      // A wrapper of its own, so that one function can be subscribed twice.
      const entry = (change: Change): void => listener(change);
      listeners.add(entry);
      return () => {
        listeners.delete(entry);
      };
    },
  };
}

/** All objects of one storage, in the order of their paths, with what happened to them lately. */
interface Shelf {
  get(path: string): KubeObject | undefined;
  put(path: string, object: KubeObject): void;
  remove(path: string): void;
  list(scope: Scope | undefined): readonly KubeObject[];
  listAt(revision: number, scope: Scope | undefined): readonly KubeObject[] | undefined;
  record(change: Change): void;
  changesSince(revision: number): readonly Change[] | undefined;
  forget(revision: number): void;
}

function createShelf(history: number, since: number): Shelf {
  const objects = new Map<string, KubeObject>();
  const paths: string[] = [];
  let changes: Change[] = [];
  /** Everything after this revision is in `changes`. */
  let floor = since;

  const list = (scope: Scope | undefined): KubeObject[] => {
    const prefix = prefixOf(scope);
    const found: KubeObject[] = [];
    for (let index = firstAtOrAfter(paths, prefix); index < paths.length; index += 1) {
      const path = paths[index];
      if (path === undefined || !path.startsWith(prefix)) break;
      const object = objects.get(path);
      if (object !== undefined) found.push(object);
    }
    // Without a cluster the namespace is not at the front of the path.
    if (scope?.cluster === undefined && scope?.namespace !== undefined) {
      return found.filter((object) => (object.metadata.namespace ?? "") === scope.namespace);
    }
    return found;
  };

  const changesSince = (revision: number): readonly Change[] | undefined => {
    if (revision < floor) return undefined;
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
      // Undone from the newest to the oldest, the last word has what was there before the first of them.
      const then = new Map<string, KubeObject | undefined>();
      for (const { key, previous } of later.toReversed()) then.set(pathOf(key), previous);
      const merged = [...new Set([...paths, ...then.keys()])].toSorted();
      const prefix = prefixOf(scope);
      return merged.flatMap((path) => {
        if (!path.startsWith(prefix)) return [];
        const object = then.has(path) ? then.get(path) : objects.get(path);
        if (object === undefined) return [];
        const elsewhere = scope?.namespace !== undefined && (object.metadata.namespace ?? "") !== scope.namespace;
        return elsewhere ? [] : [object];
      });
    },
    record: (change) => {
      changes.push(change);
      // Dropped by halves, so that a long history is not moved for every single change.
      if (changes.length > history * 1.5) {
        const dropped = changes.length - history;
        floor = changes[dropped - 1]?.revision ?? floor;
        changes = changes.slice(dropped);
      }
    },
    changesSince,
    forget: (revision) => {
      changes = [];
      floor = revision;
    },
  };
}

/** The slash orders `a-b/x` before `a/x`, as the keys of a real server's storage do. */
function pathOf({ cluster, namespace, name }: StoreKey): string {
  return namespace === "" ? `${cluster}/${name}` : `${cluster}/${namespace}/${name}`;
}

function prefixOf(scope: Scope | undefined): string {
  if (scope?.cluster === undefined) return "";
  return scope.namespace === undefined || scope.namespace === ""
    ? `${scope.cluster}/`
    : `${scope.cluster}/${scope.namespace}/`;
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
