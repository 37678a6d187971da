import type { Condition } from "../model/condition.ts";
import { valueAt } from "../model/json.ts";
import { parseTimestamp } from "../model/timestamp.ts";

// Objects of kinds that are not ours: their schemas differ from one installation to the next, so nothing is taken for granted.

/** The text at a path, without space around it; empty where there is none. */
export function trimmedTextAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found.trim() : "";
}

/** The list at a path; empty where there is none. */
export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The moment at a path, in milliseconds since the epoch; undefined where there is none. */
export function timestampAt(value: unknown, ...path: readonly string[]): number | undefined {
  const text = trimmedTextAt(value, ...path);
  // Date.parse accepts nearly anything: "5" is a day in 2001.
  return /^\d{4}-\d{2}-\d{2}T/.test(text) ? parseTimestamp(text) : undefined;
}

/** The conditions of any object's status, kcp's or Kubernetes' own; what is none is left out. */
export function conditionsOf(object: unknown): readonly Condition[] {
  return listAt(object, "status", "conditions").flatMap((entry): readonly Condition[] => {
    const status = valueAt(entry, "status");
    if (status !== "True" && status !== "False" && status !== "Unknown") return [];
    return [
      {
        type: trimmedTextAt(entry, "type"),
        status,
        reason: trimmedTextAt(entry, "reason"),
        message: trimmedTextAt(entry, "message"),
        lastTransitionTime: trimmedTextAt(entry, "lastTransitionTime"),
      },
    ];
  });
}
