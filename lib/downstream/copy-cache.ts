import type { CacheSize } from "@tmc/kube/informer/cache-limit.ts";
import { createObjectStore, objectId } from "@tmc/kube/informer/object-store.ts";
import { compareResourceVersions } from "@tmc/kube/informer/resource-version.ts";
import type { JsonObject, KubeObject } from "@tmc/kube/kube-object.ts";
import { copyOf } from "../sync/downstream.ts";
import type { Copy } from "../sync/sync-objects.ts";

/** The name of a copy on its cluster. */
export type CopyName = Readonly<{ namespace: string; name: string }>;

/** What the cache knows about a name: one of our copies, or that there is none. */
export type CachedCopy =
  | Readonly<{ kind: "there"; copy: Copy; hash?: string | undefined }>
  | Readonly<{ kind: "absent" }>;

/**
 * The copies of one type on one cluster, as an informer reports them. Of each copy it keeps what a reconcile needs: no spec,
 * no managed fields. The rules of `ObjectStore` apply.
 *
 * `replace`, `upsert` and `remove` return the workloads whose copies have changed, by the names of their keys. The answer of
 * a request is no change: the reconcile that sent the request knows it.
 */
export interface CopyCache {
  readonly size: number;
  readonly isListed: boolean;
  /** Undefined while the type is not listed, or when the copy is stale. */
  get(name: CopyName): CachedCopy | undefined;
  /** The uids of all copies, stale ones included, by the names of the keys of their workloads. */
  uids(): Iterable<readonly [string, string]>;

  /** Takes over a list. Cached copies that it lacks are stale from now on: not seen is not gone. */
  replace(objects: readonly KubeObject[], resourceVersion: string): readonly string[];
  upsert(object: KubeObject): readonly string[];
  remove(object: KubeObject): readonly string[];
  /** The watch has reported everything up to this version. */
  bookmark(resourceVersion: string): void;

  /** Announces a request for a copy; the returned function takes the answer (`ObjectStore.request`). */
  request(name: CopyName): (answer: KubeObject | undefined) => void;
  /** Marks a copy stale: the outcome of a request is not known, so the next read goes to the cluster. */
  markStale(name: CopyName): void;
  /** Drops everything: no name is known until the next list. */
  clear(): void;
}

export type CopyCacheOptions = Readonly<{
  /** The workload that an object is a copy of, by the name of its key; undefined for an object that is not ours. */
  workloadOf: (object: KubeObject) => string | undefined;
  /** A hash of what a reconcile reads besides the status. @default none: the generation shows whether that has changed */
  hashOf?: ((object: KubeObject) => string | undefined) | undefined;
  /** Called with each change of how much the cache keeps. */
  onSizeChange?: ((change: CacheSize) => void) | undefined;
}>;

type Entry = Readonly<{
  workload: string;
  hash: string | undefined;
  uid: string;
  resourceVersion: string;
  generation: number | undefined;
  isDeleting: boolean;
  writtenHash?: string | undefined;
  /** As JSON text: it takes a quarter of the memory, and can be compared. */
  status: string | undefined;
}>;

/** Creates an empty cache. */
export function createCopyCache({ workloadOf, hashOf = () => undefined, onSizeChange }: CopyCacheOptions): CopyCache {
  let changed = new Set<string>();
  const store = createObjectStore<Entry>({
    transform: (object) => {
      const workload = workloadOf(object);
      if (workload === undefined) return undefined;
      const { status, ...copy } = copyOf(object);
      return {
        workload,
        hash: hashOf(object),
        ...copy,
        status: status === undefined ? undefined : JSON.stringify(status),
      };
    },
    versionOf: ({ resourceVersion }) => resourceVersion,
    uidOf: ({ uid }) => uid,
    isFreshAfterUpdate: true,
    onChange: ({ id, before, after }) => {
      onSizeChange?.({
        objects: Number(after !== undefined) - Number(before !== undefined),
        bytes: cachedBytes(id, after) - cachedBytes(id, before),
      });
      if (after === undefined || !isSame(before, after)) changed.add((after ?? before)?.workload ?? "");
    },
  });
  /** Runs an operation and returns the workloads that it has changed. */
  const changesOf = (operation: () => void): readonly string[] => {
    changed = new Set();
    operation();
    return [...changed];
  };

  return {
    get size() {
      return store.size;
    },
    get isListed() {
      return store.isListed;
    },
    get: (name) => {
      const id = objectId({ metadata: name });
      if (!store.isListed || store.isStale(id)) return undefined;
      const entry = store.get(id);
      if (entry === undefined) return { kind: "absent" };
      const { hash } = entry;
      return { kind: "there", copy: copyIn(entry), ...(hash === undefined ? {} : { hash }) };
    },
    *uids() {
      for (const [, { workload, uid }] of store.entries()) yield [workload, uid] as const;
    },

    replace: (objects, resourceVersion) =>
      changesOf(() => {
        for (const id of store.replace(objects, resourceVersion)) {
          const entry = store.get(id);
          if (entry !== undefined) changed.add(entry.workload);
        }
      }),
    upsert: (object) => changesOf(() => void store.upsert(object)),
    remove: (object) =>
      changesOf(() => {
        const id = objectId(object);
        const before = store.get(id);
        store.remove(id, object.metadata.resourceVersion);
        // Also reported where a request has found the deletion before: other workloads may need what is gone.
        const workload = before === undefined ? workloadOf(object) : undefined;
        if (workload !== undefined) changed.add(workload);
      }),
    bookmark: store.bookmark,

    request: (name) => {
      const answered = store.request(objectId({ metadata: name }));
      return (answer) => void answered(answer);
    },
    markStale: (name) => {
      const id = objectId({ metadata: name });
      if (store.get(id) !== undefined) store.markStale(id);
    },
    clear: () => void changesOf(store.clear),
  };
}

/** The length of everything in an entry that the cluster chooses. */
function cachedBytes(id: string, entry: Entry | undefined): number {
  if (entry === undefined) return 0;
  const { workload, hash, uid, resourceVersion, writtenHash, status } = entry;
  return JSON.stringify([id, workload, hash, uid, resourceVersion, writtenHash]).length + (status?.length ?? 0);
}

/**
 * Whether a reconcile would read the same. Without a generation or a hash, every new version counts as a change; an older
 * version always does, because the cluster was restored from a backup, and its generations count from an earlier value.
 */
function isSame(before: Entry | undefined, after: Entry): boolean {
  return (
    before !== undefined &&
    compareResourceVersions(after.resourceVersion, before.resourceVersion) >= 0 &&
    before.uid === after.uid &&
    before.isDeleting === after.isDeleting &&
    before.writtenHash === after.writtenHash &&
    before.status === after.status &&
    before.hash === after.hash &&
    (after.generation === undefined && after.hash === undefined
      ? before.resourceVersion === after.resourceVersion
      : before.generation === after.generation)
  );
}

function copyIn({ uid, resourceVersion, generation, isDeleting, writtenHash, status }: Entry): Copy {
  return {
    uid,
    resourceVersion,
    generation,
    isDeleting,
    ...(writtenHash === undefined ? {} : { writtenHash }),
    // The text is the JSON of an object's status.
    status: status === undefined ? undefined : (JSON.parse(status) as JsonObject),
  };
}
