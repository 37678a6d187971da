import type { IntOrString, ObjectCondition, Pod } from "./kinds.ts";
import { parseTime } from "./kinds.ts";

export const conditionOfType = (
  conditions: readonly ObjectCondition[] | undefined,
  type: string,
): ObjectCondition | undefined => conditions?.find((condition) => condition.type === type);

const isConditionTrue = (conditions: readonly ObjectCondition[] | undefined, type: string): boolean =>
  conditionOfType(conditions, type)?.status === "True";

export const isPodReady = (pod: Pod): boolean => isConditionTrue(pod.status?.conditions, "Ready");

export const isPodActive = (pod: Pod): boolean => pod.metadata.deletionTimestamp === undefined && !isPodFinished(pod);

export const isPodTerminating = (pod: Pod): boolean =>
  pod.metadata.deletionTimestamp !== undefined && !isPodFinished(pod);

export const isPodFinished = (pod: Pod): boolean => pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";

/** Milliseconds until a pod has been ready for minReadySeconds: 0 if it has, undefined if it is not ready. */
export function availableInMs(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  const ready = conditionOfType(pod.status?.conditions, "Ready");
  if (ready?.status !== "True") return undefined;
  if (minReadySeconds === 0 || ready.lastTransitionTime === undefined) return 0;
  return Math.max(0, parseTime(ready.lastTransitionTime) + minReadySeconds * 1000 - now);
}

/** Counts the pods that have been ready for minReadySeconds, and the time until the next one. */
export function countAvailable(
  pods: readonly Pod[],
  minReadySeconds: number,
  now: number,
): Readonly<{ available: number; nextMs: number | undefined }> {
  const waits = pods.map((pod) => availableInMs(pod, minReadySeconds, now));
  const pending = waits.filter((wait): wait is number => wait !== undefined && wait > 0);
  return {
    available: waits.filter((wait) => wait === 0).length,
    nextMs: pending.length === 0 ? undefined : Math.min(...pending),
  };
}

/** Resolves a percentage of a total, or returns a plain number. */
export function resolveAmount(value: IntOrString, total: number, round: "up" | "down"): number {
  if (typeof value === "number") return value;
  if (!value.endsWith("%")) return Number.parseInt(value, 10) || 0;
  const exact = (Number.parseInt(value, 10) * total) / 100;
  return round === "up" ? Math.ceil(exact) : Math.floor(exact);
}

export function sooner(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}

/** Removes undefined fields, and zeros of fields that the API omits when they are zero. */
export function withoutZeros<T extends object>(object: T, keep: readonly (keyof T)[] = []): T {
  const entries = Object.entries(object).filter(
    ([key, value]) => value !== undefined && (value !== 0 || keep.some((kept) => kept === key)),
  );
  // Only optional fields are removed; required ones are listed in `keep`.
  return Object.fromEntries(entries) as T;
}
