import type { Workload } from "./sync-objects.ts";
import type { Blocker } from "./targets/decide.ts";

/** Annotations by which the owner of a workload restricts sync. They only narrow what the placement selects. */
export const controlAnnotations = {
  /** `pause` or `disable` stops all writes to clusters; see `stoppingValues`. */
  sync: "tmc.kcp.io/sync",
  /** Comma-separated names: only these clusters get a copy. */
  targetClusters: "tmc.kcp.io/target-clusters",
  /** Comma-separated names: these clusters get no copy. */
  excludedClusters: "tmc.kcp.io/exclude-clusters",
  /** `all`: a Job runs on all selected clusters instead of one; see `limitJob` in decide.ts. */
  jobClusters: "tmc.kcp.io/job-clusters",
  /** Comma-separated ids of held deletions that a user has confirmed; see `holdId` in eviction/deletion-guard.ts. */
  confirmedDeletions: "tmc.kcp.io/confirm-deletions",
} as const;

/** Values of the sync annotation that stop all writes to clusters, with the reason that copies then report. */
const stoppingValues: ReadonlyMap<string, "SyncDisabled" | "SyncPaused"> = new Map([
  ["disable", "SyncDisabled"],
  ["disabled", "SyncDisabled"],
  ["pause", "SyncPaused"],
  ["paused", "SyncPaused"],
] as const);

const acceptedSyncValues: readonly string[] = ["enable", "enabled", ...stoppingValues.keys()].toSorted();

export type Controls = Readonly<{
  /** Why nothing is written to clusters; undefined when sync is on. */
  syncBlocker: Blocker | undefined;
  /** What is wrong with the sync annotation; undefined when its value is accepted. Sync is on then. */
  syncAnnotationError: string | undefined;
  allows: (targetCluster: string) => boolean;
  /** Whether a Job runs on all selected clusters. */
  isOnAllClusters: boolean;
  /** Ids of the held deletions that were confirmed. */
  confirmedHolds: ReadonlySet<string>;
}>;

/** Parses the control annotations of a workload. */
export function controlsOf(workload: Pick<Workload, "metadata"> | undefined): Controls {
  const annotations = workload?.metadata.annotations ?? {};
  const syncValue = annotations[controlAnnotations.sync] ?? "";
  const stopReason = stoppingValues.get(syncValue);
  const allowed = parseNames(annotations[controlAnnotations.targetClusters]);
  const excluded = parseNames(annotations[controlAnnotations.excludedClusters]);
  return {
    syncBlocker: stopReason && {
      reason: stopReason,
      message: `the annotation ${controlAnnotations.sync} stops all writes to clusters`,
    },
    syncAnnotationError: syncValueError(syncValue),
    allows: (targetCluster) =>
      (allowed === undefined || allowed.has(targetCluster)) && excluded?.has(targetCluster) !== true,
    isOnAllClusters: annotations[controlAnnotations.jobClusters] === "all",
    confirmedHolds: parseNames(annotations[controlAnnotations.confirmedDeletions]) ?? new Set(),
  };
}

function syncValueError(value: string): string | undefined {
  if (value === "" || acceptedSyncValues.includes(value)) return undefined;
  // A tenant wrote the value, and the message goes into a status: only a harmless value is repeated.
  const shown = /^[A-Za-z0-9._-]{1,63}$/.test(value) ? value : "?";
  return `${controlAnnotations.sync} is "${shown}", which is ignored; accepted values: ${acceptedSyncValues.join(", ")}`;
}

function parseNames(text: string | undefined): ReadonlySet<string> | undefined {
  if (text === undefined) return undefined;
  return new Set(
    text
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== ""),
  );
}
