import { delay } from "@tmc/kube/deadline.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { parseLabelSelector } from "@tmc/kube/selector.ts";
import { type Command, InvalidArgumentError } from "commander";
import { type CliIo, UsageError } from "./cli-io.ts";
import { formatObjects, formatTable, type ListTable, type Output, outputOption } from "./output.ts";

/** The options that all lists have. */
export type ListFlags = Readonly<{ output: Output; watch?: true; selector?: string }>;

/** Adds the options that all lists have to a command, named as in kubectl. */
export function withListOptions(command: Command): Command {
  return command
    .option("-l, --selector <selector>", "Label selector, such as app=web,tier!=test", parseSelector)
    .option("-w, --watch", "Print the list, and then each row that changes, until Ctrl-C")
    .addOption(outputOption());
}

/** Validates a label selector; the server evaluates it. */
function parseSelector(text: string): string {
  try {
    parseLabelSelector(text);
    return text;
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

/** The objects of a list, for programs, and its table for people. */
export type ListContent = Readonly<{ objects: readonly KubeObject[]; table: (wide: boolean) => ListTable }>;

const pollIntervalMs = 1_000;

/** Prints a list: as documents for programs, or as a table for people, which `watch` follows until the command is interrupted. */
export async function printList(
  io: CliIo,
  { output, watch }: Pick<ListFlags, "output" | "watch">,
  { ifEmpty, read }: Readonly<{ ifEmpty: string; read: () => Promise<ListContent> }>,
): Promise<void> {
  if (output === "json" || output === "yaml") {
    if (watch === true) throw new UsageError(`--watch prints a table and excludes --output ${output}`);
    io.out(formatObjects((await read()).objects, output));
    return;
  }
  const readTable = async (): Promise<ListTable> => (await read()).table(output === "wide");
  const first = await readTable();
  if (first.rows.length === 0) io.err(ifEmpty);
  else io.out(formatTable(first.columns, first.rows));
  if (watch !== true) return;
  const interruption = new AbortController();
  void io.untilInterrupted().then(() => interruption.abort());
  let shown = first;
  while (await delay(io.clock, pollIntervalMs, interruption.signal)) {
    const present = await readTable();
    const { out, err } = formatChanges(shown, present);
    if (out !== "") io.out(out);
    if (err !== "") io.err(err);
    shown = present;
  }
}

/** Columns that change by themselves. */
const ages = new Set(["AGE", "LAST HEARTBEAT"]);
const keyColumns = new Set(["NAMESPACE", "NAME"]);

/** Returns the rows of a table that are new or have changed, apart from ages, and the names of the rows that are gone. */
export function formatChanges(before: ListTable, after: ListTable): Readonly<{ out: string; err: string }> {
  const cells = ({ columns }: ListTable, row: readonly string[], isShown: (column: string) => boolean): string =>
    row.filter((_, at) => isShown(columns[at] ?? "")).join("\n");
  const keyOf = (table: ListTable, row: readonly string[]): string =>
    cells(table, row, (column) => keyColumns.has(column));
  const contentOf = (table: ListTable, row: readonly string[]): string =>
    cells(table, row, (column) => !ages.has(column));
  const known = new Map(before.rows.map((row) => [keyOf(before, row), contentOf(before, row)]));
  // Formatted together with the previous rows, so that the columns stay where they were.
  const [header = "", ...all] = formatTable(after.columns, [...before.rows, ...after.rows]).split("\n");
  const lines = all.slice(before.rows.length);
  const changed = lines.filter((_, at) => {
    const row = after.rows[at];
    return row !== undefined && known.get(keyOf(after, row)) !== contentOf(after, row);
  });
  const present = new Set(after.rows.map((row) => keyOf(after, row)));
  const gone = [...known.keys()].filter((key) => !present.has(key));
  const withHeader = before.rows.length === 0 && changed.length > 0 ? [header, ...changed] : changed;
  return {
    out: withHeader.map((line) => `${line}\n`).join(""),
    err: gone.map((key) => `${key.replace("\n", " ")} is gone\n`).join(""),
  };
}
