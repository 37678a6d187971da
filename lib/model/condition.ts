import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { clipMessage } from "./text.ts";

/** A Kubernetes condition; `severity` is an addition that kcp understands. */
export type Condition = Readonly<{
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
  severity?: "Error" | "Warning" | "Info";
}>;

/** A condition before it is added to a list, which sets `lastTransitionTime`. */
export type DecidedCondition = Omit<Condition, "lastTransitionTime">;

export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/**
 * Returns the list with one condition set. `lastTransitionTime` changes only with the status, and the order is kept. If
 * nothing differs the same array is returned, so that callers can skip the write. The message is shortened here, for all
 * kinds: it may quote what a tenant or a cluster has written, and the server rejects a status with a message that is too long.
 */
export function withCondition(
  conditions: readonly Condition[],
  decided: DecidedCondition,
  now: string,
): readonly Condition[] {
  const present = findCondition(conditions, decided.type);
  const next: Condition = {
    ...decided,
    message: clipMessage(decided.message),
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

/** The message of a condition in a status whose details the server has rejected. */
const rejectedDetails = "the API server rejected the details of this status";

/**
 * Reduces a status that the server has rejected to what it surely accepts: the status as it is stored, with the new
 * conditions by their reasons alone. Undefined if the rejected status has no conditions.
 */
export function withReasonsAlone(stored: unknown, rejected: object): object | undefined {
  const conditions: unknown = "conditions" in rejected ? rejected.conditions : undefined;
  if (!Array.isArray(conditions)) return undefined;
  const before = typeof stored === "object" && stored !== null ? stored : {};
  // The schema of our kinds guarantees the form of conditions.
  const reduced = (conditions as readonly Condition[]).map((each) => ({ ...each, message: rejectedDetails }));
  return { ...before, conditions: reduced };
}

/** The status of an object's Ready condition as a metric label; "unknown" without the condition. */
export type Readiness = "true" | "false" | "unknown";

export function readinessOf({ status }: KubeObject): Readiness {
  if (typeof status !== "object" || status === null || !("conditions" in status)) return "unknown";
  // The schema of our kinds guarantees the form of conditions.
  const ready = findCondition(status.conditions as readonly Condition[] | undefined, "Ready");
  return ready?.status === "True" ? "true" : ready?.status === "False" ? "false" : "unknown";
}
