import type { ClusterClients } from "../downstream/cluster-clients.ts";
import { createUpsyncReads } from "../downstream/upsync-reads.ts";
import { createUpsyncWatches, type UpsyncWatches } from "../downstream/upsync-watch.ts";
import type { WorkKey, WorkloadKey } from "../model/key.ts";
import type { Work } from "../model/work-item.ts";
import { createUpsyncSubscriptions, type RegistrationListener } from "../relay/downstream/upsync-subscriptions.ts";
import type { ShardFilter } from "../sources/shard.ts";
import type { SyncSettings } from "../sync/settings.ts";
import type { UpsyncOrigins } from "../sync/status/upsync-origin-status.ts";
import { createUpsyncLocalState } from "../upsync/local-state.ts";
import { upsyncReconciler } from "../upsync/reconcile.ts";
import { type ReconcileUpsync, upsyncRegistrationReconciler } from "../upsync/reconcile-registration.ts";
import { createUpsyncOrigins, type UpsyncHub, type UpsyncTools } from "../upsync/world.ts";

import type { SyncPartsOptions } from "./sync-parts.ts";

/** What upsync needs in addition to the options of sync. */
export type UpsyncInputs = Readonly<{
  upsyncHub: UpsyncHub;
  /** Whether everything in a logical cluster has been listed. */
  isListed: (logicalCluster: string) => boolean;
  /**
   * Whether other processes enqueue keys too. Their keys can be ahead of the watches of this process, so reconcilers then read
   * from the clusters, and the watches only enqueue keys.
   */
  isShared: boolean;
}>;

export type UpsyncPartsOptions = UpsyncInputs &
  Pick<SyncPartsOptions, "hub" | "workloads" | "relistSeconds" | "clock" | "random" | "log" | "metrics"> &
  Readonly<{
    /** Which keys this process is responsible for; undefined if it is responsible for all. */
    isInShard: ShardFilter | undefined;
    clients: ClusterClients;
    settings: SyncSettings;
    enqueue: (keys: readonly WorkKey[]) => Promise<void>;
  }>;

/** The parts of a controller that upsync objects. */
export type UpsyncParts = Readonly<{
  watches: UpsyncWatches;
  /** Only with a shared queue or shards; otherwise the reconciler of registrations subscribes. */
  subscriptions: RegistrationListener | undefined;
  /** Drops the cached responses of clusters. */
  beginBatch: () => void;
  work: Work<WorkloadKey>;
  reconcileRegistration: ReconcileUpsync;
  origins: UpsyncOrigins;
}>;

/** Creates the watches of upsynced objects, and their reconcilers. */
export function createUpsyncParts(options: UpsyncPartsOptions): UpsyncParts {
  const { hub, workloads, upsyncHub, isListed, isShared, isInShard, clients, settings, enqueue, relistSeconds } =
    options;
  const { clock, random, log, metrics } = options;
  // Every shard watches every cluster, and an object belongs to one shard, whichever one has the registration.
  const enqueueOwn = (keys: readonly WorkKey[]): Promise<void> =>
    enqueue(isInShard === undefined ? keys : keys.filter(isInShard));
  const watches = createUpsyncWatches({
    clientFor: clients.clientFor,
    clock,
    random,
    relistSeconds,
    rate: settings.callRate,
    onChanged: (key) => void enqueueOwn([key]),
    onFailure: ({ registration: { logicalCluster, name }, type, error, retryInMs }) =>
      log.info("cluster watch failed", {
        logicalCluster,
        name,
        what: type.plural,
        retryInSeconds: retryInMs / 1000,
        error,
      }),
    onUnauthorized: clients.unauthorized,
  });
  const { callRate: rate, callTimeoutSeconds } = settings;
  const reads = isShared
    ? createUpsyncReads({
        clientFor: clients.clientFor,
        clock,
        rate,
        callSeconds: callTimeoutSeconds,
        onUnauthorized: clients.unauthorized,
        observedDeletions: watches.observedDeletions,
      })
    : undefined;
  const tools: UpsyncTools = {
    hub,
    workloads,
    upsyncHub,
    source: reads ?? watches,
    localState: createUpsyncLocalState(),
    clock,
    settings,
    isListed,
    enqueue,
    onUpsync: (action) => metrics.add("tmc_upsync_actions_total", { action }),
  };
  return {
    watches,
    subscriptions:
      isShared || isInShard !== undefined
        ? createUpsyncSubscriptions(isShared ? watches : reportingUnsubscribed(watches, enqueueOwn), workloads.types)
        : undefined,
    beginBatch: () => reads?.beginBatch(),
    work: upsyncReconciler(tools),
    reconcileRegistration: upsyncRegistrationReconciler(tools),
    origins: createUpsyncOrigins(tools),
  };
}

/** Watches that enqueue what they had of a cluster when they end: nothing else enqueues them in this shard. */
function reportingUnsubscribed(
  watches: UpsyncWatches,
  enqueue: (keys: readonly WorkKey[]) => Promise<void>,
): Pick<UpsyncWatches, "subscribe" | "unsubscribe"> {
  return {
    subscribe: watches.subscribe,
    unsubscribe: (registration) => {
      const cached = watches.cachedNames(registration);
      watches.unsubscribe(registration);
      const { logicalCluster } = registration;
      void enqueue(cached.map((name) => ({ logicalCluster, kind: "Workload", name })));
    },
  };
}
