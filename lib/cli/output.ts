import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { Option } from "commander";
import { dump } from "js-yaml";
import type { CliIo } from "./cli-io.ts";

export const outputs = ["table", "wide", "json", "yaml"] as const;
export type Output = (typeof outputs)[number];

/** Creates the --output option. */
export function outputOption(choices: readonly Output[] = outputs): Option {
  return new Option("-o, --output <format>", "Output format").choices(choices).default(choices[0] ?? "table");
}

/** Formats one object, or several as a List, for programs. managedFields are omitted, as kubectl does. */
export function formatObjects(objects: KubeObject | readonly KubeObject[], output: "json" | "yaml"): string {
  const document = isList(objects)
    ? { apiVersion: "v1", kind: "List", items: objects.map(withoutManagedFields) }
    : withoutManagedFields(objects);
  return formatDocument(document, output);
}

/** Prints one object: as a document for programs, or as text for people. */
export async function printObject(
  io: Pick<CliIo, "out">,
  object: KubeObject,
  { output, text }: Readonly<{ output: Output; text: () => string | Promise<string> }>,
): Promise<void> {
  io.out(output === "json" || output === "yaml" ? formatObjects(object, output) : await text());
}

/** Returns an object without what a server adds: what remains belongs into a manifest. */
export function asManifest({ metadata, ...object }: KubeObject): KubeObject {
  const { status: _, ...fields } = object;
  const { uid, creationTimestamp, managedFields, resourceVersion, generation, annotations, ...rest } = metadata;
  const kept = Object.entries(annotations ?? {}).filter(([key]) => key !== "kcp.io/cluster");
  return {
    ...fields,
    metadata: { ...rest, ...(kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) }) },
  };
}

/** Formats any value as a JSON or YAML document. */
export function formatDocument(document: object, output: "json" | "yaml"): string {
  if (output === "json") return `${JSON.stringify(document, null, 2)}\n`;
  return dump(document, { noRefs: true, lineWidth: -1 });
}

const isList = (objects: KubeObject | readonly KubeObject[]): objects is readonly KubeObject[] =>
  Array.isArray(objects);

function withoutManagedFields({ metadata, ...object }: KubeObject): object {
  const { managedFields: _, ...rest } = metadata;
  const { apiVersion, kind, ...fields } = object;
  return { apiVersion, kind, metadata: rest, ...fields };
}

const gap = "   ";

/** The columns and rows of a table. */
export type ListTable = Readonly<{ columns: readonly string[]; rows: readonly (readonly string[])[] }>;

/** Formats a table as kubectl prints it; an empty cell is shown as `<none>`. */
export function formatTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = [columns, ...rows.map((row) => row.map((cell) => (cell === "" ? "<none>" : cell)))];
  const widths = columns.map((_, at) => Math.max(...shown.map((row) => textWidth(row[at] ?? ""))));
  return shown
    .map((row) => `${row.map((cell, at) => padEnd(cell, widths[at] ?? 0)).join(gap)}`.trimEnd())
    .map((line) => `${line}\n`)
    .join("");
}

/** Formats fields one per line with aligned values; a field without a value is omitted. */
export function formatFields(fields: readonly (readonly [name: string, value: string | undefined])[]): string {
  const present = fields.filter(([, value]) => value !== undefined);
  const width = Math.max(...present.map(([name]) => name.length)) + 1;
  return present
    .map(([name, value = ""]) => {
      const lines = (value === "" ? "<none>" : value).split("\n");
      return `${`${name}:`.padEnd(width)}${gap}${lines.join(`\n${" ".repeat(width)}${gap}`)}\n`;
    })
    .join("");
}

const fullWidth =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\u{1F300}-\u{1FAFF}]/u;
const noWidth = /\p{Mark}|\p{Cf}/u;

/** Returns how many terminal columns a text occupies. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += noWidth.test(character) ? 0 : fullWidth.test(character) ? 2 : 1;
  return width;
}

/** Pads a text with spaces to a width in terminal columns; a longer text is returned unchanged. */
export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - textWidth(text)));
}

/** Formats a duration as kubectl formats ages: the largest unit, or the two largest ones. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return withRemainder(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return withRemainder(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return withRemainder(days, "d", hours % 24, "h");
  return days < 730 ? `${days}d` : withRemainder(Math.floor(days / 365), "y", days % 365, "d");
}

/** Formats a time of day as `HH:MM:SS`; the offset of local time from UTC is that of `Date.getTimezoneOffset`. */
export function formatTimeOfDay(ms: number, offsetMinutes: number): string {
  return new Date(ms - offsetMinutes * 60_000).toISOString().slice(11, 19);
}

/** Returns how long ago a timestamp was, such as `5m`; undefined when it is missing or invalid. */
export function ageOf(timestamp: string | undefined, nowMs: number): string | undefined {
  const ms = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  return Number.isNaN(ms) ? undefined : formatAge(nowMs - ms);
}

const dayMs = 86_400_000;

/** Returns when something is due, such as `at 17:06:17Z, in 3m12s`; with the date, if it is more than a day from now. */
export function formatDeadline(timestamp: string, nowMs: number): string {
  const leftMs = Date.parse(timestamp) - nowMs;
  if (Number.isNaN(leftMs)) return `at ${timestamp}`;
  const time = Math.abs(leftMs) < dayMs ? timestamp.slice(timestamp.indexOf("T") + 1) : timestamp;
  return leftMs <= 0 ? `at ${time}, now due` : `at ${time}, in ${formatCountdown(leftMs)}`;
}

/** Ages are rounded down to few digits; a deadline of minutes is shown to the second. */
function formatCountdown(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 60 || seconds >= 3600) return formatAge(seconds * 1000);
  return withRemainder(Math.floor(seconds / 60), "m", seconds % 60, "s");
}

function withRemainder(whole: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${whole}${unit}` : `${whole}${unit}${rest}${restUnit}`;
}
