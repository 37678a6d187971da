import type { Clock } from "@tmc/kube/clock.ts";
import type { Connections } from "../credentials/connections.ts";
import type { CredentialSource } from "../credentials/credentials.ts";
import { createDownstream } from "../downstream/client.ts";
import { createClusterClients } from "../downstream/cluster-clients.ts";
import { createCopyWatches } from "../downstream/copy-watch.ts";
import { createOrphanReconciler } from "../downstream/owned-objects.ts";
import { createWatchSubscriptions } from "../downstream/watch-subscriptions.ts";
import type { ReconcilersOptions } from "../engine/reconcilers.ts";
import type { Hub } from "../model/hub.ts";
import { formatKey, type ObjectKey, type WorkKey } from "../model/key.ts";
import type { WorkQueue } from "../model/work-item.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { ObservedWatches } from "../registration/conditions.ts";
import { createUnreadyListener, type RegistrationListener } from "../relay/downstream/upsync-subscriptions.ts";
import type { ShardFilter } from "../sources/shard.ts";
import { createBurstGate } from "../sync/burst-gate.ts";
import { notifyDelaySeconds } from "../sync/fan-out.ts";
import type { SyncTools } from "../sync/observed.ts";
import type { OwnerReads } from "../sync/orphans/reconcile.ts";
import { syncReconciler } from "../sync/reconcile.ts";
import { defaultSyncSettings, type SyncSettings } from "../sync/settings.ts";
import { createStatusDebounce } from "../sync/status/debounce.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import type { WorkloadCache } from "../upstream/workload-cache.ts";
import { runInSequence } from "../upsync/reconcile.ts";
import { createUpsyncParts, type UpsyncInputs } from "./upsync-parts.ts";

export type SyncPartsOptions = Readonly<{
  hub: Hub;
  workloads: WorkloadHub & OwnerReads;
  /** The workload cache of the relay in this process. */
  cache: WorkloadCache;
  connections: Connections;
  credentials: CredentialSource;
  queue: WorkQueue;
  /** Which keys this process is responsible for; undefined if it is responsible for all. */
  isInShard?: ShardFilter | undefined;
  /** Whether many keys wait or run. @default unknown */
  isBusy?: (() => boolean) | undefined;
  hubId: string;
  settings?: Partial<Omit<SyncSettings, "hubId">> | undefined;
  /** Enables upsync. @default no upsync */
  upsync?: UpsyncInputs | undefined;
  /** Why workloads of a kind are not synced: the hub runs them itself. @default they are synced */
  hubBlocker?: SyncTools["hubBlocker"];
  relistSeconds: number;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
}>;

/** The parts of a controller that sync workloads and upsync objects. */
export interface SyncParts {
  readonly sync: NonNullable<ReconcilersOptions["sync"]>;
  /**
   * Listen to registrations: subscribe to the upsync watches of their clusters, and end the watches of copies on clusters that
   * are not Ready. None unless other processes probe clusters too, with a shared queue or shards.
   */
  readonly listeners: readonly RegistrationListener[];
  /** Drops the cached responses of clusters, because a new batch of keys was received. */
  beginBatch(): void;
  /** Stops the watches of copies on a cluster that does not respond or has no registration; the next reconcile starts them again. */
  unsubscribe(registration: ObjectKey): void;
  /** Lists the copies on a cluster again soon, because a probe of the cluster failed. */
  relistSoon(registration: ObjectKey): void;
  /** Whether the watches of a cluster are within the limits. */
  watches(registration: ObjectKey): ObservedWatches;
  stop(): Promise<void>;
}

/** Creates the downstream client and its watches; changes on clusters are enqueued. */
export function createSyncParts(options: SyncPartsOptions): SyncParts {
  const { hub, workloads, cache, connections, credentials, queue, isInShard, relistSeconds } = options;
  const { clock, random, log, metrics } = options;
  const settings: SyncSettings = {
    ...defaultSyncSettings,
    ...options.settings,
    hubId: options.hubId,
    watchesCopies: true,
  };
  const clients = createClusterClients({ hub, credentials, connections, clock });
  const enqueue = async (keys: readonly WorkKey[]): Promise<void> => {
    if (keys.length === 0) return;
    await queue
      .send(keys.map((key) => ({ key, reason: "changed" })))
      // The next resync enqueues them again.
      .catch((error: unknown) => log.warn("queue rejected keys", { keys: keys.length, error }));
  };
  const copies = createCopyWatches({
    hubId: settings.hubId,
    clientFor: clients.clientFor,
    types: workloads.types,
    clock,
    random,
    relistSeconds,
    // Of any shard: the shard of the workload may not watch this cluster, and a copy that no record names must be found.
    onChanged: (key) => void enqueue([key]),
    onDependencyChanged: ({ registration: { logicalCluster }, ...dependency }) =>
      void enqueue(cache.referrers({ logicalCluster, ...dependency })),
    onFailure: ({ registration: { logicalCluster, name }, type, error, retryInMs }) =>
      log.info("cluster watch failed", {
        logicalCluster,
        name,
        what: type.plural,
        retryInSeconds: retryInMs / 1000,
        error,
      }),
    onUnauthorized: clients.unauthorized,
    onIgnored: ({ logicalCluster, name }) => log.warn("copy with an unknown owner ignored", { logicalCluster, name }),
  });
  const subscriptions = createWatchSubscriptions(copies);
  const downstream = createDownstream({
    clientFor: clients.clientFor,
    copies,
    subscriptions,
    clock,
    rate: settings.callRate,
    callSeconds: settings.callTimeoutSeconds,
    types: workloads.types,
    onUnauthorized: clients.unauthorized,
  });
  const upsync =
    options.upsync && createUpsyncParts({ ...options, ...options.upsync, isInShard, clients, settings, enqueue });
  const orphans = new Map<string, number>();
  const removeGauges = metrics.onScrape(() => {
    metrics.set(
      "tmc_orphaned_copies",
      {},
      [...orphans.values()].reduce((sum, count) => sum + count, 0),
    );
    const { all, down } = copies.watches;
    const upsynced = upsync?.watches.watches ?? { all: 0, down: 0 };
    metrics.set("tmc_sync_copies", {}, copies.size);
    metrics.set("tmc_upsync_objects", {}, upsync?.watches.size ?? 0);
    metrics.set("tmc_sync_watches", { state: "open" }, all - down + upsynced.all - upsynced.down);
    metrics.set("tmc_sync_watches", { state: "down" }, down + upsynced.down);
  });
  const work = syncReconciler({
    hub,
    workloads,
    downstream,
    clock,
    settings,
    upsyncOrigins: upsync?.origins,
    debounce: createStatusDebounce({ clock }),
    burstGate: options.isBusy && createBurstGate({ clock, isBusy: options.isBusy }),
    hubBlocker: options.hubBlocker,
    onCopyAction: ({ action }) => metrics.add("tmc_sync_actions_total", { action }),
    notifyPlacement: (key) => queue.sendLater({ key, reason: "fan-out" }, notifyDelaySeconds),
  });
  return {
    sync: {
      workloads,
      work: upsync === undefined ? work : runInSequence(upsync.work, work),
      reconcileUpsync: upsync?.reconcileRegistration,
      reconcileOrphans: createOrphanReconciler({
        hub,
        workloads,
        clients,
        settings,
        clock,
        onCount: (registration, count) => {
          if (count === 0) orphans.delete(formatKey(registration));
          else orphans.set(formatKey(registration), count);
        },
      }),
    },
    listeners:
      upsync?.subscriptions === undefined
        ? []
        : [upsync.subscriptions, createUnreadyListener(subscriptions.unsubscribe)],
    beginBatch: () => upsync?.beginBatch(),
    unsubscribe: subscriptions.unsubscribe,
    relistSoon: (registration) => {
      copies.relistSoon(registration);
      upsync?.watches.relistSoon(registration);
    },
    watches: (registration) => ({
      excess: copies.excess(registration) ?? upsync?.watches.excess(registration),
    }),
    stop: async () => {
      removeGauges();
      await Promise.all([copies.stop(), upsync?.watches.stop()]);
    },
  };
}
