import { byKey } from "@tmc/kube/compare.ts";
import type { Json, JsonObject } from "@tmc/kube/kube-object.ts";

/** A JSON object of which nothing is known yet; nobody changes it in place. */
export type Fields = Readonly<Record<string, unknown>>;
/** Labels, annotations, and whatever else has a text under each name. */
export type Texts = Readonly<Record<string, string>>;

/** Tells a JSON object from everything else that JSON can hold. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What is at a path; undefined where the path ends early. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isFields(current) || !Object.hasOwn(current, name)) return undefined;
    current = current[name];
  }
  return current;
}

/** The text at a path; empty where there is none. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The objects in the list at a path; what is no object is left out. */
export function objectsAt(value: unknown, ...path: readonly string[]): readonly Fields[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found.filter(isFields) : [];
}

/** Only what is text, and only under the names that are wanted. */
export function textsOf(value: unknown, isWanted: (name: string) => boolean = () => true): Texts {
  if (!isFields(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string" && isWanted(entry[0]),
    ),
  );
}

/** The same object without some of its fields. */
export function without(fields: Fields, ...names: readonly string[]): Fields {
  if (!names.some((name) => Object.hasOwn(fields, name))) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/**
 * The same object with another value at a path; the field goes when that is undefined. An object that has nothing at the
 * path stays as it is.
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

/** The objects of a list, each changed; anything else stays as it is. */
export function eachObject(list: unknown, change: (fields: Fields) => Fields): unknown {
  return Array.isArray(list) ? list.map((item: unknown) => (isFields(item) ? change(item) : item)) : list;
}

/** The group of an apiVersion; empty for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

// A status is written by whoever looks after the type: nobody has checked it. What is not of the form that is asked for
// counts as not there.

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The field of an object, if it has that field itself; null counts as not there. */
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

/** The value with the fields of all its objects in one order, so that equal values have equal bytes. */
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

/** One text for one value, whatever the order of its fields. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(sortedKeys(value));
}

/** Reads texts by their names from what should be JSON; undefined for anything that does not have all of them. */
export function parseStringFields<Name extends string>(
  json: string | undefined,
  names: readonly Name[],
): Readonly<Record<Name, string>> | undefined {
  const fields = json === undefined ? undefined : parsed(json);
  if (!isFields(fields)) return undefined;
  const texts: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const text = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (typeof text !== "string") return undefined;
    texts[name] = text;
  }
  return texts as Record<Name, string>;
}

/** Anybody can write anything into an annotation: what is no JSON is no mark, and no fault either. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
