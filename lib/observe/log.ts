import type { Clock } from "@tmc/kube/clock.ts";
import { redactText } from "../model/redact.ts";
import { fieldValue, type JsonValue, type LogValueOptions } from "./log-value.ts";

/** The lowest `--log-level` (0 to 10) at which each severity is written. */
const levels = { error: 0, warn: 1, info: 2, debug: 4, trace: 6 } as const;
export type Severity = keyof typeof levels;

/** Fields of a log line; an error goes into `error`. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes log lines: a constant message and fields. Secrets are redacted. */
export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** For one line per reconcile. */
  info(message: string, fields?: LogFields): void;
  /** For the steps of a reconcile. */
  debug(message: string, fields?: LogFields): void;
  trace(message: string, fields?: LogFields): void;
  /** Whether lines of this severity are written, for callers whose fields are expensive to compute. */
  isEnabled(severity: Severity): boolean;
  /** A log that adds these fields to each of its lines, such as `logicalCluster`, `name`, `requestId`. */
  child(fields: LogFields): Log;
}

export type LogOptions = Readonly<{
  /** 0 errors only, 1 warnings, 2 one line per reconcile, 4 steps, 6 and more everything. @default 2 */
  level?: number;
  /** Writes one line, including its line break. */
  write: (line: string) => void;
  clock: Clock;
  /** @default "json" */
  format?: "json" | "text";
}>;

/** Parses a log level, a whole number from 0 to 10; undefined for anything else. */
export function parseLogLevel(text: string): number | undefined {
  return /^(?:\d|10)$/.test(text) ? Number(text) : undefined;
}

export function createLog({ level = 2, write, clock, format = "json" }: LogOptions): Log {
  const options: LogValueOptions = { stacks: level >= levels.debug };
  const render = format === "json" ? jsonLine : textLine;
  const withFields = (own: readonly LogFields[]): Log => {
    const line = (severity: Severity, message: string, fields: LogFields = {}): void => {
      if (level < levels[severity]) return;
      const rendered = new Map<string, JsonValue>();
      for (const group of [...own, fields]) {
        for (const [name, value] of Object.entries(group)) {
          const inner = fieldValue(name, value, options);
          if (inner !== undefined) rendered.set(reservedNames.has(name) ? `${name}_` : name, inner);
        }
      }
      const time = new Date(clock.now()).toISOString();
      write(`${render({ time, severity, message: redactText(message), fields: Object.fromEntries(rendered) })}\n`);
    };
    return {
      error: (message, fields) => line("error", message, fields),
      warn: (message, fields) => line("warn", message, fields),
      info: (message, fields) => line("info", message, fields),
      debug: (message, fields) => line("debug", message, fields),
      trace: (message, fields) => line("trace", message, fields),
      isEnabled: (severity) => level >= levels[severity],
      child: (fields) => withFields([...own, fields]),
    };
  };
  return withFields([]);
}

type Line = Readonly<{
  time: string;
  severity: Severity;
  message: string;
  fields: Readonly<Record<string, JsonValue>>;
}>;

/** Names that every line uses; a field with such a name gets a trailing underscore. */
const reservedNames = new Set(["time", "level", "message"]);

function jsonLine({ time, severity, message, fields }: Line): string {
  return JSON.stringify({ time, level: severity, message, ...fields });
}

/** For terminals: `12:30:01.250 info  reconciled logicalCluster=root name=web`. */
function textLine({ time, severity, message, fields }: Line): string {
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${textValue(value)}`);
  return [time.slice(11, 23), severity.padEnd(5), message, ...pairs].join(" ");
}

function textValue(value: JsonValue): string {
  if (typeof value === "object" && value !== null && "message" in value && typeof value.message === "string") {
    return JSON.stringify(messageChain(value));
  }
  if (typeof value !== "string") return JSON.stringify(value);
  return /^[\w.:/@+,-]+$/.test(value) ? value : JSON.stringify(value);
}

/** The message of an error and of its causes. */
function messageChain(error: Readonly<{ [name: string]: JsonValue }>): string {
  const { message, cause } = error;
  const own = typeof message === "string" ? message : "";
  if (typeof cause !== "object" || cause === null || Array.isArray(cause) || !("message" in cause)) return own;
  return `${own}: ${messageChain(cause)}`;
}
