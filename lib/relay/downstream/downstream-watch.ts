import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkloadType } from "../../api/workload-kinds.ts";
import { createConnections, type OpenTransport } from "../../credentials/connections.ts";
import type { CredentialSource } from "../../credentials/credentials.ts";
import { createClusterClients } from "../../downstream/cluster-clients.ts";
import { type CopyWatchFailure, createCopyWatches } from "../../downstream/copy-watch.ts";
import { createUpsyncWatches } from "../../downstream/upsync-watch.ts";
import type { Hub } from "../../model/hub.ts";
import type { ObjectKey, WorkloadKey } from "../../model/key.ts";
import type { WorkQueue } from "../../model/work-item.ts";
import type { Log } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import type { TenantRate } from "../../queue/tenant-rate-limit.ts";
import { createFreshHub } from "../../upstream/fresh-hub.ts";
import type { RelayedWorkloads } from "../event-to-key/workload-tracker.ts";
import { createOutbox } from "../outbox/outbox.ts";
import { createRecordSubscriptions } from "./record-subscriptions.ts";
import { createUpsyncSubscriptions, type RegistrationListener } from "./upsync-subscriptions.ts";

/** Access to target clusters, for a relay that watches them too. */
export type TargetClusterAccess = Readonly<{
  openTransport: OpenTransport;
  /** Creates the source of credentials; it reads the secrets that registrations name from the given hub. */
  openCredentials: (hub: Hub, hubId: string) => CredentialSource;
}>;

export type DownstreamWatchOptions = TargetClusterAccess &
  Readonly<{
    /** A client at the root of the upstream server. */
    client: KubeClient;
    /** The id of the hub: only its copies are watched. */
    hubId: string;
    types: readonly WorkloadType[];
    queue: Pick<WorkQueue, "send">;
    tenantRate?: TenantRate | undefined;
    clock: Clock;
    random: () => number;
    log: Log;
    metrics: Metrics;
  }>;

/** Watches copies and upsynced objects on target clusters, and sends the keys of their workloads to the queue. */
export interface DownstreamWatch {
  /** Gets the sync records: they name the clusters and types of copies. */
  readonly cache: NonNullable<RelayedWorkloads["cache"]>;
  /** Gets the registrations: they name the types to upsync. */
  readonly upsyncs: RegistrationListener;
  /** Ends the watches of a logical cluster that is no longer relayed, and drops its keys. */
  release(logicalCluster: string): void;
  /** Invalidates the cached credentials of a registration. */
  credentialsChanged(registration: ObjectKey): void;
  /** Stops all watches. Keys that were not sent are dropped: reconciles probe the clusters anyway. */
  stop(): Promise<void>;
}

const batchSize = 100;
/** A rollout changes the status of one copy dozens of times; one second of delay goes unnoticed. */
const gatherMs = 1_000;
const relistSeconds = 1_800;

/**
 * Creates a watch without subscriptions. Sync records and registrations add them: of copies the relay watches only objects
 * with the tenant's label, of upsynced objects only the types that a registration opts in to.
 */
export function createDownstreamWatch(options: DownstreamWatchOptions): DownstreamWatch {
  const { client, hubId, types, openTransport, openCredentials, queue, tenantRate, clock, random, log, metrics } =
    options;
  const hub = createFreshHub({ client });
  const credentials = openCredentials(hub, hubId);
  const connections = createConnections({ openTransport, clock, random });
  const clients = createClusterClients({ hub, credentials, connections, clock });
  const outbox = createOutbox({
    queue,
    clock,
    random,
    batchSize,
    gatherMs,
    tenantRate,
    onFailure: (error, { keys, retryInMs }) =>
      log.warn("queue rejected keys", { keys, retryInSeconds: retryInMs / 1000, error }),
  });
  const enqueue = (keys: readonly WorkloadKey[]): void => outbox.add(keys.map((key) => ({ key, reason: "changed" })));
  const onFailure = ({ registration: { logicalCluster, name }, type, error, retryInMs }: CopyWatchFailure): void =>
    log.info("cluster watch failed", {
      logicalCluster,
      name,
      what: type.plural,
      retryInSeconds: retryInMs / 1000,
      error,
    });
  const copies = createCopyWatches({
    hubId,
    clientFor: clients.clientFor,
    types,
    clock,
    random,
    relistSeconds,
    onChanged: (key) => enqueue([key]),
    onDependencyChanged: ({ registration: { logicalCluster }, ...dependency }) =>
      enqueue(subscriptions.referrers({ logicalCluster, ...dependency })),
    onFailure,
    onUnauthorized: clients.unauthorized,
    onIgnored: ({ logicalCluster, name }) => log.warn("copy with an unknown owner ignored", { logicalCluster, name }),
  });
  const subscriptions = createRecordSubscriptions(copies, types);
  const upsyncs = createUpsyncWatches({
    clientFor: clients.clientFor,
    clock,
    random,
    relistSeconds,
    onChanged: (key) => enqueue([key]),
    onFailure,
    onUnauthorized: clients.unauthorized,
  });
  const endGauges = metrics.onScrape(() => {
    const all = copies.watches.all + upsyncs.watches.all;
    const down = copies.watches.down + upsyncs.watches.down;
    metrics.set("tmc_sync_copies", {}, copies.size);
    metrics.set("tmc_upsync_objects", {}, upsyncs.size);
    metrics.set("tmc_sync_watches", { state: "open" }, all - down);
    metrics.set("tmc_sync_watches", { state: "down" }, down);
  });
  return {
    cache: subscriptions.cache,
    upsyncs: createUpsyncSubscriptions(upsyncs, types),
    release: (logicalCluster) => {
      subscriptions.release(logicalCluster);
      outbox.drop(logicalCluster);
    },
    credentialsChanged: (registration) => credentials.invalidate(registration),
    stop: async () => {
      endGauges();
      outbox.stop();
      await Promise.all([copies.stop(), upsyncs.stop()]);
      await connections.close();
    },
  };
}
