/** A JSON merge patch of an object. */
export type MergePatch = { [field: string]: unknown };

/**
 * The JSON merge patch that leads from one object to another: null for what is to go, objects field by field, anything
 * else whole. Undefined when the two say the same; a field that is undefined is not there.
 */
export function diffMergePatch(before: object, after: object): MergePatch | undefined {
  const patch: MergePatch = {};
  const [old, wanted] = [fieldsOf(before), fieldsOf(after)];
  for (const field of Object.keys(old))
    if (wanted[field] === undefined && old[field] !== undefined) patch[field] = null;
  for (const [field, value] of Object.entries(wanted)) {
    const present = old[field];
    if (value === undefined || isSame(present, value)) continue;
    if (isPlainObject(value)) {
      // A merge patch merges into what is there; into nothing, or into what is no object, it merges as into an empty one.
      patch[field] = isPlainObject(present) ? (diffMergePatch(present, value) ?? {}) : value;
    } else patch[field] = value;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

const fieldsOf = (object: object): Record<string, unknown> => ({ ...object });

/** Equal as JSON: the order of fields does not count, nor does a field that is undefined. */
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
