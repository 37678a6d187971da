import type { KubeObject } from "@tmc/kube/kube-object.ts";

/** One thing that is known about an object, as Kubernetes writes it; kcp's readers also know `severity`. */
export type Condition = Readonly<{
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
  severity?: "Error" | "Warning" | "Info";
}>;

/** A condition as it is decided: when it flipped is the list's business. */
export type DecidedCondition = Omit<Condition, "lastTransitionTime">;

export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/**
 * The list with one condition set. `lastTransitionTime` moves only when the status flips; the order of the list stays; the
 * list itself is given back when nothing differs, so that callers can see that there is nothing to write.
 */
export function withCondition(
  conditions: readonly Condition[],
  decided: DecidedCondition,
  now: string,
): readonly Condition[] {
  const present = findCondition(conditions, decided.type);
  const next: Condition = {
    ...decided,
    lastTransitionTime: present?.status === decided.status ? present.lastTransitionTime : now,
  };
  if (present === undefined) return [...conditions, next];
  if (sameCondition(present, next)) return conditions;
  return conditions.map((condition) => (condition === present ? next : condition));
}

function sameCondition(one: Condition, other: Condition): boolean {
  return (
    one.status === other.status &&
    one.reason === other.reason &&
    one.message === other.message &&
    one.observedGeneration === other.observedGeneration &&
    one.severity === other.severity
  );
}

/** What an object's Ready condition says; unknown where there is none. */
export type Readiness = "true" | "false" | "unknown";

/** Reads the readiness of an object of one of our kinds. */
export function readinessOf({ status }: KubeObject): Readiness {
  if (typeof status !== "object" || status === null || !("conditions" in status)) return "unknown";
  // The schema of both kinds gives conditions this form.
  const ready = findCondition(status.conditions as readonly Condition[] | undefined, "Ready");
  return ready?.status === "True" ? "true" : ready?.status === "False" ? "false" : "unknown";
}
