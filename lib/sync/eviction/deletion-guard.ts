import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { findCondition } from "../../model/condition.ts";
import type { TargetCluster } from "../sync-objects.ts";
import type { RemainingOn } from "./remaining-clusters.ts";

/** How many copies may leave at once without anybody being asked. */
export type DeletionGuardSettings = Readonly<{
  /** More than this many are held, whatever share of all they are. */
  maxCopies: number;
  /** More than this share of all is held, in percent … */
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
  /** All records of the logical cluster. */
  records: readonly Pick<WorkloadSync, "metadata" | "spec" | "status">[];
  staysOn: RemainingOn;
  placements: ReadonlyMap<string, Pick<WorkloadPlacement, "status" | "metadata">>;
  clusters: ReadonlyMap<string, TargetCluster>;
  settings: DeletionGuardSettings;
}>;

/** Says why copies must not leave a cluster now; undefined when they may. A copy that is held stays so until that is confirmed. */
export type DeletionGuard = (cluster: string) => string | undefined;

type Count = { all: number; leaving: number };

/** Whether so many go at once that somebody has to be asked. */
export function exceedsLimit({ all, leaving }: Readonly<Count>, settings: DeletionGuardSettings): boolean {
  return (
    leaving > settings.maxCopies || (leaving > settings.alwaysAllowed && leaving * 100 > all * settings.maxPercent)
  );
}

/**
 * Counts how many copies are about to leave because of what was decided, not because somebody deleted them.
 *
 * A wrong selector, a placement that was lost or a list that came back short all look like this: very many copies have no place
 * any more, at the same time. Copies on a cluster that somebody drains or takes away do not count, nor do those that a
 * dead cluster still has after the work has gone elsewhere, nor those that a placement has left by itself: those are meant.
 */
export function createDeletionGuard({
  records,
  staysOn,
  placements,
  clusters,
  settings,
}: DeletionGuardFacts): DeletionGuard {
  const tenant: Count = { all: 0, leaving: 0 };
  const byCluster = new Map<string, Count>();
  for (const record of records) {
    const staying = staysOn(record);
    for (const name of record.spec.clusters ?? []) {
      const count = byCluster.get(name) ?? { all: 0, leaving: 0 };
      byCluster.set(name, count);
      count.all += 1;
      tenant.all += 1;
      if (staying === undefined || staying.has(name)) continue;
      const before = record.status?.clusters?.find((each) => each.name === name);
      const placement = placements.get(record.spec.placement ?? "");
      if (isIntended({ name, targetCluster: clusters.get(name), before, placement })) continue;
      count.leaving += 1;
      tenant.leaving += 1;
    }
  }
  return (cluster) => {
    const count = byCluster.get(cluster);
    if (exceedsLimit(tenant, settings)) return words(tenant, "in the workspace");
    return count !== undefined && exceedsLimit(count, settings) ? words(count, `on cluster ${cluster}`) : undefined;
  };
}

export type EvictedCopy = Readonly<{
  /** The name of the cluster, and what is known of it. */
  name: string;
  targetCluster: TargetCluster | undefined;
  before: Readonly<{ state: string; reason?: string }> | undefined;
  placement: Pick<WorkloadPlacement, "status" | "metadata"> | undefined;
}>;

/**
 * Whether a copy leaves because somebody or something meant that for its cluster: it is drained or taken away, or the placement
 * has left it by itself. None of these is what a wrong selector or a lost placement looks like.
 */
export function isIntended({ name, targetCluster, before, placement }: EvictedCopy): boolean {
  if (targetCluster === undefined || targetCluster.isDeleting || targetCluster.isDrained || isLeftByFailover(before))
    return true;
  return placement?.status?.evictedClusters?.some((each) => each.cluster === name) === true;
}

/** Whether a copy was given up when its cluster was not heard from; it may go when that is back. */
function isLeftByFailover(before: Readonly<{ state: string; reason?: string }> | undefined): boolean {
  return before?.state === "Evicting" && before.reason === "ClusterNotReady";
}

function words({ all, leaving }: Count, where: string): string {
  return `${leaving} of ${all} copies ${where} would leave at once; confirm it with "tmc confirm"`;
}

/**
 * Names one hold of one copy, `east@2030-01-01T00:00:00Z`: what somebody confirms is this hold and no other. It ends with the
 * last copy of the workload that is held, and whatever is held later is another one, so a word once given is spent.
 * Undefined when nothing of the workload is held.
 */
export function holdOf(record: Pick<WorkloadSync, "status"> | undefined, cluster: string): string | undefined {
  const held = findCondition(record?.status?.conditions, "DeletionsHeld");
  return held?.status === "True" ? `${cluster}@${held.lastTransitionTime}` : undefined;
}
