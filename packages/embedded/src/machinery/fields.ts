import { isFields, isRecord, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";

/** A mutable JSON object with unchecked fields; hooks change it in place. */
export type MutableFields = { [field: string]: unknown };

/** The number at a path, or 0. */
export function numberOrZeroAt(value: unknown, ...path: readonly string[]): number {
  const found = valueAt(value, ...path);
  return typeof found === "number" ? found : 0;
}

/** The list at a path, or an empty one. */
export function listAt(value: unknown, ...path: readonly string[]): unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The objects in the list at a path. */
export function recordsAt(value: unknown, ...path: readonly string[]): MutableFields[] {
  return listAt(value, ...path).filter(isRecord);
}

/** The strings in the list at a path. */
export function textsAt(value: unknown, ...path: readonly string[]): string[] {
  return listAt(value, ...path).filter((item) => typeof item === "string");
}

/** The object at a path, or an empty one. Not a copy: changes affect `value`. */
export function recordAt(value: unknown, ...path: readonly string[]): MutableFields {
  const found = valueAt(value, ...path);
  return isRecord(found) ? found : {};
}

/** The string entries of an object, for labels and annotations. */
export function textsByName(value: unknown): Readonly<Record<string, string>> {
  if (!isFields(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/** Returns the object in a field; creates it if missing. */
export function ensureObject(parent: MutableFields | KubeObject, name: string): MutableFields {
  const fields: MutableFields = parent;
  const found = fields[name];
  if (isRecord(found)) return found;
  const created: MutableFields = {};
  fields[name] = created;
  return created;
}

/** Sets a field that is absent or null, which built-in types treat the same. */
export function setDefault(target: MutableFields, name: string, value: unknown): void {
  if (target[name] === undefined || target[name] === null) target[name] = value;
}
