import type { Clock } from "@tmc/kube/clock.ts";
import { redactText } from "../model/redact.ts";
import { fieldValue, type JsonValue, type LogValueOptions } from "./log-value.ts";

/** From which `--log-level` (0 to 10) on lines of each severity are written. */
const levels = { error: 0, warn: 1, info: 2, debug: 4, trace: 6 } as const;
export type Severity = keyof typeof levels;

/** What stands beside a message; an error goes under `error`. */
export type Fields = Readonly<Record<string, unknown>>;

/** Writes lines: a constant message, and beside it the fields that vary. No secret leaves through it. */
export interface Log {
  error(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  /** One line per reconcile. */
  info(message: string, fields?: Fields): void;
  /** The steps of a reconcile. */
  debug(message: string, fields?: Fields): void;
  trace(message: string, fields?: Fields): void;
  /** Whether such a line would be written, for those who would have to work for its fields. */
  writes(severity: Severity): boolean;
  /** A log that puts these fields on each of its lines: `cluster`, `namespace`, `name`, `requestId`. */
  child(fields: Fields): Log;
}

export type LogOptions = Readonly<{
  /** 0 errors only, 1 warnings, 2 a line per reconcile, 4 steps, 6 and more everything. @default 2 */
  level?: number;
  /** Takes one line, its end included. */
  write: (line: string) => void;
  clock: Clock;
  /** @default "json" */
  format?: "json" | "text";
}>;

/** Reads a log level: a whole number from 0 to 10; undefined for anything else. */
export function parseLogLevel(text: string): number | undefined {
  return /^(?:\d|10)$/.test(text) ? Number(text) : undefined;
}

/** Creates the log of a process. */
export function createLog({ level = 2, write, clock, format = "json" }: LogOptions): Log {
  const options: LogValueOptions = { stacks: level >= levels.debug };
  const render = format === "json" ? jsonLine : textLine;
  const withFields = (own: readonly Fields[]): Log => {
    const line = (severity: Severity, message: string, fields: Fields = {}): void => {
      if (level < levels[severity]) return;
      const shown = new Map<string, JsonValue>();
      for (const group of [...own, fields]) {
        for (const [name, value] of Object.entries(group)) {
          const inner = fieldValue(name, value, options);
          if (inner !== undefined) shown.set(reserved.has(name) ? `${name}_` : name, inner);
        }
      }
      const time = new Date(clock.now()).toISOString();
      write(`${render({ time, severity, message: redactText(message), fields: Object.fromEntries(shown) })}\n`);
    };
    return {
      error: (message, fields) => line("error", message, fields),
      warn: (message, fields) => line("warn", message, fields),
      info: (message, fields) => line("info", message, fields),
      debug: (message, fields) => line("debug", message, fields),
      trace: (message, fields) => line("trace", message, fields),
      writes: (severity) => level >= levels[severity],
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

/** Names that the line itself uses; a field called so gets a tail. */
const reserved = new Set(["time", "level", "message"]);

function jsonLine({ time, severity, message, fields }: Line): string {
  return JSON.stringify({ time, level: severity, message, ...fields });
}

/** For people: `12:30:01.250 info  reconciled cluster=root name=web`. */
function textLine({ time, severity, message, fields }: Line): string {
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${textValue(value)}`);
  return [time.slice(11, 23), severity.padEnd(5), message, ...pairs].join(" ");
}

function textValue(value: JsonValue): string {
  if (typeof value === "object" && value !== null && "message" in value && typeof value.message === "string") {
    return JSON.stringify(wordsOf(value));
  }
  if (typeof value !== "string") return JSON.stringify(value);
  return /^[\w.:/@+,-]+$/.test(value) ? value : JSON.stringify(value);
}

/** An error's message and those of its causes. */
function wordsOf(error: Readonly<{ [name: string]: JsonValue }>): string {
  const { message, cause } = error;
  const own = typeof message === "string" ? message : "";
  if (typeof cause !== "object" || cause === null || Array.isArray(cause) || !("message" in cause)) return own;
  return `${own}: ${wordsOf(cause)}`;
}
