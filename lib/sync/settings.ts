import { type DeletionGuardSettings, defaultDeletionGuardSettings } from "./eviction/deletion-guard.ts";

export type SyncSettings = Readonly<{
  /** The id of the hub: copies of other hubs on the same cluster carry another one. It has no default, so that no two hubs share it. */
  hubId: string;
  deletionGuard: DeletionGuardSettings;
  /** Rate limit of the calls to one cluster. */
  callRate: Readonly<{ perSecond: number; burst: number }>;
  /** Timeout of one call to a cluster. */
  callTimeoutSeconds: number;
  /** How long one reconcile works on any one cluster: longer than a call, and less than half of the reconcile's own timeout. */
  clusterTimeoutSeconds: number;
  /** Whether copies are watched. Otherwise sync polls the copies that are not ready. */
  watchesCopies: boolean;
  /** The poll interval grows from min to max with the time that a copy has not changed. */
  pollInterval: Readonly<{ minSeconds: number; maxSeconds: number }>;
  /** How long the deletion of a workload waits for a cluster that is not Ready. The copy there is deleted once the cluster is back. */
  deletionTimeoutSeconds: number;
  /** Retry delay for a cluster that is Ready and could not be reached. */
  retrySeconds: number;
  /** Retry delay for what a cluster rejected: the cause may disappear without a change to the workload. */
  rejectedRetrySeconds: number;
  /** Delay before asking a cluster whether it serves a type whose definition was just applied. */
  typeInstallRetrySeconds: number;
  /** After how long a copy that cannot be written counts as stalled; several attempts were made by then. */
  stalledAfterSeconds: number;
}>;

export const defaultSyncSettings: Omit<SyncSettings, "hubId"> = {
  deletionGuard: defaultDeletionGuardSettings,
  callRate: { perSecond: 200, burst: 400 },
  callTimeoutSeconds: 4,
  // A function allows 12 s for one reconcile, part of which the upstream calls need.
  clusterTimeoutSeconds: 5,
  watchesCopies: false,
  // At most every four minutes: what has waited that long can wait a little longer, and the resync runs as well.
  pollInterval: { minSeconds: 2, maxSeconds: 256 },
  deletionTimeoutSeconds: 3_600,
  retrySeconds: 10,
  rejectedRetrySeconds: 120,
  typeInstallRetrySeconds: 1,
  stalledAfterSeconds: 300,
};
