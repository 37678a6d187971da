import { objectId } from "@tmc/kube/informer/object-store.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { TypeId, WorkloadType } from "../../api/workload-kinds.ts";
import { formatKey } from "../../model/key.ts";
import { coalesce, type WorkItem } from "../../model/work-item.ts";
import type { WatchedResource } from "../../upstream/watched-resources.ts";
import type { WorkloadCache } from "../../upstream/workload-cache.ts";
import type { ResourceTracker } from "../watch/shared-informers.ts";
import { type AffectedWorkloads, createWorkloadChanges } from "./workload-changes.ts";

/** What a relay needs to watch workloads too. */
export type RelayedWorkloads = Readonly<{
  types: readonly WorkloadType[];
  /** Gets what informers report, before any key of it is sent. @default no cache */
  cache?: Pick<WorkloadCache, "replace" | "markListed" | "upsert" | "remove"> | undefined;
  /** Removes from an object what the cache does not keep. @default the whole object is kept */
  transform?: ((object: KubeObject) => KubeObject) | undefined;
}>;

export type WorkloadTrackerOptions = Pick<RelayedWorkloads, "types" | "cache"> &
  Readonly<{
    logicalCluster: string;
    send: (items: readonly WorkItem[]) => void;
    /** Whether the logical cluster is still tracked: an informer may report something late. */
    isTracked: () => boolean;
    /** Called when everything has been listed once. */
    onListed: () => void;
  }>;

/**
 * Sends the keys of the workloads of one logical cluster that a change affects.
 *
 * No key is sent before everything has been listed, our own two kinds included: sync would take unlisted objects for missing
 * ones. The only exception are workloads that TMC has not begun with. They do not wait for the list of sync records, because
 * their reconcile reads its own record from the server.
 */
export interface WorkloadTracker extends Required<ResourceTracker<TypeId>> {
  /** Whether everything that sync depends on has been listed once. */
  readonly isListed: boolean;
  /** Both of our kinds have been listed. */
  kindsAreListed(): void;
  /** Takes a placement; undefined for a deleted one. */
  applyPlacement(name: string, placement: KubeObject | undefined): void;
  /** Sends the keys of all workloads: TMC's permissions have changed. */
  enqueueAll(): void;
}

/** Creates a tracker that knows no object yet. */
export function createWorkloadTracker(options: WorkloadTrackerOptions): WorkloadTracker {
  const { logicalCluster, types, cache, send, isTracked, onListed } = options;
  const changes = createWorkloadChanges(types);
  const { resources } = changes;
  const listed = new Set<TypeId>();
  let areKindsListed = false;
  /** Keys that wait until everything is listed; undefined from then on. */
  let pending: PendingKeys | undefined = createPendingKeys();
  /** Whether new workloads are sent although sync records are still missing. */
  let isSendingNew = false;

  const enqueue = ({ names, reason = "changed", ...change }: AffectedWorkloads): void => {
    const resourceVersion = changes.messageVersion(change.resourceVersion);
    const items = [...names].map(
      (name): WorkItem => ({ key: { logicalCluster, kind: "Workload", name }, reason, resourceVersion }),
    );
    if (items.length === 0) return;
    if (pending === undefined) {
      send(items);
      return;
    }
    pending.add(items);
    if (isSendingNew) sendNew(items);
  };
  const enqueueAffected = (affected: readonly AffectedWorkloads[]): void => {
    for (const each of affected) enqueue(each);
  };
  /** These keys stay pending as well, and are reconciled again when everything is listed. */
  const sendNew = (items: readonly WorkItem[]): void => {
    const fresh = items.filter(({ key }) => changes.isNew(key.name));
    if (fresh.length > 0) send(fresh);
  };
  const release = (): void => {
    if (pending === undefined || !areKindsListed) return;
    const areOthersListed = [...resources].every(([id, { role }]) => role === "record" || listed.has(id));
    if (!isSendingNew && areOthersListed) {
      isSendingNew = true;
      if (listed.size < resources.size) sendNew(pending.all());
    }
    if (listed.size < resources.size) return;
    // Which dependencies are workloads by themselves is known only now.
    enqueue({ names: changes.claimed(), resourceVersion: undefined });
    const items = pending.all();
    pending = undefined;
    // New workloads go first: thousands that are already placed can wait.
    const { first = [], later = [] } = Object.groupBy(items, ({ key }) =>
      changes.isProtected(key.name) ? "later" : "first",
    );
    const inOrder: WorkItem[] = [...first, ...later.map((item) => ({ ...item, isLowPriority: true }))];
    if (inOrder.length > 0) send(inOrder);
    onListed();
  };
  const find = (id: TypeId): WatchedResource | undefined => (isTracked() ? resources.get(id) : undefined);
  const observe = (resource: WatchedResource, object: KubeObject, isRestored = false): void =>
    enqueueAffected(changes.observe(resource, object, { isInitial: pending !== undefined, isRestored }));

  return {
    get isListed() {
      return listed.size === resources.size;
    },
    listed: (id, objects, resourceVersion) => {
      const resource = find(id);
      if (resource === undefined) return;
      cache?.replace(resource.type, logicalCluster, objects, resourceVersion);
      const missing = new Set(changes.ids(resource));
      const isRestored = changes.isRestored(resource, objects, resourceVersion);
      for (const object of objects) {
        missing.delete(objectId(object));
        observe(resource, object, isRestored);
      }
      // Not seen is not gone: the reconciler asks the server.
      for (const each of missing) enqueueAffected(changes.forget(resource, each));
      listed.add(id);
      release();
    },
    absent: (id) => {
      const resource = find(id);
      if (resource === undefined) return;
      cache?.markListed(resource.type, logicalCluster);
      listed.add(id);
      release();
    },
    changed: (id, object) => {
      const resource = find(id);
      if (resource === undefined) return;
      cache?.upsert(resource.type, logicalCluster, object);
      observe(resource, object);
    },
    deleted: (id, object) => {
      const resource = find(id);
      if (resource === undefined) return;
      const { namespace = "", name = "", resourceVersion } = object.metadata;
      cache?.remove({ logicalCluster, type: resource.type, namespace, name }, resourceVersion);
      enqueueAffected(changes.forget(resource, objectId(object), resourceVersion));
    },
    kindsAreListed: () => {
      areKindsListed = true;
      release();
    },
    applyPlacement: (name, placement) => {
      const affected = changes.observePlacement(name, placement);
      if (pending === undefined) enqueueAffected(affected);
    },
    enqueueAll: () => enqueue({ names: changes.all(), resourceVersion: undefined }),
  };
}

/** Keys that are kept back until everything was listed once; several items of one key coalesce into one. */
export interface PendingKeys {
  add(items: readonly WorkItem[]): void;
  all(): readonly WorkItem[];
}

/** Creates an empty collection. */
export function createPendingKeys(): PendingKeys {
  const pending = new Map<string, WorkItem>();
  return {
    add: (items) => {
      for (const item of items) {
        const id = formatKey(item.key);
        const before = pending.get(id);
        pending.set(id, before === undefined ? item : coalesce(before, item));
      }
    },
    all: () => [...pending.values()],
  };
}
