import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { allSettledOrThrow } from "../model/concurrency.ts";
import { type ObjectKey, type WorkloadKey, workloadKey } from "../model/key.ts";
import { placedEntry } from "../placement/placed-workloads.ts";
import type { SyncTools } from "./observed.ts";
import { hasValidSelector, selectsWorkload } from "./selection.ts";
import type { WorkloadHub } from "./workload-hub.ts";

/** Finds the workloads that a change of a placement or of a registration affects. */
export interface WorkloadFanOut {
  /**
   * A hash of what workloads read from a placement: it changes when they have to be enqueued. Undefined for a placement that
   * selects no workloads and never did.
   */
  placementHash(placement: WorkloadPlacement, status: WorkloadPlacement["status"]): string | undefined;
  /** The workloads that a placement selects or governs; for a placement that was deleted, only those that it governed. */
  workloadsOfPlacement(
    key: ObjectKey,
    placement: WorkloadPlacement | undefined,
    signal: AbortSignal,
  ): Promise<readonly WorkloadKey[]>;
  /** The sync records of the workloads that a placement governs. */
  recordsOfPlacement(key: ObjectKey, signal: AbortSignal): Promise<readonly WorkloadSync[]>;
  /** The workloads of which a cluster has a copy or may have one. */
  workloadsOnCluster(registration: ObjectKey, signal: AbortSignal): Promise<readonly WorkloadKey[]>;
}

export function createWorkloadFanOut(workloads: WorkloadHub): WorkloadFanOut {
  const keyOf = ({ metadata, spec }: WorkloadSync, logicalCluster: string): WorkloadKey | undefined => {
    const { apiVersion, kind, name } = spec.workload;
    const synced = workloads.types.find((each) => each.apiVersion === apiVersion && each.kind === kind);
    return synced && workloadKey(logicalCluster, { type: synced.type, namespace: metadata.namespace ?? "", name });
  };
  const workloadsWithRecord = async (
    logicalCluster: string,
    isAffected: (record: WorkloadSync) => boolean,
    signal: AbortSignal,
  ): Promise<readonly WorkloadKey[]> =>
    (await workloads.listRecords(logicalCluster, signal))
      .filter(isAffected)
      .map((record) => keyOf(record, logicalCluster))
      .filter((key) => key !== undefined);

  const selectedBy = async (
    placement: WorkloadPlacement,
    logicalCluster: string,
    signal: AbortSignal,
  ): Promise<readonly WorkloadKey[]> => {
    const { workloadSelector } = placement.spec;
    // An invalid selector selects nothing new; a condition of the placement reports it.
    if (workloadSelector === undefined || !hasValidSelector(placement)) return [];
    const { workloadTypes } = workloadSelector;
    const types = workloads.types.filter(({ apiVersion, kind, isOffered }) =>
      workloadTypes === undefined
        ? isOffered
        : workloadTypes.some((each) => each.apiVersion === apiVersion && each.kind === kind),
    );
    const found = await allSettledOrThrow(
      types.map(async ({ type, apiVersion, kind }) => {
        const objects = await workloads.list(logicalCluster, type, signal);
        const keys = await allSettledOrThrow(
          objects.map(async ({ metadata }) => {
            const { namespace = "", name = "", labels } = metadata;
            const namespaceLabels = await workloads.namespaceLabels(logicalCluster, namespace, signal);
            const isSelected = selectsWorkload(placement, { apiVersion, kind, labels, namespace, namespaceLabels });
            return isSelected ? workloadKey(logicalCluster, { type, namespace, name }) : undefined;
          }),
        );
        return keys.filter((key) => key !== undefined);
      }),
    );
    return found.flat();
  };

  return {
    placementHash: ({ metadata, spec, status: previous }, status) => {
      if (spec.workloadSelector === undefined && previous?.notifiedHash === undefined) return undefined;
      const content = JSON.stringify([metadata.generation ?? 0, status?.selectedClusters ?? []]);
      return createHash("sha256").update(content).digest("hex").slice(0, 16);
    },
    workloadsOfPlacement: async ({ logicalCluster, name }, placement, signal) => {
      const [selected, governed] = await allSettledOrThrow([
        placement === undefined ? [] : selectedBy(placement, logicalCluster, signal),
        workloadsWithRecord(logicalCluster, ({ spec }) => spec.placement === name, signal),
      ]);
      return [...new Map([...selected, ...governed].map((key) => [key.name, key])).values()];
    },
    recordsOfPlacement: async ({ logicalCluster, name }, signal) =>
      recordsByPlacement(await workloads.listRecords(logicalCluster, signal)).get(name) ?? [],
    workloadsOnCluster: ({ logicalCluster, name }, signal) =>
      workloadsWithRecord(
        logicalCluster,
        ({ spec }) => [...(spec.clusters ?? []), ...(spec.pendingCleanup ?? [])].includes(name),
        signal,
      ),
  };
}

// A cache returns the same list until it changes, so many placements share one index.
const indexes = new WeakMap<readonly WorkloadSync[], ReadonlyMap<string, readonly WorkloadSync[]>>();

function recordsByPlacement(records: readonly WorkloadSync[]): ReadonlyMap<string, readonly WorkloadSync[]> {
  const cached = indexes.get(records);
  if (cached !== undefined) return cached;
  const index = Map.groupBy(records, ({ spec }) => spec.placement ?? "");
  indexes.set(records, index);
  return index;
}

/** Delay before a placement is reconciled: many of its workloads change at about the same time, and share one reconcile. */
export const notifyDelaySeconds = 2;

/**
 * Enqueues the placements that govern a workload, or governed it before, if what they report about it has changed. Most
 * reconciles of a workload change nothing that a placement reports, and enqueue none.
 */
export async function notifyPlacements(
  { notifyPlacement }: Pick<SyncTools, "notifyPlacement">,
  key: WorkloadKey,
  { before, after }: Readonly<{ before: WorkloadSync | undefined; after: WorkloadSync | undefined }>,
): Promise<void> {
  if (notifyPlacement === undefined) return;
  const [previous, current] = [before?.spec.placement, after?.spec.placement];
  if (previous === current && isDeepStrictEqual(before && placedEntry(before), after && placedEntry(after))) return;
  for (const name of new Set([previous, current])) {
    if (name !== undefined)
      await notifyPlacement({ logicalCluster: key.logicalCluster, kind: "WorkloadPlacement", name });
  }
}
