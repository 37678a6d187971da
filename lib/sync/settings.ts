import { type DeletionGuardSettings, defaultDeletionGuardSettings } from "./eviction/deletion-guard.ts";

export type SyncSettings = Readonly<{
  /** Tells this hub's copies on a cluster from those of any other. Names of logical clusters are unique as it is. */
  hubId: string;
  brake: DeletionGuardSettings;
  /** How many calls a cluster gets. */
  callRate: Readonly<{ perSecond: number; burst: number }>;
  /** How long one call to a cluster may take. */
  callSeconds: number;
  /** How long one look at a workload works on any one cluster: longer than a call, and less than half of what a look may take. */
  clusterSeconds: number;
  /** Whether changes of copies are told; otherwise those that are not ready are looked at again and again. */
  isToldOfCopies: boolean;
  /** How soon they are at first, and how rarely at last: the longer one has been as it is, the longer the next look waits. */
  lookSeconds: Readonly<{ leastSeconds: number; mostSeconds: number }>;
  /** How long the deletion of a workload waits for a cluster that is not heard from; its copy is removed when it is back. */
  abandonSeconds: number;
  /** How soon a cluster that could not be asked is asked again, as long as it counts as ready. */
  retrySeconds: number;
  /** How soon what a cluster refused is offered to it again: what it minds may be gone without a change to the workload. */
  refusedSeconds: number;
  /** How soon a cluster that was given a type is asked whether it serves it. */
  installSeconds: number;
  /** After how long a copy that cannot be written counts as stalled: some tries were made by then. */
  stalledSeconds: number;
}>;

export const defaultSyncSettings: SyncSettings = {
  hubId: "kcp",
  brake: defaultDeletionGuardSettings,
  callRate: { perSecond: 200, burst: 400 },
  callSeconds: 4,
  // A function gives a look 12 s in all, of which the hub has its part.
  clusterSeconds: 5,
  isToldOfCopies: false,
  // At last every four minutes: what has waited that long can wait so much longer, and a resync comes as well.
  lookSeconds: { leastSeconds: 2, mostSeconds: 256 },
  abandonSeconds: 3_600,
  retrySeconds: 10,
  refusedSeconds: 120,
  installSeconds: 1,
  stalledSeconds: 300,
};
