import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { isClaimed, type ReferenceKind, referenceTypes, typeId, type WorkloadType } from "../api/workload-kinds.ts";
import { formatKey, type ObjectKey, parseWorkloadKey, type WorkloadKey, workloadKey } from "../model/key.ts";
import type { CopyAddress } from "../sync/downstream.ts";
import { syncedLabel, tenantLabelValue } from "../sync/ownership/owner.ts";
import type { ClientFor } from "./cluster-clients.ts";
import { type CachedCopy, createCopyCache } from "./copy-cache.ts";
import {
  type ClusterWatches,
  type CopyInformer,
  createClusterWatches,
  excessOf,
  startCopyInformer,
} from "./copy-informer.ts";
import { verifiedOwner } from "./verified-owner.ts";

/** A dependency of workloads, by its upstream name. */
export type DependencyName = Readonly<{
  registration: ObjectKey;
  namespace: string;
  kind: ReferenceKind;
  name: string;
}>;

/** A watch of a cluster that failed; it continues by itself. */
export type CopyWatchFailure = Readonly<{
  registration: ObjectKey;
  type: ResourceType;
  error: unknown;
  retryInMs: number;
  /** For how long the watch has not been open. */
  downMs: number;
}>;

export type CopyWatchesOptions = Readonly<{
  /** The control plane that the copies belong to, as in their owner annotations. */
  hubId: string;
  clientFor: ClientFor;
  /** The types that copies can have. */
  types: readonly WorkloadType[];
  clock: Clock;
  random: () => number;
  /** How often everything is listed again, so that a watch that missed something recovers. */
  relistSeconds: number;
  /** Called with the workload whose copy was created, changed or deleted. Its logical cluster is the registration's. */
  onChanged(key: WorkloadKey): void;
  /** Called when a dependency was created, changed or deleted: workloads that need it should reconcile. `onChanged` is called too. */
  onDependencyChanged?: ((dependency: DependencyName) => void) | undefined;
  onFailure(failure: CopyWatchFailure): void;
  /** A cluster rejected its credentials: others should be found. */
  onUnauthorized?: ((registration: ObjectKey) => void) | undefined;
  /** Whether a cluster may be watched; a subscriber may not know yet that it is gone. @default every cluster */
  mayWatch?: ((registration: ObjectKey) => boolean) | undefined;
  /** Called for an object that has the tenant's label but is not what its owner annotation says; it is ignored. */
  onIgnored?: ((registration: ObjectKey) => void) | undefined;
}>;

/**
 * Watches the copies on clusters, and keeps of each what a reconcile needs. Callers subscribe to types on clusters; nothing
 * is kept of a cluster without a subscription.
 */
export interface CopyWatches {
  /** Watches these types on a cluster too. Subscribing again changes nothing. */
  subscribe(registration: ObjectKey, types: readonly ResourceType[]): void;
  /** Stops all watches of a cluster: it is gone, or not ready. */
  unsubscribe(registration: ObjectKey): void;
  /** Lists everything of a cluster again soon: a probe failed, and the cluster may not be what it was. */
  relistSoon(registration: ObjectKey): void;
  /** The cached copy; undefined when it has to be read: not watched, not listed, stale, or down for too long. */
  cached(address: CopyAddress): CachedCopy | undefined;
  /** Like `cached`, but waits some seconds for a first list that is under way. */
  cachedOnceListed(address: CopyAddress, signal: AbortSignal): Promise<CachedCopy | undefined>;
  /** Announces a request for a copy; the returned function takes the answer (`CopyCache.request`). */
  request(address: CopyAddress): (answer: KubeObject | undefined) => void;
  /** Marks a copy stale: the next read goes to the cluster. */
  markStale(address: CopyAddress): void;
  /** Which limit a cluster exceeded, so that TMC does not watch all its copies now; undefined if none. */
  excess(registration: ObjectKey): string | undefined;
  /** The number of cached copies on all clusters. */
  readonly size: number;
  /** The number of watches, and how many of them have been down for too long. */
  readonly watches: Readonly<{ all: number; down: number }>;
  stop(): Promise<void>;
}

type Watched = ClusterWatches<CopyInformer>;

/** Creates watches without subscriptions. */
export function createCopyWatches(options: CopyWatchesOptions): CopyWatches {
  const { hubId, types, clock, random } = options;
  const known = new Map<string, WorkloadType>(types.map((each) => [typeId(each.type), each]));
  const byKind = new Map(types.map((each) => [`${each.apiVersion} ${each.kind}`, each]));
  const clusters = new Map<string, Watched>();
  const stopping = new Set<Promise<void>>();

  const informerOf = ({ registration, object }: CopyAddress): CopyInformer | undefined =>
    clusters.get(formatKey(registration))?.informers.get(typeId(object.type));
  const cachedBy = (informer: CopyInformer | undefined, { object }: CopyAddress): CachedCopy | undefined =>
    informer?.isFresh === true ? informer.cache.get(object) : undefined;
  const stop = (informer: CopyInformer): void => {
    const stopped = informer.stop().finally(() => stopping.delete(stopped));
    stopping.add(stopped);
  };
  const all = (): readonly CopyInformer[] => [...clusters.values()].flatMap(({ informers }) => [...informers.values()]);

  /** The name of the key of a copy's workload. The copy does not decide the logical cluster: the registration does. */
  const workloadOf = (registration: ObjectKey, object: KubeObject): string | undefined => {
    const owner = verifiedOwner(object, registration);
    const type = owner && byKind.get(`${owner.apiVersion} ${owner.kind}`);
    return type && workloadKey(registration.logicalCluster, { ...owner, type: type.type }).name;
  };
  const notify = (registration: ObjectKey, { kind }: WorkloadType, names: readonly string[]): void => {
    const { logicalCluster } = registration;
    for (const name of names) {
      options.onChanged({ logicalCluster, kind: "Workload", name });
      const address = isReference(kind) ? parseWorkloadKey({ name }) : undefined;
      if (address === undefined || !isReference(kind)) continue;
      options.onDependencyChanged?.({ registration, namespace: address.namespace, kind, name: address.name });
    }
  };
  const start = (registration: ObjectKey, type: WorkloadType, { gate, account }: Watched): CopyInformer =>
    startCopyInformer({
      ...type,
      name: registration.name,
      metadataOnly: isClaimed(type),
      labelSelector: `${syncedLabel}=${tenantLabelValue(hubId, registration.logicalCluster)}`,
      open: (signal) => options.clientFor(registration, signal),
      gate,
      account,
      cache: createCopyCache({
        onSizeChange: account.add,
        workloadOf: (object) => {
          const workload = workloadOf(registration, object);
          const isLabelled = object.metadata.labels?.[syncedLabel] !== undefined;
          if (workload === undefined && isLabelled) options.onIgnored?.(registration);
          return workload;
        },
      }),
      clock,
      random,
      relistSeconds: options.relistSeconds,
      onChanged: (names) => notify(registration, type, names),
      onFailure: (failure) => options.onFailure({ registration, type: type.type, ...failure }),
      onUnauthorized: () => options.onUnauthorized?.(registration),
    });

  return {
    subscribe: (registration, subscribed) => {
      if (options.mayWatch?.(registration) === false) return;
      const id = formatKey(registration);
      const cluster = clusters.get(id) ?? createClusterWatches<CopyInformer>({ clock, random });
      clusters.set(id, cluster);
      for (const each of subscribed) {
        const type = known.get(typeId(each));
        if (type === undefined || cluster.informers.has(typeId(each))) continue;
        cluster.informers.set(typeId(each), start(registration, type, cluster));
      }
    },
    unsubscribe: (registration) => {
      const id = formatKey(registration);
      for (const informer of clusters.get(id)?.informers.values() ?? []) stop(informer);
      clusters.delete(id);
    },
    relistSoon: (registration) => {
      for (const informer of clusters.get(formatKey(registration))?.informers.values() ?? []) informer.relistSoon();
    },
    cached: (address) => cachedBy(informerOf(address), address),
    cachedOnceListed: async (address, signal) => {
      const informer = informerOf(address);
      await informer?.whenListed(signal);
      return cachedBy(informer, address);
    },
    request: (address) => informerOf(address)?.cache.request(address.object) ?? (() => {}),
    markStale: (address) => informerOf(address)?.cache.markStale(address.object),
    excess: (registration) => excessOf(clusters.get(formatKey(registration))?.informers.values() ?? []),
    get size() {
      return all().reduce((sum, { cache }) => sum + cache.size, 0);
    },
    get watches() {
      const informers = all();
      return { all: informers.length, down: informers.filter(({ isFresh }) => !isFresh).length };
    },
    stop: async () => {
      for (const informer of all()) stop(informer);
      clusters.clear();
      await Promise.all(stopping);
    },
  };
}

function isReference(kind: string): kind is ReferenceKind {
  return kind in referenceTypes;
}
