import {
  jobClustersValues,
  parseAnnotationNames,
  shownValue,
  syncValues,
  unregisteredErrors,
  userAnnotations,
} from "../api/annotations.ts";
import type { Workload } from "./sync-objects.ts";
import type { Blocker } from "./targets/decide.ts";

/** Annotations by which the owner of a workload restricts sync. They only narrow what the placement selects. */
export const controlAnnotations = {
  sync: userAnnotations.sync.name,
  targetClusters: userAnnotations.targetClusters.name,
  excludedClusters: userAnnotations.excludedClusters.name,
  /** See `limitJob` in decide.ts. */
  jobClusters: userAnnotations.jobClusters.name,
  /** See `holdId` in eviction/deletion-guard.ts. */
  confirmedDeletions: userAnnotations.confirmedDeletions.name,
} as const;

/** Values of the sync annotation that stop all writes to clusters, with the reason that copies then report. */
const stoppingValues: ReadonlyMap<string, "SyncDisabled" | "SyncPaused"> = new Map([
  ...syncValues.disabling.map((value) => [value, "SyncDisabled"] as const),
  ...syncValues.pausing.map((value) => [value, "SyncPaused"] as const),
]);

const acceptedSyncValues: readonly string[] = Object.values(syncValues).flat().toSorted();

export type Controls = Readonly<{
  /** Why nothing is written to clusters; undefined when sync is on. */
  syncBlocker: Blocker | undefined;
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
    allows: (targetCluster) =>
      (allowed === undefined || allowed.has(targetCluster)) && excluded?.has(targetCluster) !== true,
    isOnAllClusters: annotations[controlAnnotations.jobClusters] === "all",
    confirmedHolds: parseNames(annotations[controlAnnotations.confirmedDeletions]) ?? new Set(),
  };
}

/** What is wrong with the control annotations of a workload; a value that is not accepted is ignored. */
export function controlErrors(
  { metadata: { annotations } }: Pick<Workload, "metadata">,
  isRegistered: (cluster: string) => boolean,
): readonly string[] {
  const { sync, jobClusters, targetClusters, excludedClusters } = controlAnnotations;
  return [
    ...valueErrors(annotations, sync, acceptedSyncValues),
    ...valueErrors(annotations, jobClusters, jobClustersValues),
    ...unregisteredErrors(annotations, [targetClusters, excludedClusters], isRegistered),
  ];
}

function valueErrors(
  annotations: Workload["metadata"]["annotations"],
  name: string,
  accepted: readonly string[],
): readonly string[] {
  const value = annotations?.[name] ?? "";
  if (value === "" || accepted.includes(value)) return [];
  return [`${name} is "${shownValue(value)}", which is ignored; accepted values: ${accepted.join(", ")}`];
}

function parseNames(text: string | undefined): ReadonlySet<string> | undefined {
  return text === undefined ? undefined : parseAnnotationNames(text);
}
