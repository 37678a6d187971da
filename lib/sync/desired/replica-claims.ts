import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { SyncCluster } from "../sync-objects.ts";

/** How a placement wants replicas shared out. */
export type ReplicaRule = NonNullable<WorkloadPlacement["spec"]["replicas"]>;

/** What one cluster may get. */
export type Claim = Readonly<{
  name: string;
  /** What its share follows; nothing beyond `min` for 0. */
  weight: bigint;
  /** Never above the rule's max; all of them together may ask for more than there is. */
  min: number;
  /** Never above the number of replicas that there are. */
  max: number;
  /** Whether the rule has a min above the max. */
  isCrossed: boolean;
  /** How many it has already. */
  has: number;
}>;

export type ClaimFacts = Readonly<{
  rule: ReplicaRule;
  total: number;
  clusters: readonly SyncCluster[];
  /** How many each cluster has already. */
  current: ReadonlyMap<string, number>;
}>;

/** What every cluster may get, in the order of their names; where min is above max, max counts. */
export function claimsOf({ rule, total, clusters, current }: ClaimFacts): readonly Claim[] {
  const limits = limitsOf(rule);
  const weightOf = rule.divideBy === "Capacity" ? weightByCapacity(clusters) : weightByRule(rule);
  return clusters
    .map((cluster) => {
      const { name } = cluster;
      const { min, max } = limits(name);
      return {
        name,
        weight: weightOf(cluster),
        min: Math.min(min, max),
        max: Math.min(max, total),
        isCrossed: min > max,
        has: current.get(name) ?? 0,
      };
    })
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** Reads the fewest and the most that a cluster gets: what is said for it alone goes before what is said for all. */
function limitsOf(rule: ReplicaRule): (cluster: string) => Readonly<{ min: number; max: number }> {
  const single = new Map(rule.clusters?.map((each) => [each.name, each]));
  return (cluster) => {
    const own = single.get(cluster);
    return { min: own?.min ?? rule.min ?? 0, max: own?.max ?? rule.max ?? Number.POSITIVE_INFINITY };
  };
}

function weightByRule(rule: ReplicaRule): (cluster: SyncCluster) => bigint {
  const weights = new Map(rule.clusters?.map(({ name, weight }) => [name, BigInt(weight ?? 1)]));
  return ({ name }) => weights.get(name) ?? 1n;
}

/** A cluster of which nobody knows how large it is counts as one of the middle; where none has any room, all are alike. */
function weightByCapacity(clusters: readonly SyncCluster[]): (cluster: SyncCluster) => bigint {
  const known = clusters.map(({ milliCpu }) => milliCpu).filter((milliCpu) => milliCpu !== undefined);
  if (!known.some((milliCpu) => milliCpu > 0)) return () => 1n;
  const middle = median(known);
  return ({ milliCpu }) => BigInt(Math.round(milliCpu ?? middle));
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2;
}
