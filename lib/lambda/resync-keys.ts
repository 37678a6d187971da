import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { recordLane, workloadOfRecord } from "../kcp/workload-lanes.ts";
import { reconciledKinds, type WorkKey, workloadKey } from "../model/key.ts";
import type { WorkloadType } from "../sync/hub.ts";
import { selectedTypes } from "../sync/selected-types.ts";
import type { Fleet, FleetList } from "./fleet.ts";

/** Every key there is, and where something could not be read. */
export type ResyncKeys = Pick<FleetList, "read" | "problems"> & Readonly<{ keys: readonly WorkKey[] }>;

/**
 * Lists every key: of both kinds by name alone, and of these types the workloads that have a record, or that a placement of
 * their workspace may be about. To look closer would cost more than the reconcile of one that is not.
 */
export async function keysIn(fleet: Fleet, types: readonly WorkloadType[], signal: AbortSignal): Promise<ResyncKeys> {
  /** By their texts: a workload can be selected and have a record. */
  const keys = new Map<string, WorkKey>();
  /** What fails for one kind mostly fails for the other: it is said once. */
  const problems = new Map<string, FleetList["problems"][number]>();
  let read = 0;
  const isSynced = types.length > 0;
  const add = (key: WorkKey): void => void keys.set(`${key.cluster}|${key.kind}/${key.name}`, key);
  const take = async (listing: Promise<FleetList>): Promise<FleetList["found"]> => {
    const listed = await listing;
    read += listed.read;
    for (const problem of listed.problems) problems.set(problem.workspace, problem);
    return listed.found;
  };
  const placements = new Map<string, readonly WorkloadPlacement[]>();
  for (const kind of reconciledKinds) {
    // What placements are about is in their specs; nobody needs more of the others than their names.
    const form = isSynced && kind === "WorkloadPlacement" ? "whole" : "metadata";
    for (const { cluster, objects } of await take(fleet.list(kind, form, signal))) {
      for (const { metadata } of objects) add({ cluster, kind, name: metadata.name ?? "" });
      // The server holds them to the kind's schema.
      if (form === "whole") placements.set(cluster, objects as readonly WorkloadPlacement[]);
    }
  }
  if (isSynced) {
    const selected = new Map([...placements].map(([cluster, own]) => [cluster, selectedTypes(own, types)]));
    for (const each of new Set([...selected.values()].flat())) {
      for (const { cluster, objects } of await take(fleet.listType(each.type, "metadata", signal))) {
        if (selected.get(cluster)?.includes(each) !== true) continue;
        for (const { metadata } of objects) {
          const { namespace = "", name = "" } = metadata;
          add(workloadKey(cluster, { type: each.type, namespace, name }));
        }
      }
    }
    for (const { cluster, objects } of await take(fleet.listType(recordLane.type, "whole", signal))) {
      for (const record of objects as readonly WorkloadSync[]) {
        const address = workloadOfRecord(record, types);
        if (address !== undefined) add(workloadKey(cluster, address));
      }
    }
  }
  return { keys: [...keys.values()], read, problems: [...problems.values()] };
}
