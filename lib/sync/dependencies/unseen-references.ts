import type { WorkloadSync } from "../../api/workload-sync.ts";
import { allDone } from "../../model/all-done.ts";
import { referenceId } from "../decide.ts";
import type { Scene } from "../observed.ts";
import { recordName, syncFinalizer } from "../ownership/record.ts";
import type { WorkloadHub } from "../workload-hub.ts";
import { referencesOf } from "./references.ts";

/**
 * What the workloads of a namespace refer to whose records are in no list, by `referenceId`. Each of them is guarded and therefore has a
 * record, which was only not seen: nobody knows on which clusters it needs what it refers to.
 */
export async function unseenNeeds(
  workloads: Pick<WorkloadHub, "types" | "list">,
  { scene, records }: Readonly<{ scene: Pick<Scene, "key" | "address">; records: readonly WorkloadSync[] }>,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const { key, address } = scene;
  const seen = new Set([recordName(address), ...records.map(({ metadata }) => metadata.name ?? "")]);
  const lists = await allDone(
    workloads.types
      .filter(({ isOffered }) => isOffered)
      .map(async ({ type }) => {
        const objects = await workloads.list(key.cluster, type, signal);
        return objects.filter(
          ({ metadata: { namespace, name = "", finalizers, deletionTimestamp } }) =>
            namespace === address.namespace &&
            deletionTimestamp === undefined &&
            finalizers?.includes(syncFinalizer) === true &&
            !seen.has(recordName({ type, name })),
        );
      }),
  );
  return new Set(lists.flat().flatMap(referencesOf).map(referenceId));
}
