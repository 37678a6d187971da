/** A JSON merge patch of an object. */
export type MergePatch = { [field: string]: unknown };

/**
 * The JSON merge patch that turns one object into another: null removes a field, objects are patched field by field, any
 * other value is replaced. Undefined if the two are equal; an undefined field counts as missing.
 */
export function diffMergePatch(before: object, after: object): MergePatch | undefined {
  // Entries, because an assignment to the field `__proto__` would set the prototype.
  const patch: [field: string, value: unknown][] = [];
  const [current, desired] = [fieldsOf(before), fieldsOf(after)];
  for (const [field, value] of Object.entries(current))
    if (desired[field] === undefined && value !== undefined) patch.push([field, null]);
  for (const [field, value] of Object.entries(desired)) {
    const present = current[field];
    if (value === undefined || isSame(present, value)) continue;
    // A merge patch merges into a present object; a missing field or another value counts as an empty object.
    const isMerged = isPlainObject(value) && isPlainObject(present);
    patch.push([field, isMerged ? (diffMergePatch(present, value) ?? {}) : value]);
  }
  return patch.length === 0 ? undefined : Object.fromEntries(patch);
}

/** The own fields, in an object that inherits none: `constructor` and `__proto__` are ordinary field names in JSON. */
const fieldsOf = (object: object): Record<string, unknown> => Object.assign(Object.create(null), object);

/** Equality as JSON: ignores the order of fields, and fields that are undefined. */
function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => isSame(item, other[index]));
  }
  if (!isPlainObject(one) || !isPlainObject(other)) return false;
  const [left, right] = [fieldsOf(one), fieldsOf(other)];
  return (
    Object.entries(left).every(([field, value]) => isSame(value, right[field])) &&
    Object.keys(right).every((field) => right[field] === undefined || left[field] !== undefined)
  );
}

function isPlainObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
