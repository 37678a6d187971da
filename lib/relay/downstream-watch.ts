import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { createConnections, type OpenTransport } from "../credentials/connections.ts";
import type { CredentialSource } from "../credentials/credentials.ts";
import { createClusterClients } from "../downstream/cluster-clients.ts";
import { type CopyTrouble, createCopyWatches } from "../downstream/copy-watch.ts";
import { createBirthWatches } from "../downstream/upsync-watch.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey, WorkloadKey } from "../model/key.ts";
import type { WorkQueue } from "../model/work-item.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { TenantRate } from "../queue/tenant-rate-limit.ts";
import { defaultSyncSettings } from "../sync/settings.ts";
import { createFreshHub } from "../upstream/fresh-hub.ts";
import { createOutbox } from "./outbox.ts";
import { createRecordAttention } from "./record-subscriptions.ts";
import { type BirthAttention, createBirthAttention } from "./upsync-subscriptions.ts";
import type { RelayedWorkloads } from "./workload-tracker.ts";

/** The way to tenants' clusters, for a relay that watches them too. */
export type RelayedClusters = Readonly<{
  openTransport: OpenTransport;
  /** Finds credentials; what registrations name is read from the hub that is given. */
  openCredentials: (hub: Hub) => CredentialSource;
}>;

export type ClusterNewsOptions = RelayedClusters &
  Readonly<{
    /** A client at the hub's root. */
    client: KubeClient;
    types: readonly WorkloadType[];
    queue: Pick<WorkQueue, "send">;
    tenantRate?: TenantRate | undefined;
    clock: Clock;
    random: () => number;
    log: Log;
    metrics: Metrics;
  }>;

/** Tells of what becomes of copies on clusters, and of what is born there: the keys of workloads go to the queue. */
export interface ClusterNews {
  /** Hears from the hub where copies may be. */
  readonly cache: NonNullable<RelayedWorkloads["cache"]>;
  /** Hears from the hub where something may be born. */
  readonly births: BirthAttention;
  /** A logical cluster is looked after no more. */
  release(logicalCluster: string): void;
  /** Credentials of a cluster have changed. */
  renewed(registration: ObjectKey): void;
  /** Watches nothing more; what was not sent by then is found by whoever watches next. */
  stop(): Promise<void>;
}

const batchSize = 100;
/** A rollout is dozens of changes of one copy's status, and a second late for nobody. */
const gatherMs = 1_000;
const relistSeconds = 1_800;

/**
 * Begins to watch clusters as records and registrations name them. Only what carries the tenant's own label is asked for, and what
 * a registration opts in to.
 */
export function createClusterNews(options: ClusterNewsOptions): ClusterNews {
  const { client, types, openTransport, openCredentials, queue, tenantRate, clock, random, log, metrics } = options;
  const hub = createFreshHub({ client });
  const credentials = openCredentials(hub);
  const connections = createConnections({ openTransport, clock, random });
  const clients = createClusterClients({ hub, credentials, connections });
  const outbox = createOutbox({
    queue,
    clock,
    random,
    batchSize,
    gatherMs,
    tenantRate,
    onTrouble: (error, { keys, retryInMs }) =>
      log.warn("queue refused keys", { keys, retryInSeconds: retryInMs / 1000, error }),
  });
  const wake = (keys: readonly WorkloadKey[]): void => outbox.add(keys.map((key) => ({ key, reason: "changed" })));
  const onTrouble = ({ registration: { logicalCluster, name }, type, error, retryInMs }: CopyTrouble): void =>
    log.info("cluster watch failed", {
      logicalCluster,
      name,
      what: type.plural,
      retryInSeconds: retryInMs / 1000,
      error,
    });
  const copies = createCopyWatches({
    hubId: defaultSyncSettings.hubId,
    clientFor: clients.clientFor,
    types,
    clock,
    random,
    relistSeconds,
    onChanged: (key) => wake([key]),
    onCompanionChanged: ({ registration: { logicalCluster }, ...companion }) =>
      wake(attention.referrers({ logicalCluster, ...companion })),
    onTrouble,
    onRefused: clients.refused,
    onIgnored: ({ logicalCluster, name }) => log.warn("strange copy ignored", { logicalCluster, name }),
  });
  const attention = createRecordAttention(copies, types);
  const births = createBirthWatches({
    clientFor: clients.clientFor,
    clock,
    random,
    relistSeconds,
    onChanged: (key) => wake([key]),
    onTrouble,
    onRefused: clients.refused,
  });
  const endGauges = metrics.onScrape(() => {
    const all = copies.watches.all + births.watches.all;
    const down = copies.watches.down + births.watches.down;
    metrics.set("tmc_sync_copies", {}, copies.size);
    metrics.set("tmc_upsync_objects", {}, births.size);
    metrics.set("tmc_sync_watches", { state: "open" }, all - down);
    metrics.set("tmc_sync_watches", { state: "down" }, down);
  });
  return {
    cache: attention.cache,
    births: createBirthAttention(births, types),
    release: (logicalCluster) => {
      attention.release(logicalCluster);
      outbox.drop(logicalCluster);
    },
    renewed: (registration) => credentials.forget(registration),
    stop: async () => {
      endGauges();
      outbox.stop();
      await Promise.all([copies.stop(), births.stop()]);
      await connections.close();
    },
  };
}
