import { byKey } from "@tmc/kube/compare.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { isFields, objectAt, objectsAt, textAt, valueAt } from "../../fields.ts";
import { type Cell, formatAge } from "../../table.ts";

/** How the cells of a type's table come about, by the column's name. */
export type Cells = Readonly<Record<string, (object: KubeObject, now: number) => Cell>>;

export const none = "<none>";

export const age: Cells[string] = (object, now) => formatAge(object.metadata.creationTimestamp, now);

/** Labels as a table shows them: `app=web,tier=front`. */
export function formatLabels(labels: unknown): string {
  const entries = Object.entries(isFields(labels) ? labels : {}).toSorted(byKey);
  return entries.length === 0 ? none : entries.map(([key, value]) => `${key}=${String(value)}`).join(",");
}

/** A label selector of an object's spec as a table shows it. */
export function formatSelector(selector: unknown): string {
  if (selector === undefined || selector === null) return none;
  const equal = Object.entries(objectAt(selector, "matchLabels"))
    .toSorted(byKey)
    .map(([key, value]) => `${key}=${String(value)}`);
  const expressions = objectsAt(selector, "matchExpressions").map((expression) => {
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

/** The columns `-o wide` adds for whatever runs containers. */
export function containerCells(podSpecPath: readonly string[]): Cells {
  const containers = (object: KubeObject) => objectsAt(valueAt(object, ...podSpecPath), "containers");
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

/** Text where there is some, `<none>` where there is not. */
export function orNone(value: string): string {
  return value === "" ? none : value;
}
