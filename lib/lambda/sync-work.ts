import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Connections } from "../credentials/connections.ts";
import type { CredentialSource } from "../credentials/credentials.ts";
import { createDownstream } from "../downstream/client.ts";
import { createClusterClients } from "../downstream/cluster-clients.ts";
import { createOrphanReconciler } from "../downstream/owned-objects.ts";
import { createUpsyncReads } from "../downstream/upsync-reads.ts";
import type { Hub } from "../model/hub.ts";
import type { WorkloadKey } from "../model/key.ts";
import type { Work, WorkQueue } from "../model/work-item.ts";
import type { Metrics } from "../observe/metrics.ts";
import { notifyDelaySeconds } from "../sync/fan-out.ts";
import type { OwnerReads, ReconcileOrphans } from "../sync/orphans/reconcile.ts";
import { syncReconciler } from "../sync/reconcile.ts";
import { defaultSyncSettings, type SyncSettings } from "../sync/settings.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import { createUpsyncLocalState } from "../upsync/local-state.ts";
import { runInSequence, upsyncReconciler } from "../upsync/reconcile.ts";
import { type ReconcileUpsync, upsyncRegistrationReconciler } from "../upsync/reconcile-registration.ts";
import { createUpsyncOrigins, type UpsyncHub, type UpsyncTools } from "../upsync/world.ts";

export type SyncWorkOptions = Readonly<{
  hubId: string;
  hub: Hub;
  workloads: WorkloadHub & UpsyncHub & OwnerReads;
  queue: WorkQueue;
  connections: Connections;
  credentials: CredentialSource;
  settings: Pick<SyncSettings, "deletionGuard"> & Partial<Omit<SyncSettings, "hubId">>;
  clock: Clock;
  metrics: Pick<Metrics, "add">;
}>;

/** The reconcilers of workloads and of upsync. */
export type SyncWork = Readonly<{
  work: Work<WorkloadKey>;
  reconcileUpsync: ReconcileUpsync;
  reconcileOrphans: ReconcileOrphans;
  /** Clears the lists read from clusters: the next batch reads them again. */
  beginBatch: () => void;
}>;

/**
 * Creates the reconcilers of workloads and of upsync for a process that watches no cluster: each reconcile reads from the
 * clusters, and copies that are not ready are polled.
 */
export function createSyncWork({
  hubId,
  hub,
  workloads,
  queue,
  connections,
  credentials,
  settings: ownSettings,
  clock,
  metrics,
}: SyncWorkOptions): SyncWork {
  const settings = { ...defaultSyncSettings, ...ownSettings, hubId };
  const clients = createClusterClients({ hub: { read: readFromBatchList(hub) }, credentials, connections, clock });
  const downstream = createDownstream({
    clientFor: clients.clientFor,
    clock,
    rate: settings.callRate,
    callSeconds: settings.callTimeoutSeconds,
    types: workloads.types,
    onUnauthorized: clients.unauthorized,
  });
  const source = createUpsyncReads({
    clientFor: clients.clientFor,
    clock,
    rate: settings.callRate,
    callSeconds: settings.callTimeoutSeconds,
    onUnauthorized: clients.unauthorized,
  });
  const upsync: UpsyncTools = {
    hub,
    workloads,
    upsyncHub: workloads,
    source,
    localState: createUpsyncLocalState(),
    clock,
    settings,
    isListed: () => true,
    enqueue: async (keys) => {
      if (keys.length > 0) await queue.send(keys.map((key) => ({ key, reason: "fan-out" })));
    },
    onUpsync: (action) => metrics.add("tmc_upsync_actions_total", { action }),
  };
  const sync = syncReconciler({
    hub,
    workloads,
    downstream,
    clock,
    settings,
    upsyncOrigins: createUpsyncOrigins(upsync),
    onCopyAction: ({ action }) => metrics.add("tmc_sync_actions_total", { action }),
    notifyPlacement: (key) => queue.sendLater({ key, reason: "fan-out" }, notifyDelaySeconds),
  });
  return {
    work: runInSequence(upsyncReconciler(upsync), sync),
    reconcileUpsync: upsyncRegistrationReconciler(upsync),
    reconcileOrphans: createOrphanReconciler({ hub, workloads, clients, settings, clock }),
    beginBatch: source.beginBatch,
  };
}

/** Reads registrations from the list that the batch has read already: every call to a cluster needs its registration. */
function readFromBatchList(hub: Hub): Hub["read"] {
  return async <T extends KubeObject>(
    { kind, logicalCluster, name }: Parameters<Hub["read"]>[0],
    signal: AbortSignal,
  ) => (await hub.list<T>(kind, logicalCluster, signal)).find(({ metadata }) => metadata.name === name);
}
