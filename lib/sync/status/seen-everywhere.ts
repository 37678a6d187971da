import type { View } from "./facts.ts";
import type { StatusCondition } from "./status-conditions.ts";
import { namesInWords } from "./words.ts";
import { transitionTime } from "./worst-condition.ts";

/** Is in a workload's status, and false, as long as some cluster that it belongs on says nothing of it. */
export const seenEverywhere = "tmc.kcp.io/SeenEverywhere";

/** Why a status does not speak for all clusters; undefined when it does. */
export function whatIsMissing({
  copies,
  wanted,
  missing,
}: View): Readonly<{ reason: string; message: string }> | undefined {
  if (wanted.length === 0 && copies.length === 0) return { reason: "NoCopies", message: "it is on no cluster" };
  if (missing.length === 0) return undefined;
  const count = `${wanted.length - missing.length}/${wanted.length} clusters`;
  return {
    reason: copies.length === 0 ? "NoCopies" : "ClustersMissing",
    message: `seen on ${count}, not on ${namesInWords(missing)}`,
  };
}

/** A condition that is false because of what is missing. */
export function falseFor(
  type: string,
  missing: Readonly<{ reason: string; message: string }>,
  { previous, now }: Readonly<{ previous: StatusCondition | undefined; now: string }>,
): StatusCondition {
  const lastTransitionTime = transitionTime({ status: "False", since: now, previous, now });
  return { type, status: "False", ...missing, ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }) };
}
