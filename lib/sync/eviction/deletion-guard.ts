import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { findCondition } from "../../model/condition.ts";
import type { TargetCluster } from "../sync-objects.ts";
import type { RemainingClusters } from "./remaining-clusters.ts";

/** How many copies may be evicted at once without confirmation. */
export type DeletionGuardSettings = Readonly<{
  /** More evictions than this are held, regardless of their share. */
  maxCopies: number;
  /** A larger share of all copies than this is held, in percent … */
  maxPercent: number;
  /** … unless there are no more than this many. */
  alwaysAllowed: number;
}>;

export const defaultDeletionGuardSettings: DeletionGuardSettings = {
  maxCopies: 100,
  maxPercent: 30,
  alwaysAllowed: 10,
};

export type DeletionGuardFacts = Readonly<{
  /** All sync records of the logical cluster. */
  records: readonly Pick<WorkloadSync, "metadata" | "spec" | "status">[];
  remainingClusters: RemainingClusters;
  placements: ReadonlyMap<string, Pick<WorkloadPlacement, "status" | "metadata">>;
  targetClusters: ReadonlyMap<string, TargetCluster>;
  settings: DeletionGuardSettings;
}>;

/**
 * Returns why copies must not be evicted from a cluster now, and what a user can do; undefined when they may. `placement` is the
 * one that the sync record names. A held deletion stays held until confirmed.
 */
export type DeletionGuard = (targetCluster: string, placement: string | undefined) => string | undefined;

type CopyCount = { total: number; evicted: number };

/** Whether so many copies go at once that the deletion needs confirmation. */
export function exceedsLimit({ total, evicted }: Readonly<CopyCount>, settings: DeletionGuardSettings): boolean {
  return (
    evicted > settings.maxCopies || (evicted > settings.alwaysAllowed && evicted * 100 > total * settings.maxPercent)
  );
}

/**
 * Counts how many copies are about to be evicted because of decisions, not because users deleted their workloads.
 *
 * A wrong selector, a lost placement and an incomplete list have the same effect: very many copies lose their placement at
 * the same time. Intended evictions do not count: copies on a cluster that is drained or unregistered, and copies on clusters
 * that the placement has evicted by itself, as in a failover.
 */
export function createDeletionGuard({
  records,
  remainingClusters,
  placements,
  targetClusters,
  settings,
}: DeletionGuardFacts): DeletionGuard {
  const tenant: CopyCount = { total: 0, evicted: 0 };
  const byCluster = new Map<string, CopyCount>();
  for (const record of records) {
    const remaining = remainingClusters(record);
    for (const name of record.spec.clusters ?? []) {
      const count = byCluster.get(name) ?? { total: 0, evicted: 0 };
      byCluster.set(name, count);
      count.total += 1;
      tenant.total += 1;
      if (remaining === undefined || remaining.has(name)) continue;
      const placement = placements.get(record.spec.placement ?? "");
      if (isIntended({ name, targetCluster: targetClusters.get(name), placement })) continue;
      count.evicted += 1;
      tenant.evicted += 1;
    }
  }
  return (targetCluster, placement) => {
    const count = byCluster.get(targetCluster);
    if (exceedsLimit(tenant, settings))
      return formatHold(tenant, { where: "in the workspace", placement, targetCluster: undefined });
    if (count === undefined || !exceedsLimit(count, settings)) return undefined;
    return formatHold(count, { where: `on cluster ${targetCluster}`, placement, targetCluster });
  };
}

export type EvictedCopy = Readonly<{
  /** The name of the cluster. */
  name: string;
  /** Undefined when it is not registered. */
  targetCluster: TargetCluster | undefined;
  placement: Pick<WorkloadPlacement, "status" | "metadata"> | undefined;
}>;

/**
 * Whether the eviction of a copy is intended for its cluster: the cluster is drained or unregistered, or the placement has
 * evicted it by itself, because it failed. A wrong selector or a lost placement is none of these, also while the cluster is not
 * Ready.
 */
export function isIntended({ name, targetCluster, placement }: EvictedCopy): boolean {
  if (targetCluster === undefined || targetCluster.isDeleting || targetCluster.isDrained) return true;
  return placement?.status?.evictedClusters?.some((each) => each.cluster === name) === true;
}

type HoldScope = Readonly<{ where: string; placement: string | undefined; targetCluster: string | undefined }>;

/** The same text for all copies of a placement in the scope of the hold, so that a list can sum them up. */
function formatHold({ total, evicted }: CopyCount, { where, placement, targetCluster }: HoldScope): string {
  const undo =
    placement === undefined ? "" : `to keep them, restore placement ${placement} or the labels that it selects; `;
  const [ofPlacement, onCluster] = [
    placement === undefined ? "" : ` --placement ${placement}`,
    targetCluster === undefined ? "" : ` --cluster ${targetCluster}`,
  ];
  const command = `tmc confirm --all${ofPlacement}${onCluster}`;
  return `${evicted} of ${total} copies ${where} would be deleted at once; ${undo}to delete them, run: ${command}`;
}

/**
 * The id of one held deletion, such as `east@2030-01-01T00:00:00Z`: users confirm this one and no other. It ends with the last
 * held copy of the workload, and a later hold has another id, so that a confirmation cannot be used twice. Undefined when
 * nothing of the workload is held.
 */
export function holdId(record: Pick<WorkloadSync, "status"> | undefined, targetCluster: string): string | undefined {
  const held = findCondition(record?.status?.conditions, "DeletionsHeld");
  return held?.status === "True" ? `${targetCluster}@${held.lastTransitionTime}` : undefined;
}
