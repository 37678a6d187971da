import type { KubeObject } from "../../model/kube-object.ts";

/** A JSON object whose fields nobody has looked at yet; hooks change it in place. */
export type Fields = { [field: string]: unknown };

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Follows a path of field names; undefined where it leads nowhere. */
export function field(value: unknown, ...path: readonly string[]): unknown {
  let at: unknown = value;
  for (const name of path) {
    if (!isFields(at)) return undefined;
    at = at[name];
  }
  return at;
}

/** The text at a path; empty where there is none. */
export function text(value: unknown, ...path: readonly string[]): string {
  const found = field(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The number at a path; zero where there is none. */
export function count(value: unknown, ...path: readonly string[]): number {
  const found = field(value, ...path);
  return typeof found === "number" ? found : 0;
}

/** The list at a path; empty where there is none. */
export function list(value: unknown, ...path: readonly string[]): unknown[] {
  const found = field(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The list of objects at a path; what is no object is left out. */
export function objects(value: unknown, ...path: readonly string[]): Fields[] {
  return list(value, ...path).filter(isFields);
}

/** The list of texts at a path; what is no text is left out. */
export function texts(value: unknown, ...path: readonly string[]): string[] {
  return list(value, ...path).filter((item) => typeof item === "string");
}

/** The map at a path; empty where there is none. It is the object's own: changing it changes the object. */
export function map(value: unknown, ...path: readonly string[]): Fields {
  const found = field(value, ...path);
  return isFields(found) ? found : {};
}

/** The map at a field, put there where it is missing. */
export function ensureMap(parent: Fields | KubeObject, name: string): Fields {
  const fields: Fields = parent;
  const found = fields[name];
  if (isFields(found)) return found;
  const made: Fields = {};
  fields[name] = made;
  return made;
}

/** Sets a field that is absent (or null, which is the same to a built-in type). */
export function setDefault(target: Fields, name: string, value: unknown): void {
  if (target[name] === undefined || target[name] === null) target[name] = value;
}
