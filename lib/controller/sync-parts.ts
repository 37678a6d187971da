import type { Clock } from "@tmc/kube/clock.ts";
import type { Connections } from "../credentials/connections.ts";
import type { CredentialSource } from "../credentials/credentials.ts";
import { createFleet } from "../downstream/client.ts";
import { createClusterClients } from "../downstream/cluster-clients.ts";
import { createCopyWatches } from "../downstream/copy-watch.ts";
import { createAttention } from "../downstream/watch-subscriptions.ts";
import type { ReconcilersOptions } from "../engine/reconcilers.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey, WorkKey } from "../model/key.ts";
import type { WorkQueue } from "../model/work-item.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { BirthAttention } from "../relay/upsync-subscriptions.ts";
import { createBurstGate } from "../sync/burst-gate.ts";
import { notifySeconds } from "../sync/fan-out.ts";
import { syncReconciler } from "../sync/reconcile.ts";
import { defaultSyncSettings, type SyncSettings } from "../sync/settings.ts";
import { createStatusDebounce } from "../sync/status/debounce.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import type { WorkloadCache } from "../upstream/workload-cache.ts";
import { inTurn } from "../upsync/reconcile.ts";
import { createUpsyncParts, type UpsyncWish } from "./upsync-parts.ts";

export type SyncPartsOptions = Readonly<{
  hub: Hub;
  workloads: WorkloadHub;
  /** What the relay of this process has seen of workloads. */
  cache: WorkloadCache;
  connections: Connections;
  credentials: CredentialSource;
  queue: WorkQueue;
  /** Whether many keys are worked on or wait. @default it cannot be known */
  isBusy?: (() => boolean) | undefined;
  settings?: Partial<SyncSettings> | undefined;
  /** What it takes to follow what is born on clusters. @default nothing is made known of that */
  upsync?: UpsyncWish | undefined;
  relistSeconds: number;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
}>;

/** What a process has to put workloads on clusters, and to hear what becomes of them there. */
export interface SyncParts {
  readonly sync: NonNullable<ReconcilersOptions["sync"]>;
  /** Hears of registrations, where their clusters are watched for births by that alone. */
  readonly births: BirthAttention | undefined;
  /** Forgets what clusters have answered: keys have come that are worked on together. */
  beginBatch(): void;
  /** A cluster is not heard from, or its registration has gone: nothing there is watched until it is worked on again. */
  disregard(registration: ObjectKey): void;
  stop(): Promise<void>;
}

/** Creates the fleet with its watches; what changes on clusters is sent to the queue. */
export function createSyncParts(options: SyncPartsOptions): SyncParts {
  const { hub, workloads, cache, connections, credentials, queue, relistSeconds, clock, random, log, metrics } =
    options;
  const settings: SyncSettings = { ...defaultSyncSettings, ...options.settings, isToldOfCopies: true };
  const clients = createClusterClients({ hub, credentials, connections });
  const wake = async (keys: readonly WorkKey[]): Promise<void> => {
    if (keys.length === 0) return;
    await queue
      .send(keys.map((key) => ({ key, reason: "changed" })))
      // The next resync looks at them all the same.
      .catch((error: unknown) => log.warn("queue refused keys", { keys: keys.length, error }));
  };
  const copies = createCopyWatches({
    hubId: settings.hubId,
    clientFor: clients.clientFor,
    types: workloads.types,
    clock,
    random,
    relistSeconds,
    onChanged: (key) => void wake([key]),
    onCompanionChanged: ({ registration: { logicalCluster }, ...companion }) =>
      void wake(cache.referrers({ logicalCluster, ...companion })),
    onTrouble: ({ registration: { logicalCluster, name }, type, error, retryInMs }) =>
      log.info("cluster watch failed", {
        logicalCluster,
        name,
        what: type.plural,
        retryInSeconds: retryInMs / 1000,
        error,
      }),
    onRefused: clients.refused,
    onIgnored: ({ logicalCluster, name }) => log.warn("strange copy ignored", { logicalCluster, name }),
  });
  const attention = createAttention(copies);
  const downstream = createFleet({
    clientFor: clients.clientFor,
    copies,
    attention,
    clock,
    rate: settings.callRate,
    callSeconds: settings.callSeconds,
    types: workloads.types,
    onRefused: clients.refused,
  });
  const upsync = options.upsync && createUpsyncParts({ ...options, ...options.upsync, clients, settings, wake });
  const endGauges = metrics.onScrape(() => {
    const { all, down } = copies.watches;
    const births = upsync?.watches.watches ?? { all: 0, down: 0 };
    metrics.set("tmc_sync_copies", {}, copies.size);
    metrics.set("tmc_upsync_objects", {}, upsync?.watches.size ?? 0);
    metrics.set("tmc_sync_watches", { state: "open" }, all - down + births.all - births.down);
    metrics.set("tmc_sync_watches", { state: "down" }, down + births.down);
  });
  const work = syncReconciler({
    hub,
    workloads,
    downstream,
    clock,
    settings,
    upsyncOrigins: upsync?.homes,
    debounce: createStatusDebounce({ clock }),
    burstGate: options.isBusy && createBurstGate({ clock, isBusy: options.isBusy }),
    onCopy: ({ action }) => metrics.add("tmc_sync_actions_total", { action }),
    notifyPlacement: (key) => queue.sendLater({ key, reason: "fan-out" }, notifySeconds),
  });
  return {
    sync: {
      workloads,
      work: upsync === undefined ? work : inTurn(upsync.work, work),
      attend: upsync?.attend,
    },
    births: upsync?.attention,
    beginBatch: () => upsync?.beginBatch(),
    disregard: attention.disregard,
    stop: async () => {
      endGauges();
      await Promise.all([copies.stop(), upsync?.watches.stop()]);
    },
  };
}
