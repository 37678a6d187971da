import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { allSettledOrThrow } from "../model/concurrency.ts";
import { type ObjectKey, type WorkKey, workloadKey } from "../model/key.ts";
import { upsyncOriginOf } from "../sync/ownership/upsync-origin.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import { optInsOf } from "./opt-in.ts";

/** Finds whom it concerns how a cluster is, beside those who have copies there. */
export type AffectedByOrigin = (
  key: ObjectKey,
  registration: ClusterRegistration,
  signal: AbortSignal,
) => Promise<readonly WorkKey[]>;

/**
 * Creates what finds the workloads that were born on a cluster; with them goes the key of the registration itself, since whoever
 * has looked at its health need not be the one who looks for what is born there.
 */
export function createAffectedByOrigin(workloads: Pick<WorkloadHub, "types" | "list">): AffectedByOrigin {
  return async (key, registration, signal) => {
    const { logicalCluster } = key;
    const { optIns } = optInsOf(registration, workloads.types);
    if (optIns.length === 0) return [];
    const born = await allSettledOrThrow(
      optIns.map(async ({ type: { type, apiVersion, kind } }) => {
        const objects = await workloads.list(logicalCluster, type, signal);
        return objects
          .filter(
            ({ metadata }) => upsyncOriginOf({ apiVersion, kind, metadata }, logicalCluster)?.registration === key.name,
          )
          .map(({ metadata: { namespace = "", name = "" } }) => workloadKey(logicalCluster, { type, namespace, name }));
      }),
    );
    return [key, ...born.flat()];
  };
}
