import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { Option } from "commander";
import { dump } from "js-yaml";

export const outputs = ["table", "wide", "json", "yaml"] as const;
export type Output = (typeof outputs)[number];

/** The option that says how to print. */
export function outputOption(choices: readonly Output[] = outputs): Option {
  return new Option("-o, --output <format>", "how to print it").choices(choices).default(choices[0] ?? "table");
}

/** Objects as programs read them: one as it is, several as a list. What only servers care for is left out, as kubectl does. */
export function formatObjects(found: KubeObject | readonly KubeObject[], output: "json" | "yaml"): string {
  const document = isList(found)
    ? { apiVersion: "v1", kind: "List", items: found.map(withoutManagedFields) }
    : withoutManagedFields(found);
  return formatDocument(document, output);
}

/** Any value as a JSON or YAML document. */
export function formatDocument(document: object, output: "json" | "yaml"): string {
  if (output === "json") return `${JSON.stringify(document, null, 2)}\n`;
  return dump(document, { noRefs: true, lineWidth: -1 });
}

const isList = (found: KubeObject | readonly KubeObject[]): found is readonly KubeObject[] => Array.isArray(found);

function withoutManagedFields({ metadata, ...object }: KubeObject): object {
  const { managedFields: _, ...rest } = metadata;
  const { apiVersion, kind, ...fields } = object;
  return { apiVersion, kind, metadata: rest, ...fields };
}

const gap = "   ";

/** Rows under their columns' names, as kubectl prints them; an empty cell shows as `<none>`. */
export function formatTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = [columns, ...rows.map((row) => row.map((cell) => (cell === "" ? "<none>" : cell)))];
  const widths = columns.map((_, at) => Math.max(...shown.map((row) => textWidth(row[at] ?? ""))));
  return shown
    .map((row) => `${row.map((cell, at) => padEnd(cell, widths[at] ?? 0)).join(gap)}`.trimEnd())
    .map((line) => `${line}\n`)
    .join("");
}

/** Names with their values, one a line, the values under each other; what has no value is left out. */
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

/** How many columns of a terminal a text takes. */
export function textWidth(words: string): number {
  let width = 0;
  for (const character of words) width += noWidth.test(character) ? 0 : fullWidth.test(character) ? 2 : 1;
  return width;
}

/** A text brought to a width with spaces; a longer one stays as it is. */
export function padEnd(words: string, width: number): string {
  return words + " ".repeat(Math.max(0, width - textWidth(words)));
}

/** A span of time in the words of kubectl: the one or two largest units that matter. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return withRest(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return withRest(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return withRest(days, "d", hours % 24, "h");
  return days < 730 ? `${days}d` : withRest(Math.floor(days / 365), "y", days % 365, "d");
}

/** How long ago a moment was, such as `5m`; undefined when it is no moment. */
export function ageOf(moment: string | undefined, nowMs: number): string | undefined {
  const ms = moment === undefined ? Number.NaN : Date.parse(moment);
  return Number.isNaN(ms) ? undefined : formatSpan(nowMs - ms);
}

function withRest(whole: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${whole}${unit}` : `${whole}${unit}${rest}${restUnit}`;
}
