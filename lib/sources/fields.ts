import { valueAt } from "@tmc/kube/json.ts";
import type { Condition } from "../model/condition.ts";
import { parseTimestamp } from "../model/timestamp.ts";

// Accessors for kinds of other projects. Their schemas differ between installations, so every field is checked.

/** Returns the trimmed string at a path; empty if there is none. */
export function trimmedTextAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found.trim() : "";
}

/** Returns the array at a path; empty if there is none. */
export function arrayAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** Returns the timestamp at a path in milliseconds since the epoch; undefined if there is none. */
export function timestampAt(value: unknown, ...path: readonly string[]): number | undefined {
  const text = trimmedTextAt(value, ...path);
  // Date.parse accepts almost anything: "5" is a day in 2001.
  return /^\d{4}-\d{2}-\d{2}T/.test(text) ? parseTimestamp(text) : undefined;
}

/** Returns the valid conditions in an object's status; invalid entries are skipped. */
export function parseConditions(object: unknown): readonly Condition[] {
  return arrayAt(object, "status", "conditions").flatMap((entry): readonly Condition[] => {
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
