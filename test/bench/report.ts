/** A column of a table; numbers are shown with that many digits after the point. */
export type Column = Readonly<{ key: string; label: string; digits?: number }>;
/** One line of a table, by the columns' keys. */
export type Row = Readonly<Record<string, string | number | undefined>>;
export type Table = Readonly<{ title: string; columns: readonly Column[]; rows: readonly Row[] }>;

/** What was aimed at and what came out. A missed goal is reported, never a failure: speed depends on the machine. */
export type Goal = Readonly<{ what: string; goal: string; got: string; met: boolean }>;

/** All that one bench has to say. */
export type BenchReport = Readonly<{
  name: string;
  tables: readonly Table[];
  goals: readonly Goal[];
  notes: readonly string[];
}>;

/** Gives a report as text for people: tables with aligned columns, the notes, the goals. */
export function formatReport({ name, tables, goals, notes }: BenchReport): string {
  return [
    ...tables.map((table) => `${name}: ${table.title}\n${formatTable(table)}`),
    ...(notes.length === 0 ? [] : [notes.map((note) => `  ${note}`).join("\n")]),
    ...(goals.length === 0 ? [] : [formatGoals(goals)]),
  ].join("\n\n");
}

function formatTable({ columns, rows }: Table): string {
  const cells = rows.map((row) => columns.map((column) => formatCell(row[column.key], column.digits ?? 0)));
  const numeric = columns.map(({ key }) => rows.some((row) => typeof row[key] === "number"));
  return align([columns.map(({ label }) => label), ...cells], numeric);
}

function formatGoals(goals: readonly Goal[]): string {
  const lines = goals.map(({ what, goal, got, met }) => [met ? "met" : "missed", what, goal, got]);
  return align([["goal", "of", "aim", "got"], ...lines], [false, false, false, false]);
}

function formatCell(value: string | number | undefined, digits: number): string {
  if (value === undefined || (typeof value === "number" && !Number.isFinite(value))) return "-";
  return typeof value === "string" ? value : value.toLocaleString("en-US", fraction(digits));
}

const fraction = (digits: number): Intl.NumberFormatOptions => ({
  minimumFractionDigits: digits,
  maximumFractionDigits: digits,
});

function align(lines: readonly (readonly string[])[], right: readonly boolean[]): string {
  const widths = right.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) => {
      const cells = line.map((cell, column) => {
        const width = widths[column] ?? 0;
        return right[column] === true ? cell.padStart(width) : cell.padEnd(width);
      });
      return `  ${cells.join("  ").trimEnd()}`;
    })
    .join("\n");
}
