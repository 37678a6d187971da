import type { WorkloadType } from "../api/workload-kinds.ts";
import { isClaimed } from "../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";

/** The types of which these placements may be about some: those that they name, and of one that names none every type of work. */
export function selectedTypes(
  placements: readonly Pick<WorkloadPlacement, "spec">[],
  types: readonly WorkloadType[],
): readonly WorkloadType[] {
  const selectors = placements.flatMap(({ spec }) => spec.workloadSelector ?? []);
  return types.filter((each) =>
    selectors.some(({ workloadTypes }) =>
      workloadTypes === undefined
        ? !isClaimed(each)
        : workloadTypes.some(({ apiVersion, kind }) => apiVersion === each.apiVersion && kind === each.kind),
    ),
  );
}
