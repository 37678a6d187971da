import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { allSettledOrThrow } from "../model/concurrency.ts";
import { type ObjectKey, type WorkKey, workloadKey } from "../model/key.ts";
import { upsyncOriginOf } from "../sync/ownership/upsync-origin.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import { optInsOf } from "./opt-in.ts";

/** Finds the keys to enqueue when the health of a cluster changes, besides those of workloads with copies there. */
export type AffectedByOrigin = (
  key: ObjectKey,
  registration: ClusterRegistration,
  signal: AbortSignal,
) => Promise<readonly WorkKey[]>;

/**
 * Creates the lookup of workloads whose origin is a cluster. The result includes the key of the registration itself, because
 * the process that probes the cluster may be another than the one that reconciles its upsync.
 */
export function createAffectedByOrigin(workloads: Pick<WorkloadHub, "types" | "list">): AffectedByOrigin {
  return async (key, registration, signal) => {
    const { logicalCluster } = key;
    const { optIns } = optInsOf(registration, workloads.types);
    if (optIns.length === 0) return [];
    const upsynced = await allSettledOrThrow(
      optIns.map(async ({ type: { type, apiVersion, kind } }) => {
        const objects = await workloads.list(logicalCluster, type, signal);
        return objects
          .filter(
            ({ metadata }) => upsyncOriginOf({ apiVersion, kind, metadata }, logicalCluster)?.registration === key.name,
          )
          .map(({ metadata: { namespace = "", name = "" } }) => workloadKey(logicalCluster, { type, namespace, name }));
      }),
    );
    return [key, ...upsynced.flat()];
  };
}
