/** A JSON object of which nothing is known yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** Tells a JSON object from everything else that JSON can hold. */
export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Tells a JSON list, without calling its items anything. */
export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Reads a field that the object itself has, so that `constructor` and its like are never found by accident. */
export function fieldOf(object: Fields, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Compares two JSON values; the order of an object's fields does not count. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isList(a)) {
    return isList(b) && a.length === b.length && a.every((item, index) => isEqual(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]));
}

/** Writes a field into an object under construction; `__proto__` becomes a field like any other. */
export function setField(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name === "__proto__") {
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[name] = value;
  }
}

/** Takes a part of a patch that meets nothing: a null means absence there too; lists keep theirs. */
export function withoutNulls(value: unknown): unknown {
  if (isList(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) if (inner !== null) setField(result, name, withoutNulls(inner));
  return result;
}
