import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { fieldAt } from "./json.ts";
import { conditionOf } from "./status-conditions.ts";
import { typeName } from "./type-name.ts";

export type ReachedFacts = Readonly<{
  apiVersion: string;
  kind: string;
  status?: JsonObject | undefined;
  /** The copy's own, not the workload's. */
  generation?: number | undefined;
}>;

/** Types whose controller always says how far it has come: as long as it has said nothing, it has not looked. */
const alwaysSay: ReadonlySet<string> = new Set([
  "Deployment.apps",
  "StatefulSet.apps",
  "DaemonSet.apps",
  "ReplicaSet.apps",
]);

/** Conditions that speak for the whole object, the first that is there; of others an old word means nothing. */
export const overallConditions = ["Ready", "Available", "Healthy"] as const;

/** Tells whether the copy's own controller has taken up the last change of the copy, as far as it says. */
export function hasReached({ apiVersion, kind, status, generation }: ReachedFacts): boolean {
  if (generation === undefined) return true;
  const observed = observedGenerationOf(status);
  if (observed !== undefined) return observed >= generation;
  if (alwaysSay.has(typeName({ apiVersion, kind }))) return false;
  const overall = overallConditions.map((type) => conditionOf(status, type)).find((each) => each !== undefined);
  const said = observedGenerationOf(overall);
  return said === undefined || said >= generation;
}

/** The generation that a status or a condition was made from; some controllers write it as a text. */
export function observedGenerationOf(said: JsonObject | undefined): number | undefined {
  const value = fieldAt(said, "observedGeneration");
  if (typeof value === "number") return value;
  return typeof value === "string" && /^[0-9]+$/.test(value) ? Number(value) : undefined;
}
