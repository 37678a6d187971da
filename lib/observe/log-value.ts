import { ControllerError } from "@tmc/kube/fault.ts";
import { isSecretName, redacted, redactText } from "../model/redact.ts";

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | Readonly<{ [name: string]: JsonValue }>;

/** Deep enough for a Kubernetes object, and a bound for circular values. */
const maxDepth = 8;
const maxListLength = 100;
const maxTextLength = 4_000;

export type LogValueOptions = Readonly<{
  /** Whether all errors are logged with their stack; otherwise only errors that are not a ControllerError. */
  stacks: boolean;
  /** Set for the causes of a ControllerError. */
  isBelowFault?: boolean;
}>;

/** Converts a value for a log line: bounded, redacted, errors with their causes. Undefined for values that cannot be shown. */
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
      return depth >= maxDepth ? "[…]" : objectValue(value, options, depth);
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
  const shown = list.slice(0, maxListLength).map((inner) => logValue(inner, options, depth + 1) ?? null);
  return list.length > maxListLength ? [...shown, `[${list.length - maxListLength} more]`] : shown;
}

function fieldValues(
  fields: readonly (readonly [string, unknown])[],
  options: LogValueOptions,
  depth: number,
): Readonly<{ [name: string]: JsonValue }> {
  const shown: [string, JsonValue][] = [];
  for (const [name, inner] of fields.slice(0, maxListLength)) {
    const value = fieldValue(name, inner, options, depth);
    // A name can contain a secret too, such as in a map by token.
    if (value !== undefined) shown.push([clean(name), value]);
  }
  return Object.fromEntries(shown);
}

/** Converts the value of a field; redacted if the name is that of a secret. */
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
    // Scalars such as fault, code and status. Objects are server responses, whose text is in the message.
    if (name === "name" || name === "message" || name === "stack" || typeof value === "object") continue;
    const inner = fieldValue(name, value, options, depth);
    if (inner !== undefined) shown.push([name, inner]);
  }
  const isUnexpected = options.isBelowFault !== true && !(error instanceof ControllerError);
  if (error.stack !== undefined && (options.stacks || isUnexpected)) {
    shown.push(["stack", clean(error.stack)]);
  }
  if (error instanceof AggregateError) shown.push(["errors", listValue(error.errors, options, depth)]);
  // A ControllerError explains its causes, so their stacks are not needed either.
  const isFault = error instanceof ControllerError;
  const cause = logValue(error.cause, isFault ? { ...options, isBelowFault: true } : options, depth + 1);
  if (cause !== undefined) shown.push(["cause", cause]);
  return Object.fromEntries(shown);
}

/** Redacts and shortens a text. Cut before redacting too, because searching a whole server response takes too long. */
function clean(text: string): string {
  const shown = redactText(text.slice(0, maxTextLength * 4));
  return shown.length > maxTextLength ? `${shown.slice(0, maxTextLength)}…` : shown;
}
