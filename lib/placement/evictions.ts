import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { formatTimestampUp, type PlacementStatus } from "./explain.ts";
import type { FailbackTarget } from "./failback.ts";
import { rejectingFilter } from "./filters.ts";
import type { ClusterFacts } from "./observed.ts";
import type { ParsedSpec } from "./parsed-spec.ts";
import { recoverableReasons } from "./reasons.ts";

/** How many evictions a status keeps, the most recent ones: a status must stay short. */
const maxEvictions = 16;

export type EvictionsFacts = Readonly<{
  placement: WorkloadPlacement;
  /** The failback targets before the selection. */
  failbackTargets: readonly FailbackTarget[];
  selected: readonly ClusterFacts[];
  clusters: readonly ClusterFacts[];
  nowMs: number;
}>;

/**
 * Returns the clusters from which TMC itself evicted the placement: because of their state, or to fail back to others. No
 * user error can have caused these evictions, so the deletion guard does not hold their copies, however many they are. A
 * cluster that is selected again, or whose registration is gone, is removed from the list.
 */
export function evictionsAfter(
  spec: ParsedSpec,
  { placement, failbackTargets, selected, clusters, nowMs }: EvictionsFacts,
): PlacementStatus["evictedClusters"] {
  const { selectedClusters = [], evictedClusters: known = [] } = placement.status ?? {};
  const selectedNames = new Set(selected.map(({ name }) => name));
  const removed = new Set(selectedClusters.filter((name) => !selectedNames.has(name)));
  if (removed.size === 0 && known.length === 0) return undefined;
  const registered = new Set(clusters.map(({ name }) => name));
  const replaced = new Set(
    failbackTargets.filter(({ cluster }) => selectedNames.has(cluster.name)).map(({ standIn }) => standIn),
  );
  const at = formatTimestampUp(nowMs);
  const added = clusters.flatMap((cluster) => {
    if (!removed.has(cluster.name)) return [];
    const reason = rejectingFilter(spec, cluster)?.reason;
    if (reason !== undefined && recoverableReasons.has(reason)) return [{ cluster: cluster.name, reason, at }];
    return replaced.has(cluster.name) ? [{ cluster: cluster.name, reason: "Returned", at }] : [];
  });
  const isAdded = (name: string): boolean => added.some(({ cluster }) => cluster === name);
  const all = [
    ...known.filter(({ cluster }) => registered.has(cluster) && !selectedNames.has(cluster) && !isAdded(cluster)),
    ...added,
  ];
  if (all.length === 0) return undefined;
  const newestFirst = all.toSorted(
    (one, other) => compareStrings(other.at, one.at) || compareStrings(one.cluster, other.cluster),
  );
  return newestFirst.slice(0, maxEvictions).toSorted((one, other) => compareStrings(one.cluster, other.cluster));
}
