import type { WorkloadSync } from "../../api/workload-sync.ts";
import { findCondition } from "../../model/condition.ts";

/**
 * Names one hold of one copy, `east@2030-01-01T00:00:00Z`: what somebody confirms is this hold and no other. It ends with the
 * last copy of the workload that is held, and whatever is held later is another one, so a word once given is spent.
 * Undefined when nothing of the workload is held.
 */
export function holdOf(record: Pick<WorkloadSync, "status"> | undefined, cluster: string): string | undefined {
  const held = findCondition(record?.status?.conditions, "DeletionsHeld");
  return held?.status === "True" ? `${cluster}@${held.lastTransitionTime}` : undefined;
}
