import { isFields } from "@tmc/kube/json.ts";
import { isList, setOwnField } from "./json-value.ts";

/** Quotes a string like Go's `%q`, for messages that must equal the real server's. */
export function goQuote(text: string): string {
  return JSON.stringify(text)
    .replace(/\\u00([01][0-9a-f])/g, "\\x$1")
    .replaceAll("\u007f", "\\x7f");
}

/** Encodes JSON like Go: sorted fields, and <, > and & escaped. */
export function goJson(value: unknown): string {
  return JSON.stringify(sorted(value)).replace(/[<>&\u2028\u2029]/g, escapeForHtml);
}

const escapeForHtml = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

function sorted(value: unknown): unknown {
  if (isList(value)) return value.map(sorted);
  if (!isFields(value)) return value;
  // Integer-like keys would come first in a JavaScript object; none of the fields here are.
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value).toSorted()) setOwnField(result, key, sorted(value[key]));
  return result;
}

/** The type of a JSON value as Go's decoder names it in errors. */
export function goJsonType(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return "bool";
  return isList(value) ? "array" : typeof value;
}

/** Prints a decoded value like Go's `%v`: `map[a:1 b:[x y]]`. */
export function goValue(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (isList(value)) return `[${value.map(goValue).join(" ")}]`;
  if (!isFields(value)) return String(value);
  const fields = Object.keys(value).toSorted();
  return `map[${fields.map((field) => `${field}:${goValue(value[field])}`).join(" ")}]`;
}
