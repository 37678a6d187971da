import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { Rota } from "../engine/spread-schedule.ts";
import { reconciledKinds, type WorkKey, type WorkloadKey, workloadKey } from "../model/key.ts";
import { selectedTypes } from "../sync/selection.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";
import { workloadOfRecord } from "../upstream/watched-resources.ts";
import type { WorkloadCache } from "../upstream/workload-cache.ts";
import { createPeriodic, listedClusters, type PeriodicOptions } from "./periodic.ts";

export type ResyncOptions = PeriodicOptions &
  Readonly<{
    /** What was seen of workloads. @default none are looked after */
    workloads?: WorkloadCache | undefined;
  }>;

/** Creates what has every object reconciled once in a period, so that anything missed heals. */
export function createResync(options: ResyncOptions): Rota {
  const { cache, workloads } = options;
  const keys = function* (): Generator<WorkKey> {
    for (const logicalCluster of listedClusters(cache)) {
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
 * Every workload with a record, and where a placement is about any work at all, every one that may be selected. To look closer
 * would cost more, at every step of the round, than the reconcile of one that is not.
 */
function* workloadKeys(workloads: WorkloadCache, cache: ObjectCache, logicalCluster: string): Generator<WorkloadKey> {
  // The server holds them to the kind's schema.
  const placements = cache.list("WorkloadPlacement", logicalCluster) as readonly WorkloadPlacement[];
  const selected = selectedTypes(placements, workloads.types);
  for (const { type } of selected) {
    for (const { metadata } of workloads.list(type, logicalCluster)) {
      yield workloadKey(logicalCluster, { type, namespace: metadata.namespace ?? "", name: metadata.name ?? "" });
    }
  }
  for (const record of workloads.records(logicalCluster)) {
    const address = workloadOfRecord(record, workloads.types);
    if (address === undefined) continue;
    const isTold = selected.some(({ type }) => type === address.type) && workloads.get({ logicalCluster, ...address });
    if (!isTold) yield workloadKey(logicalCluster, address);
  }
}
