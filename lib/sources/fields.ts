import { isRecord } from "@tmc/kube/json-record.ts";
import type { Condition } from "../model/condition.ts";

// Objects of kinds that are not ours: their schemas differ from one installation to the next, so nothing is taken for granted.

/** Reads what is at a path of an object of which nothing is known; undefined where the path ends early. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isRecord(current) || !Object.hasOwn(current, name)) return undefined;
    current = current[name];
  }
  return current;
}

/** The text at a path, without space around it; empty where there is none. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found.trim() : "";
}

/** The list at a path; empty where there is none. */
export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The moment at a path, in milliseconds since the epoch; undefined where there is none. */
export function momentAt(value: unknown, ...path: readonly string[]): number | undefined {
  const text = textAt(value, ...path);
  // The parser takes nearly anything for a date: "5" is a day in 2001.
  const moment = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(moment) ? undefined : moment;
}

/** The conditions of any object's status, kcp's or Kubernetes' own; what is none is left out. */
export function conditionsOf(object: unknown): readonly Condition[] {
  return listAt(object, "status", "conditions").flatMap((entry): readonly Condition[] => {
    const status = valueAt(entry, "status");
    if (status !== "True" && status !== "False" && status !== "Unknown") return [];
    return [
      {
        type: textAt(entry, "type"),
        status,
        reason: textAt(entry, "reason"),
        message: textAt(entry, "message"),
        lastTransitionTime: textAt(entry, "lastTransitionTime"),
      },
    ];
  });
}
