import { createObjectStore, type ObjectStore } from "@tmc/kube/informer/object-store.ts";
import { createTrimmer } from "@tmc/kube/informer/trim-object.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type ObjectKey, type ReconciledKind, reconciledKinds } from "../model/key.ts";
import type { ReservedByCluster } from "../model/reserved-resources.ts";
import { createPlacementLoad, type PlacementLoad } from "./placement-load.ts";

/** A change of a cached object; `object` is undefined when it is no longer cached. */
export type CacheChange = Readonly<{ key: ObjectKey; object: KubeObject | undefined }>;

/**
 * The reconciled kinds as this process has read them, in one partition per logical cluster and kind. The rules of
 * `ObjectStore` apply: what was read later wins, and an object that is missing from a list is stale, not gone.
 */
export interface ObjectCache {
  get(key: ObjectKey): KubeObject | undefined;
  /** Sorted by name; the same array until an object changes. */
  list(kind: ReconciledKind, logicalCluster: string): readonly KubeObject[];
  /** The logical clusters that have a partition. */
  logicalClusters(): readonly string[];
  /** Whether both kinds of a logical cluster have been listed once. */
  isListed(logicalCluster: string): boolean;

  /** Takes over a list and returns the keys of cached objects that it lacks; these are stale now. */
  replace(
    kind: ReconciledKind,
    logicalCluster: string,
    objects: readonly KubeObject[],
    resourceVersion?: string,
  ): readonly ObjectKey[];
  /** Takes over an object from a watch event. */
  upsert(kind: ReconciledKind, logicalCluster: string, object: KubeObject): void;
  /** Removes an object that is known to be gone, unless a newer one of its name is cached. */
  remove(key: ObjectKey, resourceVersion?: string): void;
  /** Announces a request for an object; the returned function takes the answer (`ObjectStore.request`). */
  request(key: ObjectKey): (answer: KubeObject | undefined) => KubeObject | undefined;
  /** Drops a logical cluster that is no longer a tenant. That does not mean that its objects are gone. */
  drop(logicalCluster: string): void;

  /** Marks a key stale: the next read goes to the server. */
  markStale(key: ObjectKey): void;
  /** Ends staleness without an answer of the server: the caller knows the state otherwise. */
  markFresh(key: ObjectKey): void;
  isStale(key: ObjectKey): boolean;

  /** How many placements use each cluster, reservations included (`PlacementLoad`). */
  load(placement: ObjectKey): ReadonlyMap<string, number>;
  /** What the other placements have reserved on each cluster, reservations included (`PlacementLoad`). */
  reserved(placement: ObjectKey): ReservedByCluster;
  /** Counts a decision before it is written (`PlacementLoad`). */
  reserve(placement: ObjectKey, selectedClusters: readonly string[]): () => void;

  /** Calls `listener` after each change; the returned function ends that. */
  onChange(listener: (change: CacheChange) => void): () => void;
}

type Tenant = Readonly<{
  stores: Readonly<Record<ReconciledKind, ObjectStore<KubeObject>>>;
  load: PlacementLoad;
}>;

const none: readonly never[] = [];

/** Creates an empty cache; `transform` removes from each object what is not kept. */
export function createObjectCache(transform: (object: KubeObject) => KubeObject = createTrimmer()): ObjectCache {
  const tenants = new Map<string, Tenant>();
  const listeners = new Set<(change: CacheChange) => void>();

  const notify = (key: ObjectKey, object: KubeObject | undefined): void => {
    for (const listener of listeners) listener({ key, object });
  };
  const createTenant = (logicalCluster: string): Tenant => {
    const load = createPlacementLoad();
    const storeOf = (kind: ReconciledKind): ObjectStore<KubeObject> =>
      createObjectStore<KubeObject>({
        transform,
        // A key has no namespace, although an object of another cluster source may have one: its name is unique by then.
        idOf: ({ metadata }) => metadata.name ?? "",
        versionOf: ({ metadata }) => metadata.resourceVersion,
        uidOf: ({ metadata }) => metadata.uid,
        onChange: ({ id, after }) => {
          // A request may be answered after the tenant was dropped.
          if (tenants.get(logicalCluster) !== tenant) return;
          if (kind === "WorkloadPlacement") load.set(id, after);
          notify({ logicalCluster, kind, name: id }, after);
        },
      });
    const stores = {
      ClusterRegistration: storeOf("ClusterRegistration"),
      WorkloadPlacement: storeOf("WorkloadPlacement"),
    };
    const tenant: Tenant = { stores, load };
    return tenant;
  };
  const tenantOf = (logicalCluster: string): Tenant => {
    const known = tenants.get(logicalCluster);
    if (known !== undefined) return known;
    const created = createTenant(logicalCluster);
    tenants.set(logicalCluster, created);
    return created;
  };
  const storeOf = ({ kind, logicalCluster }: Pick<ObjectKey, "kind" | "logicalCluster">): ObjectStore<KubeObject> =>
    tenantOf(logicalCluster).stores[kind];
  const findStore = ({ kind, logicalCluster }: ObjectKey): ObjectStore<KubeObject> | undefined =>
    tenants.get(logicalCluster)?.stores[kind];

  return {
    get: (key) => findStore(key)?.get(key.name),
    list: (kind, logicalCluster) => tenants.get(logicalCluster)?.stores[kind].list() ?? none,
    logicalClusters: () => [...tenants.keys()],
    isListed: (logicalCluster) =>
      reconciledKinds.every((kind) => tenants.get(logicalCluster)?.stores[kind].isListed === true),

    replace: (kind, logicalCluster, objects, resourceVersion) =>
      storeOf({ kind, logicalCluster })
        .replace(objects, resourceVersion)
        .map((name) => ({ logicalCluster, kind, name })),
    upsert: (kind, logicalCluster, object) => void storeOf({ kind, logicalCluster }).upsert(object),
    remove: (key, resourceVersion) => findStore(key)?.remove(key.name, resourceVersion),
    request: (key) => storeOf(key).request(key.name),
    drop: (logicalCluster) => {
      const tenant = tenants.get(logicalCluster);
      tenants.delete(logicalCluster);
      for (const kind of reconciledKinds) {
        for (const [name] of tenant?.stores[kind].entries() ?? none) notify({ logicalCluster, kind, name }, undefined);
      }
    },

    markStale: (key) => storeOf(key).markStale(key.name),
    markFresh: (key) => findStore(key)?.markFresh(key.name),
    isStale: (key) => findStore(key)?.isStale(key.name) === true,

    load: ({ logicalCluster, name }) => tenantOf(logicalCluster).load.others(name),
    reserved: ({ logicalCluster, name }) => tenantOf(logicalCluster).load.reservedByOthers(name),
    reserve: ({ logicalCluster, name }, selectedClusters) =>
      tenants.get(logicalCluster)?.load.reserve(name, selectedClusters) ?? (() => {}),

    onChange: (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}
