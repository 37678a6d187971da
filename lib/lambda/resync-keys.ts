import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { reconciledKinds, type WorkKey, workloadKey } from "../model/key.ts";
import { upsyncOriginOf } from "../sync/ownership/upsync-origin.ts";
import { selectedTypes } from "../sync/selection.ts";
import { recordResource, workloadAddressOf } from "../upstream/watched-resources.ts";
import { optInsOf } from "../upsync/opt-in.ts";
import type { WorkspaceLister, WorkspaceListing } from "./workspaces.ts";

/** All keys to resync, and the lists that failed. */
export type ResyncKeys = Pick<WorkspaceListing, "readCount" | "failures"> & Readonly<{ keys: readonly WorkKey[] }>;

/**
 * Lists every key: all registrations and placements, and of these types the workloads that have a sync record, that were
 * upsynced, or whose type a placement of their workspace may select. Evaluating selectors here would cost more than an
 * unnecessary reconcile.
 */
export async function listResyncKeys(
  lister: WorkspaceLister,
  types: readonly WorkloadType[],
  signal: AbortSignal,
): Promise<ResyncKeys> {
  /** By text: a workload can be selected and also have a sync record. */
  const keys = new Map<string, WorkKey>();
  /** By workspace: if the list of one kind fails, the others usually fail too. */
  const failures = new Map<string, WorkspaceListing["failures"][number]>();
  let readCount = 0;
  const isSynced = types.length > 0;
  const add = (key: WorkKey): void => void keys.set(`${key.logicalCluster}|${key.kind}/${key.name}`, key);
  const collect = async (listing: Promise<WorkspaceListing>): Promise<WorkspaceListing["found"]> => {
    const listed = await listing;
    readCount += listed.readCount;
    for (const failure of listed.failures) failures.set(failure.workspace, failure);
    return listed.found;
  };
  const selected = new Map<string, readonly WorkloadType[]>();
  const optedIn = new Map<string, readonly WorkloadType[]>();
  for (const kind of reconciledKinds) {
    // Selectors and upsync opt-ins are in the specs; without sync, names are enough.
    for (const { logicalCluster, objects } of await collect(
      lister.list(kind, isSynced ? "whole" : "metadata", signal),
    )) {
      for (const { metadata } of objects) add({ logicalCluster, kind, name: metadata.name ?? "" });
      if (!isSynced) continue;
      // The server validates them against the schema of the kind.
      if (kind === "WorkloadPlacement")
        selected.set(logicalCluster, selectedTypes(objects as readonly WorkloadPlacement[], types));
      else optedIn.set(logicalCluster, optedInTypes(objects as readonly ClusterRegistration[], types));
    }
  }
  if (isSynced) {
    for (const workloadType of new Set([...selected.values(), ...optedIn.values()].flat())) {
      for (const { logicalCluster, objects } of await collect(lister.listType(workloadType.type, "metadata", signal))) {
        const isSelected = selected.get(logicalCluster)?.includes(workloadType) === true;
        if (!isSelected && optedIn.get(logicalCluster)?.includes(workloadType) !== true) continue;
        const { apiVersion, kind } = workloadType;
        for (const { metadata } of objects) {
          const { namespace = "", name = "" } = metadata;
          if (isSelected || upsyncOriginOf({ apiVersion, kind, metadata }, logicalCluster) !== undefined)
            add(workloadKey(logicalCluster, { type: workloadType.type, namespace, name }));
        }
      }
    }
    for (const { logicalCluster, objects } of await collect(lister.listType(recordResource.type, "whole", signal))) {
      for (const record of objects as readonly WorkloadSync[]) {
        const address = workloadAddressOf(record, types);
        if (address !== undefined) add(workloadKey(logicalCluster, address));
      }
    }
  }
  return { keys: [...keys.values()], readCount, failures: [...failures.values()] };
}

/** The types that any of the clusters opts in to upsync. */
function optedInTypes(
  registrations: readonly ClusterRegistration[],
  types: readonly WorkloadType[],
): readonly WorkloadType[] {
  const all = registrations.flatMap((registration) => optInsOf(registration, types).optIns.map(({ type }) => type));
  return [...new Set(all)];
}
