import { type Fields, fieldOf, isList, isObject } from "../machinery/json-value.ts";

/** Reads what is at a path of an object of which nothing is known; undefined where the path ends early. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isObject(current)) return undefined;
    current = fieldOf(current, name);
  }
  return current;
}

/** The text at a path, or an empty one: kcp's own code makes no difference between the two. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The list at a path, or an empty one. */
export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return isList(found) ? found : [];
}

/** The texts of the list at a path. */
export function textsAt(value: unknown, ...path: readonly string[]): readonly string[] {
  return listAt(value, ...path).filter((item) => typeof item === "string");
}

/** The object at a path, or an empty one. */
export function objectAt(value: unknown, ...path: readonly string[]): Fields {
  const found = valueAt(value, ...path);
  return isObject(found) ? found : {};
}

/** The labels or annotations at a path: only what is text. */
export function textsByName(value: unknown): Readonly<Record<string, string>> {
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
