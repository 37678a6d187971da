import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { reconciledKinds, type WorkKey, workloadKey } from "../model/key.ts";
import { upsyncOriginOf } from "../sync/ownership/upsync-origin.ts";
import { selectedTypes } from "../sync/selection.ts";
import { recordLane, workloadOfRecord } from "../upstream/watched-resources.ts";
import { optInsOf } from "../upsync/opt-in.ts";
import type { Fleet, FleetList } from "./workspaces.ts";

/** Every key there is, and where something could not be read. */
export type ResyncKeys = Pick<FleetList, "read" | "problems"> & Readonly<{ keys: readonly WorkKey[] }>;

/**
 * Lists every key: of both kinds by name alone, and of these types the workloads that have a record, that were born on a cluster,
 * or that a placement of their workspace may be about. To look closer would cost more than the reconcile of one that is not.
 */
export async function keysIn(fleet: Fleet, types: readonly WorkloadType[], signal: AbortSignal): Promise<ResyncKeys> {
  /** By their texts: a workload can be selected and have a record. */
  const keys = new Map<string, WorkKey>();
  /** What fails for one kind mostly fails for the other: it is said once. */
  const problems = new Map<string, FleetList["problems"][number]>();
  let read = 0;
  const isSynced = types.length > 0;
  const add = (key: WorkKey): void => void keys.set(`${key.logicalCluster}|${key.kind}/${key.name}`, key);
  const take = async (listing: Promise<FleetList>): Promise<FleetList["found"]> => {
    const listed = await listing;
    read += listed.read;
    for (const problem of listed.problems) problems.set(problem.workspace, problem);
    return listed.found;
  };
  const selected = new Map<string, readonly WorkloadType[]>();
  const optedIn = new Map<string, readonly WorkloadType[]>();
  for (const kind of reconciledKinds) {
    // What placements are about, and what clusters opt in to, is in their specs; otherwise names will do.
    for (const { logicalCluster, objects } of await take(fleet.list(kind, isSynced ? "whole" : "metadata", signal))) {
      for (const { metadata } of objects) add({ logicalCluster, kind, name: metadata.name ?? "" });
      if (!isSynced) continue;
      // The server holds them to the kind's schema.
      if (kind === "WorkloadPlacement")
        selected.set(logicalCluster, selectedTypes(objects as readonly WorkloadPlacement[], types));
      else optedIn.set(logicalCluster, optedInTypes(objects as readonly ClusterRegistration[], types));
    }
  }
  if (isSynced) {
    for (const each of new Set([...selected.values(), ...optedIn.values()].flat())) {
      for (const { logicalCluster, objects } of await take(fleet.listType(each.type, "metadata", signal))) {
        const isSelected = selected.get(logicalCluster)?.includes(each) === true;
        if (!isSelected && optedIn.get(logicalCluster)?.includes(each) !== true) continue;
        const { apiVersion, kind } = each;
        for (const { metadata } of objects) {
          const { namespace = "", name = "" } = metadata;
          if (isSelected || upsyncOriginOf({ apiVersion, kind, metadata }, logicalCluster) !== undefined)
            add(workloadKey(logicalCluster, { type: each.type, namespace, name }));
        }
      }
    }
    for (const { logicalCluster, objects } of await take(fleet.listType(recordLane.type, "whole", signal))) {
      for (const record of objects as readonly WorkloadSync[]) {
        const address = workloadOfRecord(record, types);
        if (address !== undefined) add(workloadKey(logicalCluster, address));
      }
    }
  }
  return { keys: [...keys.values()], read, problems: [...problems.values()] };
}

/** The types of which something may have been born on any of the clusters. */
function optedInTypes(
  registrations: readonly ClusterRegistration[],
  types: readonly WorkloadType[],
): readonly WorkloadType[] {
  const all = registrations.flatMap((registration) => optInsOf(registration, types).optIns.map(({ type }) => type));
  return [...new Set(all)];
}
