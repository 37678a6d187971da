/** Narrows to a JSON object that the caller may change. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A JSON object of unknown structure. */
export type Fields = Readonly<Record<string, unknown>>;

/** Narrows to a JSON object that the caller only reads. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path; undefined if the path does not exist. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isFields(current) || !Object.hasOwn(current, name)) return undefined;
    current = current[name];
  }
  return current;
}

/** The string at a path; empty if there is none. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The objects in the list at a path; other items are omitted. */
export function objectsAt(value: unknown, ...path: readonly string[]): readonly Fields[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found.filter(isFields) : [];
}
