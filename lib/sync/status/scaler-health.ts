import { applied, type Health, type HealthFacts, ready, wordsOf } from "./copy-health.ts";
import { textAt } from "./json.ts";
import { conditionOf } from "./status-conditions.ts";

/** An autoscaler is ready unless it says that it cannot scale, or has nothing to go by. */
export function scalerHealth({ status }: HealthFacts): Health {
  for (const type of ["AbleToScale", "ScalingActive"]) {
    const condition = conditionOf(status, type);
    // Scaled to nothing by a person: it rests, as it should.
    const isAtRest = condition !== undefined && textAt(condition, "reason") === "ScalingDisabled";
    if (condition?.status === "False" && !isAtRest) return applied("NotReady", wordsOf(condition));
  }
  return ready();
}
