import { byKey } from "@tmc/kube/compare.ts";
import { isRecord, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type Cell, formatTimestampAge } from "../../definitions/table.ts";
import { recordAt, recordsAt } from "../../machinery/fields.ts";

/** Functions that compute the cells of a type's table, by column name. */
export type Cells = Readonly<Record<string, (object: KubeObject, now: number) => Cell>>;

export const none = "<none>";

export const age: Cells[string] = (object, now) => formatTimestampAge(object.metadata.creationTimestamp, now);

/** Formats labels as a table shows them: `app=web,tier=front`. */
export function formatLabels(labels: unknown): string {
  const entries = Object.entries(isRecord(labels) ? labels : {}).toSorted(byKey);
  return entries.length === 0 ? none : entries.map(([key, value]) => `${key}=${String(value)}`).join(",");
}

/** Formats a label selector as a table shows it. */
export function formatSelector(selector: unknown): string {
  if (selector === undefined || selector === null) return none;
  const equal = Object.entries(recordAt(selector, "matchLabels"))
    .toSorted(byKey)
    .map(([key, value]) => `${key}=${String(value)}`);
  const expressions = recordsAt(selector, "matchExpressions").map((expression) => {
    const key = textAt(expression, "key");
    const values = Array.isArray(expression.values) ? expression.values.map(String).toSorted().join(",") : "";
    switch (expression.operator) {
      case "In":
        return `${key} in (${values})`;
      case "NotIn":
        return `${key} notin (${values})`;
      case "DoesNotExist":
        return `!${key}`;
      default:
        return key;
    }
  });
  const all = [...equal, ...expressions];
  return all.length === 0 ? none : all.join(",");
}

/** The columns that `-o wide` adds for types with a pod template. */
export function containerCells(podSpecPath: readonly string[]): Cells {
  const containers = (object: KubeObject) => recordsAt(valueAt(object, ...podSpecPath), "containers");
  return {
    Containers: (object) =>
      containers(object)
        .map((container) => textAt(container, "name"))
        .join(","),
    Images: (object) =>
      containers(object)
        .map((container) => textAt(container, "image"))
        .join(","),
  };
}

export function orNone(value: string): string {
  return value === "" ? none : value;
}
