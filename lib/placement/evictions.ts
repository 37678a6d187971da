import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { formatEnd, type PlacementStatus } from "./explain.ts";
import type { Home } from "./failback.ts";
import { rejection } from "./filters.ts";
import type { ClusterFacts } from "./observed.ts";
import type { Wish } from "./parsed-spec.ts";
import { passingReasons } from "./reasons.ts";

/** As many as are remembered: the last ones, for a status has to stay short. */
const mostLeft = 16;

export type LeftFacts = Readonly<{
  placement: WorkloadPlacement;
  /** What the placement returned to, if this choice did that. */
  homes: readonly Home[];
  selected: readonly ClusterFacts[];
  clusters: readonly ClusterFacts[];
  nowMs: number;
}>;

/**
 * The clusters that a placement has left by itself: because of their own state, or to return to others. Nobody has made a
 * mistake there, so their copies may go however many they are. What is chosen again or gone is none of them any more.
 */
export function leftAfter(
  wish: Wish,
  { placement, homes, selected, clusters, nowMs }: LeftFacts,
): PlacementStatus["evictedClusters"] {
  const { selectedClusters = [], evictedClusters: known = [] } = placement.status ?? {};
  const chosen = new Set(selected.map(({ name }) => name));
  const gone = new Set(selectedClusters.filter((name) => !chosen.has(name)));
  if (gone.size === 0 && known.length === 0) return undefined;
  const registered = new Set(clusters.map(({ name }) => name));
  const standIns = new Set(homes.filter(({ cluster }) => chosen.has(cluster.name)).map(({ standIn }) => standIn));
  const at = formatEnd(nowMs);
  const fresh = clusters.flatMap((cluster) => {
    if (!gone.has(cluster.name)) return [];
    const reason = rejection(wish, cluster)?.reason;
    if (reason !== undefined && passingReasons.has(reason)) return [{ cluster: cluster.name, reason, at }];
    return standIns.has(cluster.name) ? [{ cluster: cluster.name, reason: "Returned", at }] : [];
  });
  const isFresh = (name: string): boolean => fresh.some(({ cluster }) => cluster === name);
  const all = [
    ...known.filter(({ cluster }) => registered.has(cluster) && !chosen.has(cluster) && !isFresh(cluster)),
    ...fresh,
  ];
  if (all.length === 0) return undefined;
  const last = all.toSorted(
    (one, other) => compareStrings(other.at, one.at) || compareStrings(one.cluster, other.cluster),
  );
  return last.slice(0, mostLeft).toSorted((one, other) => compareStrings(one.cluster, other.cluster));
}
