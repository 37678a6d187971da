import { ControllerError } from "@tmc/kube/fault.ts";
import { isSecretName, redacted, redactText } from "../model/redact.ts";

/** Anything that JSON can carry. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | Readonly<{ [name: string]: JsonValue }>;

/** Deep enough for an object of Kubernetes, and an end for what refers to itself. */
const deepest = 8;
const longestList = 100;
const longestText = 4_000;

export type LogValueOptions = Readonly<{
  /** Stacks of all errors; otherwise only of those that are no known fault, whose place in the code is the news. */
  stacks: boolean;
  /** Below a known fault. */
  known?: boolean;
}>;

/** Makes anything fit for a log line: bounded, without secrets, errors whole with their causes. Undefined for what cannot be shown. */
export function logValue(value: unknown, options: LogValueOptions, depth = 0): JsonValue | undefined {
  switch (typeof value) {
    case "string":
      return clean(value);
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "boolean":
      return value;
    case "bigint":
      return String(value);
    case "object":
      if (value === null) return null;
      return depth >= deepest ? "[…]" : objectValue(value, options, depth);
    default:
      return undefined;
  }
}

function objectValue(value: object, options: LogValueOptions, depth: number): JsonValue {
  if (value instanceof Error) return errorValue(value, options, depth);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "invalid date" : value.toISOString();
  if (value instanceof URL) return clean(value.href);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (value instanceof Map) {
    return fieldValues(
      [...value].map(([name, inner]) => [String(name), inner]),
      options,
      depth,
    );
  }
  if (Array.isArray(value)) return listValue(value, options, depth);
  if (value instanceof Set) return listValue([...value], options, depth);
  return fieldValues(Object.entries(value), options, depth);
}

function listValue(list: readonly unknown[], options: LogValueOptions, depth: number): JsonValue {
  const shown = list.slice(0, longestList).map((inner) => logValue(inner, options, depth + 1) ?? null);
  return list.length > longestList ? [...shown, `[${list.length - longestList} more]`] : shown;
}

function fieldValues(
  fields: readonly (readonly [string, unknown])[],
  options: LogValueOptions,
  depth: number,
): Readonly<{ [name: string]: JsonValue }> {
  const shown: [string, JsonValue][] = [];
  for (const [name, inner] of fields.slice(0, longestList)) {
    const value = fieldValue(name, inner, options, depth);
    // A name can carry a secret as well: a map by token.
    if (value !== undefined) shown.push([clean(name), value]);
  }
  return Object.fromEntries(shown);
}

/** A field's value, unless its name says that it is a secret. */
export function fieldValue(name: string, value: unknown, options: LogValueOptions, depth = 0): JsonValue | undefined {
  if (value === undefined || value === null) return value;
  return isSecretName(name) ? redacted : logValue(value, options, depth + 1);
}

function errorValue(error: Error, options: LogValueOptions, depth: number): JsonValue {
  const shown: [string, JsonValue][] = [
    ["name", clean(error.name)],
    ["message", clean(error.message)],
  ];
  for (const [name, value] of Object.entries(error)) {
    // The fault, a code, a status; what is larger is somebody's answer, and its words are in the message.
    if (name === "name" || name === "message" || name === "stack" || typeof value === "object") continue;
    const inner = fieldValue(name, value, options, depth);
    if (inner !== undefined) shown.push([name, inner]);
  }
  const isNews = options.known !== true && !(error instanceof ControllerError);
  if (error.stack !== undefined && (options.stacks || isNews)) {
    shown.push(["stack", clean(error.stack)]);
  }
  if (error instanceof AggregateError) shown.push(["errors", listValue(error.errors, options, depth)]);
  // What a known fault was caused by is explained by the fault: its place in the code is no news either.
  const isKnown = error instanceof ControllerError;
  const cause = logValue(error.cause, isKnown ? { ...options, known: true } : options, depth + 1);
  if (cause !== undefined) shown.push(["cause", cause]);
  return Object.fromEntries(shown);
}

/** Without secrets and bounded; cut first as well, for looking through a whole answer would take longer than the work itself. */
function clean(text: string): string {
  const shown = redactText(text.slice(0, longestText * 4));
  return shown.length > longestText ? `${shown.slice(0, longestText)}…` : shown;
}
