import { isDeepStrictEqual } from "node:util";

/** One text for values that say the same, in whatever order their fields stand. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_name, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  );
}

/** Whether a value says all that another one says. */
export function includes(value: unknown, part: unknown): boolean {
  if (Array.isArray(part)) {
    return (
      Array.isArray(value) && value.length === part.length && part.every((each, index) => includes(value[index], each))
    );
  }
  if (typeof part !== "object" || part === null) return isDeepStrictEqual(value, part);
  if (typeof value !== "object" || value === null) return false;
  const fields = value as Readonly<Record<string, unknown>>;
  // A list without anything in it is not written.
  return Object.entries(part).every(
    ([name, each]) =>
      includes(fields[name], each) || (Array.isArray(each) && each.length === 0 && fields[name] === undefined),
  );
}
