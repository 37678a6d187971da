import { isDeepStrictEqual } from "node:util";
import type { WorkloadSync } from "../api/workload-sync.ts";
import type { WorkloadKey } from "../model/key.ts";
import { placedEntry } from "../placement/placed-workloads.ts";
import type { SyncTools } from "./observed.ts";

/** Many workloads of a placement change at about the same time, and what is asked for meanwhile is one look. */
export const tellSeconds = 2;

/**
 * Tells the placements that govern a workload, or did so before, that what they say of it is not so any more. Nobody is told
 * of anything else: most looks at a workload change nothing that a placement shows.
 */
export async function tellPlacements(
  { tellPlacement }: Pick<SyncTools, "tellPlacement">,
  key: WorkloadKey,
  { before, after }: Readonly<{ before: WorkloadSync | undefined; after: WorkloadSync | undefined }>,
): Promise<void> {
  if (tellPlacement === undefined) return;
  const [earlier, later] = [before?.spec.placement, after?.spec.placement];
  if (earlier === later && isDeepStrictEqual(before && placedEntry(before), after && placedEntry(after))) return;
  for (const name of new Set([earlier, later])) {
    if (name !== undefined) await tellPlacement({ cluster: key.cluster, kind: "WorkloadPlacement", name });
  }
}
