import type { Clock } from "@tmc/kube/clock.ts";
import { maxRecentDeletions } from "../api/cluster-registration.ts";
import { typeId } from "../api/workload-kinds.ts";
import { formatKey, type ObjectKey, type WorkloadKey, workloadKey } from "../model/key.ts";
import type { CopyAddress } from "../sync/downstream.ts";
import type { OptIn } from "../upsync/opt-in.ts";
import type { UpsyncSource } from "../upsync/world.ts";
import type { ClientFor } from "./cluster-clients.ts";
import { createCopyCache } from "./copy-cache.ts";
import {
  type ClusterWatches,
  type CopyInformer,
  createClusterWatches,
  excessOf,
  startCopyInformer,
} from "./copy-informer.ts";
import type { CopyWatchFailure } from "./copy-watch.ts";
import { defaultRateLimit, type RateLimit } from "./rate-limit.ts";
import { createSessions } from "./session.ts";
import { createUpsyncReader, hashIn, projectUpsynced, upsyncSelector, upsyncStateOf } from "./upsync-projection.ts";

export type UpsyncWatchesOptions = Readonly<{
  clientFor: ClientFor;
  clock: Clock;
  random: () => number;
  relistSeconds: number;
  /** The rate limit for requests to each cluster for upsync. */
  rate?: RateLimit | undefined;
  /** Called with the workload key of an object that was created, changed or deleted. Its logical cluster is the registration's. */
  onChanged(key: WorkloadKey): void;
  onFailure(failure: CopyWatchFailure): void;
  /** A cluster rejected its credentials: others should be found. */
  onUnauthorized?: ((registration: ObjectKey) => void) | undefined;
}>;

/** Watches clusters for objects to upsync. */
export interface UpsyncWatches extends UpsyncSource {
  readonly size: number;
  /** The names of the workload keys of all cached objects of a cluster. */
  cachedNames(registration: ObjectKey): readonly string[];
  /** The number of watches, and how many of them have been down for too long. */
  readonly watches: Readonly<{ all: number; down: number }>;
  /** Lists everything of a cluster again soon: a probe failed, and the cluster may not be what it was. */
  relistSoon(registration: ObjectKey): void;
  /** Which limit a cluster exceeded, so that TMC does not watch all its objects now; undefined if none. */
  excess(registration: ObjectKey): string | undefined;
  stop(): Promise<void>;
}

/** An informer and the opt-in rules that it was started for; other rules need another informer. */
type RuledInformer = Readonly<{
  informer: CopyInformer;
  rules: string;
  /** Workload key name → uid of objects whose deletion was observed; the oldest are dropped. */
  deletions: Map<string, string>;
}>;
type Watched = ClusterWatches<RuledInformer>;

/**
 * Creates watches without subscriptions. Of an object that is opted in they keep its name, uid, version, a hash of its
 * content, and its status; of any other object nothing.
 */
export function createUpsyncWatches(options: UpsyncWatchesOptions): UpsyncWatches {
  const { clientFor, clock, random, relistSeconds, onUnauthorized, rate = defaultRateLimit } = options;
  const withSession = createSessions({ clientFor, clock, rate, onUnauthorized });
  const clusters = new Map<string, Watched>();
  const stopping = new Set<Promise<void>>();

  const stop = ({ informer }: RuledInformer): void => {
    const stopped = informer.stop().finally(() => stopping.delete(stopped));
    stopping.add(stopped);
  };
  const start = (registration: ObjectKey, optIn: OptIn, { gate, account }: Watched): RuledInformer => {
    const { type, apiVersion, kind } = optIn.type;
    const { logicalCluster } = registration;
    const deletions = new Map<string, string>();
    const informer = startCopyInformer({
      name: registration.name,
      type,
      apiVersion,
      kind,
      metadataOnly: false,
      labelSelector: upsyncSelector,
      transform: (object) => projectUpsynced({ ...object, apiVersion, kind }, optIn),
      open: (signal) => clientFor(registration, signal),
      gate,
      account,
      cache: createCopyCache({
        onSizeChange: account.add,
        workloadOf: (object) => {
          const { namespace = "", name = "" } = object.metadata;
          return hashIn(object) === undefined ? undefined : workloadKey(logicalCluster, { type, namespace, name }).name;
        },
        hashOf: hashIn,
      }),
      clock,
      random,
      relistSeconds,
      onChanged: (names) => {
        for (const name of names) options.onChanged({ logicalCluster, kind: "Workload", name });
      },
      onDeletion: ({ metadata: { namespace = "", name = "", uid = "" } }) =>
        rememberDeletion(deletions, workloadKey(logicalCluster, { type, namespace, name }).name, uid),
      onFailure: (failure) => options.onFailure({ registration, type, ...failure }),
      onUnauthorized: () => onUnauthorized?.(registration),
    });
    return { informer, rules: rulesOf(optIn), deletions };
  };
  const informerOf = ({ registration, object }: CopyAddress): CopyInformer | undefined =>
    clusters.get(formatKey(registration))?.informers.get(typeId(object.type))?.informer;
  const runningOn = (registration: ObjectKey): readonly RuledInformer[] => [
    ...(clusters.get(formatKey(registration))?.informers.values() ?? []),
  ];
  const informersOf = (registration: ObjectKey): readonly CopyInformer[] =>
    runningOn(registration).map(({ informer }) => informer);
  const all = (): readonly RuledInformer[] =>
    [...clusters.values()].flatMap(({ informers }) => [...informers.values()]);
  const readObject = createUpsyncReader(withSession);

  return {
    isWatching: true,
    subscribe: (registration, optIns) => {
      const id = formatKey(registration);
      const cluster = clusters.get(id) ?? createClusterWatches<RuledInformer>({ clock, random });
      clusters.set(id, cluster);
      const byType = new Map(optIns.map((each) => [typeId(each.type.type), each]));
      for (const [type, running] of cluster.informers) {
        const optIn = byType.get(type);
        if (optIn !== undefined && rulesOf(optIn) === running.rules) continue;
        stop(running);
        cluster.informers.delete(type);
      }
      for (const [type, optIn] of byType) {
        if (cluster.informers.has(type)) continue;
        cluster.informers.set(type, start(registration, optIn, cluster));
      }
    },
    unsubscribe: (registration) => {
      for (const running of runningOn(registration)) stop(running);
      clusters.delete(formatKey(registration));
    },
    relistSoon: (registration) => {
      for (const informer of informersOf(registration)) informer.relistSoon();
    },
    excess: (registration) => excessOf(informersOf(registration)),
    cached: (address) => {
      const informer = informerOf(address);
      const found = informer?.isFresh === true ? informer.cache.get(address.object) : undefined;
      if (found === undefined || found.kind === "absent") return found;
      return { kind: "present", copy: found.copy, hash: found.hash ?? "" };
    },
    readUncached: async (address, optIn, signal) => {
      const answered = informerOf(address)?.cache.request(address.object);
      const object = await readObject(address, signal);
      const { apiVersion, kind } = optIn.type;
      answered?.(object && projectUpsynced({ ...object, apiVersion, kind }, optIn));
      return upsyncStateOf(object, optIn);
    },
    readObject,
    listUids: async (registration) => {
      const informers = informersOf(registration);
      if (!clusters.has(formatKey(registration)) || informers.some(({ isFresh }) => !isFresh)) return undefined;
      return new Map(informers.flatMap(({ cache }) => [...cache.uids()]));
    },
    observedDeletions: (registration) => new Map(runningOn(registration).flatMap(({ deletions }) => [...deletions])),
    invalidate: () => {},
    cachedNames: (registration) =>
      informersOf(registration).flatMap(({ cache }) => [...cache.uids()].map(([name]) => name)),
    get size() {
      return all().reduce((sum, { informer }) => sum + informer.cache.size, 0);
    },
    get watches() {
      const informers = all();
      return { all: informers.length, down: informers.filter(({ informer }) => !informer.isFresh).length };
    },
    stop: async () => {
      for (const running of all()) stop(running);
      clusters.clear();
      await Promise.all(stopping);
    },
  };
}

/** As many as the deletion log of a registration has: more deletions than that need a confirmation anyway. */
const maxDeletions = maxRecentDeletions;

function rememberDeletion(deletions: Map<string, string>, name: string, uid: string): void {
  deletions.delete(name); // moves the entry to the end of the map's order
  deletions.set(name, uid);
  for (const oldest of deletions.keys()) {
    if (deletions.size <= maxDeletions) return;
    deletions.delete(oldest);
  }
}

const rulesOf = ({ rules }: OptIn): string => JSON.stringify(rules);
