import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { SpreadSchedule } from "../engine/spread-schedule.ts";
import { reconciledKinds, type WorkKey, type WorkloadKey, workloadKey } from "../model/key.ts";
import { selectedTypes } from "../sync/selection.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";
import { workloadAddressOf } from "../upstream/watched-resources.ts";
import type { WorkloadCache } from "../upstream/workload-cache.ts";
import { createPeriodic, listedLogicalClusters, type PeriodicOptions } from "./periodic.ts";

export type ResyncOptions = PeriodicOptions &
  Readonly<{
    /** @default no workloads */
    workloads?: WorkloadCache | undefined;
  }>;

/** Creates the schedule that enqueues every object once per period, so that missed changes are repaired. */
export function createResync(options: ResyncOptions): SpreadSchedule {
  const { cache, workloads } = options;
  const keys = function* (): Generator<WorkKey> {
    for (const logicalCluster of listedLogicalClusters(cache)) {
      for (const kind of reconciledKinds) {
        for (const { metadata } of cache.list(kind, logicalCluster)) {
          yield { logicalCluster, kind, name: metadata.name ?? "" };
        }
      }
      if (workloads?.isListed(logicalCluster) === true) yield* workloadKeys(workloads, cache, logicalCluster);
    }
  };
  return createPeriodic(options, { reason: "resync", keys });
}

/**
 * Yields every workload with a sync record, and every workload of a type that some placement selects. Matching each workload
 * against the placements would cost more than the reconcile of one that no placement selects.
 */
function* workloadKeys(workloads: WorkloadCache, cache: ObjectCache, logicalCluster: string): Generator<WorkloadKey> {
  // The server validates placements against our schema.
  const placements = cache.list("WorkloadPlacement", logicalCluster) as readonly WorkloadPlacement[];
  const selected = selectedTypes(placements, workloads.types);
  for (const { type } of selected) {
    for (const { metadata } of workloads.list(type, logicalCluster)) {
      yield workloadKey(logicalCluster, { type, namespace: metadata.namespace ?? "", name: metadata.name ?? "" });
    }
  }
  for (const record of workloads.records(logicalCluster)) {
    const address = workloadAddressOf(record, workloads.types);
    if (address === undefined) continue;
    const isYielded =
      selected.some(({ type }) => type === address.type) && workloads.get({ logicalCluster, ...address });
    if (!isYielded) yield workloadKey(logicalCluster, address);
  }
}
