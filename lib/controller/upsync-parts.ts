import type { ClusterClients } from "../downstream/cluster-clients.ts";
import { createBirthLooks } from "../downstream/upsync-reads.ts";
import { type BirthWatches, createBirthWatches } from "../downstream/upsync-watch.ts";
import type { WorkKey, WorkloadKey } from "../model/key.ts";
import type { Work } from "../model/work-item.ts";
import { type BirthAttention, createBirthAttention } from "../relay/upsync-subscriptions.ts";
import type { SyncSettings } from "../sync/settings.ts";
import type { UpsyncOrigins } from "../sync/status/upsync-origin-status.ts";
import { createDeletionLog } from "../upsync/deletion-log-writer.ts";
import { createUpsyncOrigins } from "../upsync/origins.ts";
import { upsyncReconciler } from "../upsync/reconcile.ts";
import { type ReconcileUpsync, upsyncRegistrationReconciler } from "../upsync/subscriptions.ts";
import type { UpsyncHub, UpsyncTools } from "../upsync/world.ts";

import type { SyncPartsOptions } from "./sync-parts.ts";

/** What upsync needs besides what sync has. */
export type UpsyncWish = Readonly<{
  born: UpsyncHub;
  /** Whether everything of a logical cluster has been seen. */
  isListed: (logicalCluster: string) => boolean;
  /**
   * Whether others tell keys of this process as well. What they tell may be ahead of what its own watches have seen, so clusters
   * are then asked, and the watches only tell.
   */
  isShared: boolean;
}>;

export type UpsyncPartsOptions = UpsyncWish &
  Pick<SyncPartsOptions, "hub" | "workloads" | "relistSeconds" | "clock" | "random" | "log" | "metrics"> &
  Readonly<{
    clients: ClusterClients;
    settings: SyncSettings;
    wake: (keys: readonly WorkKey[]) => Promise<void>;
  }>;

/** What a process has to make known in workspaces what is born on clusters. */
export type UpsyncParts = Readonly<{
  watches: BirthWatches;
  /** Hears of registrations where nobody else has their clusters watched. */
  attention: BirthAttention | undefined;
  /** Forgets what clusters have answered. */
  beginBatch: () => void;
  work: Work<WorkloadKey>;
  attend: ReconcileUpsync;
  homes: UpsyncOrigins;
}>;

/** Creates the watches of what is born, and the work that follows from it. */
export function createUpsyncParts(options: UpsyncPartsOptions): UpsyncParts {
  const { hub, workloads, born, isListed, isShared, clients, settings, wake, relistSeconds } = options;
  const { clock, random, log, metrics } = options;
  const watches = createBirthWatches({
    clientFor: clients.clientFor,
    clock,
    random,
    relistSeconds,
    rate: settings.callRate,
    onChanged: (key) => void wake([key]),
    onTrouble: ({ registration: { logicalCluster, name }, type, error, retryInMs }) =>
      log.info("cluster watch failed", {
        logicalCluster,
        name,
        what: type.plural,
        retryInSeconds: retryInMs / 1000,
        error,
      }),
    onRefused: clients.refused,
  });
  const { callRate: rate, callSeconds } = settings;
  const looks = isShared
    ? createBirthLooks({ clientFor: clients.clientFor, clock, rate, callSeconds, onRefused: clients.refused })
    : undefined;
  const tools: UpsyncTools = {
    hub,
    workloads,
    upsyncHub: born,
    source: looks ?? watches,
    deletionLog: createDeletionLog(),
    clock,
    settings,
    isListed,
    enqueue: wake,
    onUpsync: (action) => metrics.add("tmc_upsync_actions_total", { action }),
  };
  return {
    watches,
    attention: isShared ? createBirthAttention(watches, workloads.types) : undefined,
    beginBatch: () => looks?.beginBatch(),
    work: upsyncReconciler(tools),
    attend: upsyncRegistrationReconciler(tools),
    homes: createUpsyncOrigins(tools),
  };
}
