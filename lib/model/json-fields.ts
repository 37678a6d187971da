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
