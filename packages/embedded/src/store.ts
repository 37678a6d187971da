import type { KubeObject } from "@tmc/kube/kube-object.ts";

/** One object's place: `storage` is a ResourceDefinition's, `cluster` a logical cluster's name (empty on a plain cluster). */
export type StoreKey = Readonly<{ storage: string; cluster: string; namespace: string; name: string }>;

export type Change = Readonly<{
  type: "ADDED" | "MODIFIED" | "DELETED";
  key: StoreKey;
  revision: number;
  /** The object as it is now; for DELETED as it was last, with the revision of its deletion. */
  object: KubeObject;
  /** As it was before; absent for ADDED. */
  previous?: KubeObject;
}>;

/**
 * The memory of one embedded server (what etcd is to a real one): one revision counter, objects that are never changed in
 * place, a log of changes for watches, and lists as they were at an earlier revision.
 */
export interface Store {
  readonly revision: number;
  /** Nothing from before this revision is remembered. */
  readonly oldestRevision: number;
  get(key: StoreKey): KubeObject | undefined;
  /** In the order of cluster, namespace, name, as a real server lists. Without a cluster: all of them. */
  list(storage: string, scope?: { cluster?: string; namespace?: string }): readonly KubeObject[];
  /** The list as it was at `revision`, or undefined when that is too long ago (410). */
  listAt(
    revision: number,
    storage: string,
    scope?: { cluster?: string; namespace?: string },
  ): readonly KubeObject[] | undefined;
  /** Stamps metadata.resourceVersion; tells the subscribers before it returns. `object` belongs to the store afterwards. */
  put(key: StoreKey, object: KubeObject): KubeObject;
  delete(key: StoreKey): KubeObject | undefined;
  /** Changes after `revision`, or undefined when the log no longer reaches back that far (410). */
  changesSince(revision: number, storage: string): readonly Change[] | undefined;
  /** Forgets changes and old lists up to now: whoever resumes from before gets 410. */
  compact(): void;
  /** Called synchronously with every change, in order. The answer ends it. */
  subscribe(listener: (change: Change) => void): () => void;
}
