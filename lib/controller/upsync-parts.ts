import type { ClusterClients } from "../downstream/cluster-clients.ts";
import { createBirthLooks } from "../downstream/upsync-reads.ts";
import { type BirthWatches, createBirthWatches } from "../downstream/upsync-watch.ts";
import type { WorkKey, WorkloadKey } from "../model/key.ts";
import type { Work } from "../model/work-item.ts";
import { type BirthAttention, createBirthAttention } from "../relay/upsync-subscriptions.ts";
import type { SyncSettings } from "../sync/settings.ts";
import type { Homes } from "../sync/status/upsync-origin-status.ts";
import { createNotes } from "../upsync/deletion-log-writer.ts";
import { upsyncHomes } from "../upsync/origins.ts";
import { upsyncReconciler } from "../upsync/reconcile.ts";
import { type AttendRegistration, upsyncAttendance } from "../upsync/subscriptions.ts";
import type { BornHub, UpsyncTools } from "../upsync/world.ts";

import type { SyncPartsOptions } from "./sync-parts.ts";

/** What upsync needs besides what sync has. */
export type UpsyncWish = Readonly<{
  born: BornHub;
  /** Whether everything of a logical cluster has been seen. */
  isListed: (cluster: string) => boolean;
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
  attend: AttendRegistration;
  homes: Homes;
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
    onTrouble: ({ registration: { cluster, name }, type, error, retryInMs }) =>
      log.info("cluster watch failed", { cluster, name, what: type.plural, retryInSeconds: retryInMs / 1000, error }),
    onRefused: clients.refused,
  });
  const { callRate: rate, callSeconds } = settings;
  const looks = isShared
    ? createBirthLooks({ clientFor: clients.clientFor, clock, rate, callSeconds, onRefused: clients.refused })
    : undefined;
  const tools: UpsyncTools = {
    hub,
    workloads,
    born,
    births: looks ?? watches,
    notes: createNotes(),
    clock,
    settings,
    isListed,
    wake,
    onUpsync: (did) => metrics.add("tmc_upsync_actions_total", { did }),
  };
  return {
    watches,
    attention: isShared ? createBirthAttention(watches, workloads.types) : undefined,
    beginBatch: () => looks?.beginBatch(),
    work: upsyncReconciler(tools),
    attend: upsyncAttendance(tools),
    homes: upsyncHomes(tools),
  };
}
