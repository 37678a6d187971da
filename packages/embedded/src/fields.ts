import { fieldOf, isObject } from "./machinery/json-value.ts";

/** A JSON object whose fields nobody has looked at yet; hooks change it in place. */
export type Fields = { [field: string]: unknown };

/** Tells a JSON object, which may be changed in place, from everything else that JSON can hold. */
export function isFields(value: unknown): value is Fields {
  return isObject(value);
}

/** Reads what is at a path of an object of which nothing is known; undefined where the path ends early. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isObject(current)) return undefined;
    current = fieldOf(current, name);
  }
  return current;
}

/** The text at a path; empty where there is none: Go's own code makes no difference between the two. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The number at a path; zero where there is none. */
export function numberAt(value: unknown, ...path: readonly string[]): number {
  const found = valueAt(value, ...path);
  return typeof found === "number" ? found : 0;
}

/** The list at a path; empty where there is none. */
export function listAt(value: unknown, ...path: readonly string[]): unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The list of objects at a path; what is no object is left out. */
export function objectsAt(value: unknown, ...path: readonly string[]): Fields[] {
  return listAt(value, ...path).filter(isFields);
}

/** The list of texts at a path; what is no text is left out. */
export function textsAt(value: unknown, ...path: readonly string[]): string[] {
  return listAt(value, ...path).filter((item) => typeof item === "string");
}

/** The object at a path; empty where there is none. It is the value's own: changing it changes the value. */
export function objectAt(value: unknown, ...path: readonly string[]): Fields {
  const found = valueAt(value, ...path);
  return isFields(found) ? found : {};
}

/** Labels or annotations: only what is text. */
export function textsByName(value: unknown): Readonly<Record<string, string>> {
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
