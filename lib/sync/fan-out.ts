import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { allSettledOrThrow } from "../model/concurrency.ts";
import { type ObjectKey, type WorkloadKey, workloadKey } from "../model/key.ts";
import { placedEntry } from "../placement/placed-workloads.ts";
import type { SyncTools } from "./observed.ts";
import { isReadable, selectsWorkload } from "./selection.ts";
import type { WorkloadHub } from "./workload-hub.ts";

/** Whom a change of a placement or of a cluster concerns. */
export interface WorkloadFanOut {
  /** The same text as long as a placement tells workloads the same; undefined when it has never told any anything. */
  fingerprint(placement: WorkloadPlacement, status: WorkloadPlacement["status"]): string | undefined;
  /** The workloads that a placement selects, and those that it put where they are; of one that has gone only those. */
  concernedByPlacement(
    key: ObjectKey,
    placement: WorkloadPlacement | undefined,
    signal: AbortSignal,
  ): Promise<readonly WorkloadKey[]>;
  /** The records of the workloads that a placement governs. */
  recordsUnder(key: ObjectKey, signal: AbortSignal): Promise<readonly WorkloadSync[]>;
  /** The workloads of which a cluster has a copy or may have one. */
  onCluster(key: ObjectKey, signal: AbortSignal): Promise<readonly WorkloadKey[]>;
}

/** Creates the fan-out over the hub's workloads. */
export function createWorkloadFanOut(hub: WorkloadHub): WorkloadFanOut {
  const keyOf = ({ metadata, spec }: WorkloadSync, cluster: string): WorkloadKey | undefined => {
    const { apiVersion, kind, name } = spec.workload;
    const served = hub.types.find((each) => each.apiVersion === apiVersion && each.kind === kind);
    return served && workloadKey(cluster, { type: served.type, namespace: metadata.namespace ?? "", name });
  };
  const ofRecords = async (
    cluster: string,
    isConcerned: (record: WorkloadSync) => boolean,
    signal: AbortSignal,
  ): Promise<readonly WorkloadKey[]> =>
    (await hub.listRecords(cluster, signal))
      .filter(isConcerned)
      .map((record) => keyOf(record, cluster))
      .filter((key) => key !== undefined);

  const selectedBy = async (
    placement: WorkloadPlacement,
    cluster: string,
    signal: AbortSignal,
  ): Promise<readonly WorkloadKey[]> => {
    const { workloadSelector } = placement.spec;
    // One that makes no sense selects nothing new, and its condition says what is wrong with it.
    if (workloadSelector === undefined || !isReadable(placement)) return [];
    const named = workloadSelector.workloadTypes;
    const types = hub.types.filter(({ apiVersion, kind, isOffered }) =>
      named === undefined ? isOffered : named.some((each) => each.apiVersion === apiVersion && each.kind === kind),
    );
    const found = await allSettledOrThrow(
      types.map(async ({ type, apiVersion, kind }) => {
        const objects = await hub.list(cluster, type, signal);
        const keys = await allSettledOrThrow(
          objects.map(async ({ metadata }) => {
            const { namespace = "", name = "", labels } = metadata;
            const namespaceLabels = await hub.namespaceLabels(cluster, namespace, signal);
            const isSelected = selectsWorkload(placement, { apiVersion, kind, labels, namespace, namespaceLabels });
            return isSelected ? workloadKey(cluster, { type, namespace, name }) : undefined;
          }),
        );
        return keys.filter((key) => key !== undefined);
      }),
    );
    return found.flat();
  };

  return {
    fingerprint: ({ metadata, spec, status: before }, status) => {
      if (spec.workloadSelector === undefined && before?.notifiedHash === undefined) return undefined;
      const news = JSON.stringify([metadata.generation ?? 0, status?.selectedClusters ?? []]);
      return createHash("sha256").update(news).digest("hex").slice(0, 16);
    },
    concernedByPlacement: async ({ logicalCluster, name }, placement, signal) => {
      const [selected, recorded] = await allSettledOrThrow([
        placement === undefined ? [] : selectedBy(placement, logicalCluster, signal),
        ofRecords(logicalCluster, ({ spec }) => spec.placement === name, signal),
      ]);
      return [...new Map([...selected, ...recorded].map((key) => [key.name, key])).values()];
    },
    recordsUnder: async ({ logicalCluster, name }, signal) =>
      byPlacement(await hub.listRecords(logicalCluster, signal)).get(name) ?? [],
    onCluster: ({ logicalCluster, name }, signal) =>
      ofRecords(
        logicalCluster,
        ({ spec }) => [...(spec.clusters ?? []), ...(spec.pendingCleanup ?? [])].includes(name),
        signal,
      ),
  };
}

// A hub that keeps a list hands out the same one until something in it changes: many placements then ask for one index.
const indexes = new WeakMap<readonly WorkloadSync[], ReadonlyMap<string, readonly WorkloadSync[]>>();

function byPlacement(records: readonly WorkloadSync[]): ReadonlyMap<string, readonly WorkloadSync[]> {
  const known = indexes.get(records);
  if (known !== undefined) return known;
  const index = Map.groupBy(records, ({ spec }) => spec.placement ?? "");
  indexes.set(records, index);
  return index;
}

/** Many workloads of a placement change at about the same time, and what is asked for meanwhile is one look. */
export const notifySeconds = 2;

/**
 * Tells the placements that govern a workload, or did so before, that what they say of it is not so any more. Nobody is told
 * of anything else: most looks at a workload change nothing that a placement shows.
 */
export async function notifyPlacements(
  { notifyPlacement }: Pick<SyncTools, "notifyPlacement">,
  key: WorkloadKey,
  { before, after }: Readonly<{ before: WorkloadSync | undefined; after: WorkloadSync | undefined }>,
): Promise<void> {
  if (notifyPlacement === undefined) return;
  const [earlier, later] = [before?.spec.placement, after?.spec.placement];
  if (earlier === later && isDeepStrictEqual(before && placedEntry(before), after && placedEntry(after))) return;
  for (const name of new Set([earlier, later])) {
    if (name !== undefined)
      await notifyPlacement({ logicalCluster: key.logicalCluster, kind: "WorkloadPlacement", name });
  }
}
