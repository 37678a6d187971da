import type { Clock } from "@tmc/kube/clock.ts";
import type { Informer, InformerHandler, ListInfo } from "@tmc/kube/informer/informer.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { logicalClusterIn } from "../../upstream/logical-cluster.ts";
import { createRelistSchedule } from "./relist-schedule.ts";

/** Tracks the objects of one logical cluster, by resource. */
export interface ResourceTracker<Id extends string> {
  /** All objects of a resource; `resourceVersion` is the version of the list, where it is known. */
  listed(resource: Id, objects: readonly KubeObject[], resourceVersion?: string): void;
  /** The server does not serve the resource. */
  absent?(resource: Id): void;
  changed(resource: Id, object: KubeObject): void;
  deleted(resource: Id, object: KubeObject): void;
}

/** The handler that a shared informer needs. */
export type SharedHandler = Required<Pick<InformerHandler, "listed" | "absent" | "changed" | "deleted">>;

/** One informer per resource for all tenants behind one endpoint, however many tenants there are. */
export interface SharedInformers<Id extends string> {
  /** Adds a tenant. The informers start with the first tenant. */
  engage(logicalCluster: string, tracker: ResourceTracker<Id>): void;
  /** Removes a tenant. The informers stop with the last tenant. */
  release(logicalCluster: string): void;
  /** Lists everything again soon, once for all callers. */
  relist(): void;
  stop(): Promise<void>;
}

export type SharedInformersOptions<Id extends string> = Readonly<{
  resources: readonly Id[];
  /** Starts the informer of a resource of all tenants. */
  start: (resource: Id, handler: SharedHandler) => Informer;
  clock: Clock;
}>;

/** A tenant, and for each resource how many lists had begun when the tenant was added: these lists may lack its objects. */
type Engaged<Id extends string> = Readonly<{ tracker: ResourceTracker<Id>; listsBefore: ReadonlyMap<Id, number> }>;

/** Creates informers that do not run yet: without a tenant the server does not serve the resources. */
export function createSharedInformers<Id extends string>({
  resources,
  start,
  clock,
}: SharedInformersOptions<Id>): SharedInformers<Id> {
  const tenants = new Map<string, Engaged<Id>>();
  const stopping = new Set<Promise<void>>();
  let informers: ReadonlyMap<Id, Informer> | undefined;
  let isStopped = false;
  /** The resources whose current list has not arrived yet. */
  const pendingLists = new Set<Id>();
  /**
   * Relists everything for a new tenant: a watch that began before its type was served may stay silent forever, and the
   * informers passed over the objects that the tenant had before it was added.
   */
  const relists = createRelistSchedule({
    clock,
    relist: () => {
      for (const resource of resources) {
        pendingLists.add(resource);
        informers?.get(resource)?.relist();
      }
    },
  });

  const handlerOf = (resource: Id, isCurrent: () => boolean): SharedHandler => {
    const trackerOf = (object: KubeObject): ResourceTracker<Id> | undefined =>
      isCurrent() ? tenants.get(logicalClusterIn(object))?.tracker : undefined;
    const arrived = (): void => {
      pendingLists.delete(resource);
      if (pendingLists.size === 0) relists.listFinished();
    };
    const forEachTenant = (
      { number }: ListInfo,
      apply: (logicalCluster: string, tracker: ResourceTracker<Id>) => void,
    ): void => {
      for (const [logicalCluster, { tracker, listsBefore }] of tenants) {
        if ((listsBefore.get(resource) ?? 0) < number) apply(logicalCluster, tracker);
      }
    };
    return {
      listed: (objects, list) => {
        if (!isCurrent()) return;
        arrived();
        const byTenant = Map.groupBy(objects, logicalClusterIn);
        forEachTenant(list, (logicalCluster, tracker) =>
          tracker.listed(resource, byTenant.get(logicalCluster) ?? [], list.resourceVersion),
        );
      },
      absent: (_error, list) => {
        if (!isCurrent()) return;
        arrived();
        forEachTenant(list, (_logicalCluster, tracker) => tracker.absent?.(resource));
      },
      changed: (object) => trackerOf(object)?.changed(resource, object),
      deleted: (object) => trackerOf(object)?.deleted(resource, object),
    };
  };

  const startAll = (): void => {
    if (isStopped || informers !== undefined || tenants.size === 0) return;
    for (const resource of resources) pendingLists.add(resource);
    relists.listStarted();
    let started: ReadonlyMap<Id, Informer> | undefined;
    /** Informers that were stopped may still report something. */
    const isCurrent = (): boolean => started !== undefined && informers === started;
    started = new Map(resources.map((resource) => [resource, start(resource, handlerOf(resource, isCurrent))]));
    informers = started;
  };
  const stopAll = (): void => {
    relists.stop();
    for (const informer of informers?.values() ?? []) {
      const stopped = informer.stop().finally(() => stopping.delete(stopped));
      stopping.add(stopped);
    }
    informers = undefined;
  };

  return {
    engage: (logicalCluster, tracker) => {
      if (isStopped) return;
      const listsBefore = new Map(
        resources.map((resource) => [resource, informers?.get(resource)?.listsBegun ?? 0] as const),
      );
      tenants.set(logicalCluster, { tracker, listsBefore });
      if (informers !== undefined) relists.request();
      // One start for all tenants that are added together.
      else if (tenants.size === 1) queueMicrotask(startAll);
    },
    release: (logicalCluster) => {
      tenants.delete(logicalCluster);
      if (tenants.size === 0) stopAll();
    },
    relist: () => {
      if (informers !== undefined) relists.request();
    },
    stop: async () => {
      isStopped = true;
      stopAll();
      await Promise.all(stopping);
    },
  };
}
