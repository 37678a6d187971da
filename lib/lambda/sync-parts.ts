import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Connections } from "../credentials/connections.ts";
import type { CredentialSource } from "../credentials/credentials.ts";
import { createFleet } from "../downstream/client.ts";
import { createClusterClients } from "../downstream/cluster-clients.ts";
import { createBirthLooks } from "../downstream/upsync-reads.ts";
import type { Hub } from "../model/hub.ts";
import type { WorkloadKey } from "../model/key.ts";
import type { Work, WorkQueue } from "../model/work-item.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { DeletionGuardSettings } from "../sync/eviction/deletion-guard.ts";
import { notifySeconds } from "../sync/fan-out.ts";
import { syncReconciler } from "../sync/reconcile.ts";
import { defaultSyncSettings } from "../sync/settings.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import { createDeletionLog } from "../upsync/deletion-log-writer.ts";
import { createUpsyncOrigins } from "../upsync/origins.ts";
import { inTurn, upsyncReconciler } from "../upsync/reconcile.ts";
import { type ReconcileUpsync, upsyncRegistrationReconciler } from "../upsync/subscriptions.ts";
import type { UpsyncHub, UpsyncTools } from "../upsync/world.ts";

/** What work on workloads is made of. */
export type SyncWorkParts = Readonly<{
  hub: Hub;
  workloads: WorkloadHub & UpsyncHub;
  queue: WorkQueue;
  connections: Connections;
  credentials: CredentialSource;
  brake: DeletionGuardSettings;
  clock: Clock;
  metrics: Pick<Metrics, "add">;
}>;

/** The work on workloads, and on registrations for the sake of what is born on their clusters. */
export type SyncWork = Readonly<{
  work: Work<WorkloadKey>;
  attend: ReconcileUpsync;
  /** Forgets what clusters have answered: what is decided from now on is decided on what they answer from now on. */
  beginBatch: () => void;
}>;

/**
 * Creates the work on workloads for a process that watches no cluster: each look asks the clusters themselves, and what is not
 * ready there is looked at again after a while.
 */
export function createSyncWork({
  hub,
  workloads,
  queue,
  connections,
  credentials,
  brake,
  clock,
  metrics,
}: SyncWorkParts): SyncWork {
  const settings = { ...defaultSyncSettings, brake };
  const clients = createClusterClients({ hub: { read: readFromList(hub) }, credentials, connections });
  const downstream = createFleet({
    clientFor: clients.clientFor,
    clock,
    rate: settings.callRate,
    callSeconds: settings.callSeconds,
    types: workloads.types,
    onRefused: clients.refused,
  });
  const source = createBirthLooks({
    clientFor: clients.clientFor,
    clock,
    rate: settings.callRate,
    callSeconds: settings.callSeconds,
    onRefused: clients.refused,
  });
  const upsync: UpsyncTools = {
    hub,
    workloads,
    upsyncHub: workloads,
    source,
    deletionLog: createDeletionLog(),
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
    onCopy: ({ action }) => metrics.add("tmc_sync_actions_total", { action }),
    notifyPlacement: (key) => queue.sendLater({ key, reason: "fan-out" }, notifySeconds),
  });
  return {
    work: inTurn(upsyncReconciler(upsync), sync),
    attend: upsyncRegistrationReconciler(upsync),
    beginBatch: source.beginBatch,
  };
}

/** Every call to a cluster asks for its registration. What was decided on is in the list that this batch has read anyway. */
function readFromList(hub: Hub): Hub["read"] {
  return async <T extends KubeObject>(
    { kind, logicalCluster, name }: Parameters<Hub["read"]>[0],
    signal: AbortSignal,
  ) => (await hub.list<T>(kind, logicalCluster, signal)).find(({ metadata }) => metadata.name === name);
}
