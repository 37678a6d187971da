/** One line of a diff. */
type DiffLine = Readonly<{ sign: " " | "-" | "+"; text: string }>;

/** Unchanged lines around each change, as in `diff -u`. */
const context = 3;

/** Returns the difference between two texts in the format of `diff -u`; empty when they are equal. */
export function unifiedDiff(before: string, after: string, names: Readonly<{ before: string; after: string }>): string {
  if (before === after) return "";
  const lines = diffLines(linesOf(before), linesOf(after));
  const hunks = hunksOf(lines).map(([start, end]) => {
    const shown = lines.slice(start, end);
    const count = (sign: DiffLine["sign"], part: readonly DiffLine[]): number =>
      part.filter((line) => line.sign === " " || line.sign === sign).length;
    const range = (sign: "-" | "+"): string => {
      const length = count(sign, shown);
      const first = count(sign, lines.slice(0, start)) + (length === 0 ? 0 : 1);
      return `${sign}${first},${length}`;
    };
    return [`@@ ${range("-")} ${range("+")} @@`, ...shown.map(({ sign, text }) => `${sign}${text}`)];
  });
  return `${[`--- ${names.before}`, `+++ ${names.after}`, ...hunks.flat()].join("\n")}\n`;
}

const colors: readonly (readonly [start: string, code: string])[] = [
  ["--- ", "1"],
  ["+++ ", "1"],
  ["@@", "36"],
  ["-", "31"],
  ["+", "32"],
];

/** Adds the terminal colors of `git diff`. */
export function colored(diff: string): string {
  return diff
    .split("\n")
    .map((line) => {
      const [, code] = colors.find(([start]) => line.startsWith(start)) ?? [];
      return code === undefined ? line : `\x1b[${code}m${line}\x1b[0m`;
    })
    .join("\n");
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** Computes a diff from the longest common subsequence; removed lines come before added ones. */
function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const width = after.length + 1;
  // Length of the longest common subsequence from each position to the end; manifests are small enough for the full table.
  const common = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      common[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    const [old, fresh] = [before[row], after[column]];
    if (old !== undefined && old === fresh) {
      lines.push({ sign: " ", text: old });
      row += 1;
      column += 1;
    } else if (old !== undefined && (fresh === undefined || at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ sign: "-", text: old });
      row += 1;
    } else {
      lines.push({ sign: "+", text: fresh ?? "" });
      column += 1;
    }
  }
  return lines;
}

/** Returns the line ranges of the hunks: each change with its context; overlapping ranges are merged. */
function hunksOf(lines: readonly DiffLine[]): readonly (readonly [start: number, end: number])[] {
  const hunks: [number, number][] = [];
  for (const [at, { sign }] of lines.entries()) {
    if (sign === " ") continue;
    const [start, end] = [Math.max(0, at - context), Math.min(lines.length, at + context + 1)];
    const last = hunks.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = end;
    else hunks.push([start, end]);
  }
  return hunks;
}
