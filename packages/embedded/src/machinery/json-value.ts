import { type Fields, isFields } from "@tmc/kube/json.ts";
export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Reads an own property, so that `constructor` and the like are never found. */
export function fieldOf(object: Fields, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Compares two JSON values, ignoring the order of fields. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isList(a)) {
    return isList(b) && a.length === b.length && a.every((item, index) => isEqual(item, b[index]));
  }
  if (!isFields(a) || !isFields(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]));
}

/** Sets a field; `__proto__` becomes an ordinary field. */
export function setOwnField(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name === "__proto__") {
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[name] = value;
  }
}

/** Removes nulls from a patch value that has no counterpart in the document; lists keep theirs. */
export function withoutNulls(value: unknown): unknown {
  if (isList(value)) return value.map(withoutNulls);
  if (!isFields(value)) return value;
  const result: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) if (inner !== null) setOwnField(result, name, withoutNulls(inner));
  return result;
}
