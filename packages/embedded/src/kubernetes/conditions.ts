import type { Condition, IntOrString, Pod } from "./kinds.ts";
import { parseTime } from "./kinds.ts";

/** The condition of a type, where there is one. */
export const findCondition = (conditions: readonly Condition[] | undefined, type: string): Condition | undefined =>
  conditions?.find((condition) => condition.type === type);

export const isTrue = (conditions: readonly Condition[] | undefined, type: string): boolean =>
  findCondition(conditions, type)?.status === "True";

/** Tells whether a pod serves. */
export const isReady = (pod: Pod): boolean => isTrue(pod.status?.conditions, "Ready");

/** Tells whether a pod is neither finished nor on its way out. */
export const isActive = (pod: Pod): boolean => pod.metadata.deletionTimestamp === undefined && !isFinished(pod);

export const isTerminating = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined && !isFinished(pod);

export const isFinished = (pod: Pod): boolean => pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";

/** After how many milliseconds a pod has been ready for long enough: 0 when it has, undefined when it is not ready. */
export function availableInMs(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  const ready = findCondition(pod.status?.conditions, "Ready");
  if (ready?.status !== "True") return undefined;
  if (minReadySeconds === 0 || ready.lastTransitionTime === undefined) return 0;
  return Math.max(0, parseTime(ready.lastTransitionTime) + minReadySeconds * 1000 - now);
}

/** Counts the pods that are ready for long enough, and says when the next one will be. */
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

/** Reads "25%" of a total, or a plain number. */
export function resolveAmount(value: IntOrString, total: number, round: "up" | "down"): number {
  if (typeof value === "number") return value;
  if (!value.endsWith("%")) return Number.parseInt(value, 10) || 0;
  const exact = (Number.parseInt(value, 10) * total) / 100;
  return round === "up" ? Math.ceil(exact) : Math.floor(exact);
}

/** The earlier of two waits, where there are any. */
export function sooner(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}

/** The object without the fields that are undefined or, where the API leaves them out, zero. */
export function withoutZeros<T extends object>(object: T, keep: readonly (keyof T)[] = []): T {
  const entries = Object.entries(object).filter(
    ([key, value]) => value !== undefined && (value !== 0 || keep.some((kept) => kept === key)),
  );
  // Only optional fields are left out: those that must stay are named in `keep`.
  return Object.fromEntries(entries) as T;
}
