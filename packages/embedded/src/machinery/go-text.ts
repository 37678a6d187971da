import { isList, isObject, setField } from "./json-value.ts";

/** Quotes a text the way Go's `%q` does, for messages that must equal the real server's. */
export function goQuote(text: string): string {
  return JSON.stringify(text)
    .replace(/\\u00([01][0-9a-f])/g, "\\x$1")
    .replaceAll("\u007f", "\\x7f");
}

/** Writes JSON the way Go's encoder does: fields in order of their names, and <, > and & escaped. */
export function goJson(value: unknown): string {
  return JSON.stringify(sorted(value)).replace(/[<>&\u2028\u2029]/g, escapeForHtml);
}

const escapeForHtml = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

function sorted(value: unknown): unknown {
  if (isList(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  // Keys that look like integers would come first in a JavaScript object; none of the fields written here do.
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value).toSorted()) setField(result, key, sorted(value[key]));
  return result;
}

/** Names a JSON value's kind as Go's decoder does when it finds it in the wrong place. */
export function typeOfGo(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return "bool";
  return isList(value) ? "array" : typeof value;
}

/** Prints a decoded value as Go's `%v` does: `map[a:1 b:[x y]]`. */
export function goValue(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (isList(value)) return `[${value.map(goValue).join(" ")}]`;
  if (!isObject(value)) return String(value);
  const fields = Object.keys(value).toSorted();
  return `map[${fields.map((field) => `${field}:${goValue(value[field])}`).join(" ")}]`;
}
