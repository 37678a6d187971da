import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type Fields, isFields } from "./fields.ts";

/** The object at a field, put there where it is missing. */
export function ensureObject(parent: Fields | KubeObject, name: string): Fields {
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
