import type { KubeObject } from "@tmc/kube/kube-object.ts";

/**
 * The key of an object: `storage` is that of its ResourceDefinition, `logicalCluster` is empty on a Kubernetes cluster.
 */
export type StoreKey = Readonly<{ storage: string; logicalCluster: string; namespace: string; name: string }>;

export type StorageChange = Readonly<{
  type: "ADDED" | "MODIFIED" | "DELETED";
  key: StoreKey;
  revision: number;
  /** The new object; for DELETED the last one, with the revision of its deletion. */
  object: KubeObject;
  /** The previous object; absent for ADDED. */
  previous?: KubeObject;
}>;

/** The content of a store at one revision. */
export type StoreSnapshot = Readonly<{ revision: number; objects: readonly (readonly [StoreKey, KubeObject])[] }>;

export type RestoreOptions = Readonly<{
  /**
   * Adds this to the revision of the snapshot, so that no revision is used twice; objects keep the revision they were
   * written with. Like `etcdutl snapshot restore --bump-revision --mark-compacted`. @default 0: revisions are used again
   */
  bumpRevision?: number | undefined;
}>;

/**
 * The storage of an embedded server, like etcd: one revision counter, immutable objects, a log of changes for watches,
 * and reads at earlier revisions.
 */
export interface Store {
  readonly revision: number;
  /** Revisions before this one are compacted. */
  readonly oldestRevision: number;
  get(key: StoreKey): KubeObject | undefined;
  /** Sorted by logical cluster, namespace and name, as a real server lists. Without a logical cluster: all of them. */
  list(storage: string, scope?: { logicalCluster?: string; namespace?: string }): readonly KubeObject[];
  /** The list at an earlier revision, or undefined if it is compacted (410). */
  listAt(
    revision: number,
    storage: string,
    scope?: { logicalCluster?: string; namespace?: string },
  ): readonly KubeObject[] | undefined;
  /**
   * Sets metadata.resourceVersion and calls the subscribers before it returns. `object` belongs to the store
   * afterwards.
   */
  put(key: StoreKey, object: KubeObject): KubeObject;
  delete(key: StoreKey): KubeObject | undefined;
  /** Changes after a revision, or undefined if they are compacted (410). */
  changesSince(revision: number, storage: string): readonly StorageChange[] | undefined;
  /** Drops all past changes: watches and lists of earlier revisions get 410. */
  compact(): void;
  /** The objects as they are now. */
  snapshot(): StoreSnapshot;
  /**
   * Goes back to a snapshot; earlier revisions are compacted. Subscribers are called with the differences, so that parts of
   * the server follow. A watch must not be among them: it would report what a restored server does not know of.
   */
  restore(snapshot: StoreSnapshot, options?: RestoreOptions): void;
  /** Calls `listener` synchronously with every change, in order. Returns a function that unsubscribes. */
  subscribe(listener: (change: StorageChange) => void): () => void;
}
