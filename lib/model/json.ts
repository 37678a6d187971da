import { byKey } from "@tmc/kube/compare.ts";
import { type Fields, isFields } from "@tmc/kube/json.ts";
import type { Json, JsonObject } from "@tmc/kube/kube-object.ts";

/** Labels, annotations and other maps of strings. */
export type Texts = Readonly<Record<string, string>>;

/** The fields with string values, filtered by name. */
export function textsOf(value: unknown, isIncluded: (name: string) => boolean = () => true): Texts {
  if (!isFields(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string" && isIncluded(entry[0]),
    ),
  );
}

/** Returns the object without some fields; the same object if it has none of them. */
export function without(fields: Fields, ...names: readonly string[]): Fields {
  if (!names.some((name) => Object.hasOwn(fields, name))) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/**
 * Returns the object with the value at a path changed, or removed if `change` returns undefined. An object without that
 * path is returned as it is.
 */
export function changedAt(fields: Fields, path: readonly string[], change: (value: unknown) => unknown): Fields {
  const [name, ...rest] = path;
  if (name === undefined || !Object.hasOwn(fields, name)) return fields;
  const before = fields[name];
  if (rest.length > 0 && !isFields(before)) return fields;
  const after = rest.length > 0 && isFields(before) ? changedAt(before, rest, change) : change(before);
  if (after === before) return fields;
  return after === undefined ? without(fields, name) : { ...fields, [name]: after };
}

/** Applies a change to the objects of a list; any other value is returned as it is. */
export function eachObject(list: unknown, change: (fields: Fields) => Fields): unknown {
  return Array.isArray(list) ? list.map((item: unknown) => (isFields(item) ? change(item) : item)) : list;
}

/** The group of an apiVersion; empty for the core group. */
export function apiGroupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

// For statuses that other controllers write and no schema validates: a value of another type counts as missing.

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An own field of an object; null counts as missing. */
export function fieldAt(object: JsonObject | undefined, field: string): Json | undefined {
  return object !== undefined && Object.hasOwn(object, field) ? (object[field] ?? undefined) : undefined;
}

export function numberAt(object: JsonObject | undefined, field: string): number | undefined {
  const value = fieldAt(object, field);
  return typeof value === "number" ? value : undefined;
}

export function stringAt(object: JsonObject | undefined, field: string): string | undefined {
  const value = fieldAt(object, field);
  return typeof value === "string" ? value : undefined;
}

export function objectAt(object: JsonObject | undefined, field: string): JsonObject | undefined {
  const value = fieldAt(object, field);
  return isJsonObject(value) ? value : undefined;
}

export function jsonListAt(object: JsonObject | undefined, field: string): readonly Json[] {
  const value = fieldAt(object, field);
  return Array.isArray(value) ? value : [];
}

/** Sorts the fields of all objects in a value, so that equal values have equal bytes. */
export function sortedKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortedKeys);
  return isJsonObject(value) ? withSortedKeys(value) : value;
}

export function withSortedKeys(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object)
      .toSorted(byKey)
      .map(([field, value]) => [field, sortedKeys(value)]),
  );
}

/** Serializes a value independent of the order of its fields. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(sortedKeys(value));
}

/** Parses a JSON object and returns the named string fields; undefined if it is invalid or lacks one of them. */
export function parseStringFields<Name extends string>(
  json: string | undefined,
  names: readonly Name[],
): Readonly<Record<Name, string>> | undefined {
  const fields = json === undefined ? undefined : parseOrUndefined(json);
  if (!isFields(fields)) return undefined;
  const texts: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const text = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (typeof text !== "string") return undefined;
    texts[name] = text;
  }
  return texts as Record<Name, string>;
}

/** Users can write any text into an annotation: invalid JSON is ignored, not an error. */
function parseOrUndefined(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
