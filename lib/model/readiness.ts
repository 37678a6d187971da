import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type Condition, findCondition } from "./condition.ts";

/** What an object's Ready condition says; unknown where there is none. */
export type Readiness = "true" | "false" | "unknown";

/** Reads the readiness of an object of one of our kinds. */
export function readinessOf({ status }: KubeObject): Readiness {
  if (typeof status !== "object" || status === null || !("conditions" in status)) return "unknown";
  // The schema of both kinds gives conditions this form.
  const ready = findCondition(status.conditions as readonly Condition[] | undefined, "Ready");
  return ready?.status === "True" ? "true" : ready?.status === "False" ? "false" : "unknown";
}
