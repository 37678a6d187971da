import { spawnSync } from "node:child_process";

/** Where the blocks of a page run; test/docs/README.md describes each. */
export const environmentNames = ["clone", "local", "kcp"] as const;
export type EnvironmentName = (typeof environmentNames)[number];

/** What a page asks for, in the order of the page. `line` counts from 1. */
export type Step = Readonly<
  { line: number } & (
    | { kind: "environment"; name: EnvironmentName }
    | { kind: "file"; path: string; text: string }
    | { kind: "manifest"; text: string }
    | {
        kind: "command";
        text: string;
        /** The output that the page shows; undefined in a block that shows none. */
        shown: string | undefined;
        /** Set for a command that keeps running: a part of its output after which the page goes on. */
        keepsRunning: string | undefined;
      }
  )
>;

export type Page = Readonly<{
  steps: readonly Step[];
  /** Blocks that nothing runs and that give no reason, and marks that cannot be read. */
  faults: readonly string[];
}>;

const commandLanguages = ["bash", "console", "sh"];
const manifestLanguage = "yaml";
const ignored = "…";

type Block = Readonly<{ line: number; language: string; lines: readonly string[]; marks: readonly string[] }>;

/** Reads the steps of a Markdown page. */
export function parsePage(text: string): Page {
  const steps: Step[] = [];
  const faults: string[] = [];
  let scope: "none" | "run" | "not run" = "none";
  for (const part of partsOf(text)) {
    if ("mark" in part) {
      const name = environmentNames.find((each) => part.mark === `run: ${each}`);
      if (name !== undefined) {
        steps.push({ kind: "environment", name, line: part.line });
        scope = "run";
      } else if (isReason(part.mark)) scope = "not run";
      else faults.push(`${part.line}: unknown mark "${part.mark}"`);
      continue;
    }
    const { line, language, lines, marks } = part;
    const file = marks.map((mark) => /^file: (\S+)$/.exec(mark)?.[1]).find((path) => path !== undefined);
    if (marks.some(isReason)) continue;
    if (file !== undefined) {
      if (scope === "run") steps.push({ kind: "file", path: file, text: `${lines.join("\n")}\n`, line });
      else faults.push(`${line}: a file outside of an environment`);
    } else if (language === manifestLanguage || commandLanguages.includes(language)) {
      if (scope === "none") {
        faults.push(`${line}: no environment runs this ${language} block, and there is no "<!-- not run: reason -->"`);
      } else if (scope === "run") steps.push(...stepsOf(part));
    }
  }
  return { steps, faults };
}

/** A reason is a sentence, not a single word. */
const isReason = (mark: string): boolean => /^not run: \S+ \S+ \S+/.test(mark);

const reads: Readonly<Record<string, readonly string[]>> = {
  kubectl: ["get", "describe", "events", "wait", "explain"],
  tmc: ["list", "status", "explain", "describe", "diff", "doctor", "orphans", "confirm"],
};

/** A command that only reads. A person who does not see the expected state yet runs it again, and so does the runner. */
export function onlyReads(command: string): boolean {
  const [program = "", ...words] = command.replace(/^\.\//, "").split(/\s+/);
  if (program === "curl") return true;
  if (words.includes("--delete") || (words[0] === "confirm" && words.length > 1)) return false;
  return words.some((word) => reads[program]?.includes(word) === true);
}

type Mark = Readonly<{ line: number; mark: string }>;

/** The blocks of a page, and the marks that do not directly precede a block. */
function* partsOf(text: string): Generator<Block | Mark> {
  const lines = text.split("\n");
  let pending: Mark[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? "";
    const mark = /^<!-- ((?:run|not run|file|keeps running): .*) -->$/.exec(line)?.[1];
    const fence = /^(?<ticks>`{3,})(?<language>\w*)/.exec(line)?.groups;
    if (mark !== undefined) pending.push({ mark, line: index + 1 });
    else if (fence !== undefined) {
      const end = lines.indexOf(fence.ticks ?? "", index + 1);
      const content = lines.slice(index + 1, end < 0 ? lines.length : end);
      const isPageMark = ({ mark: each }: Mark): boolean => each.startsWith("run: ");
      yield* pending.filter(isPageMark);
      const marks = pending.filter((each) => !isPageMark(each)).map((each) => each.mark);
      pending = [];
      yield { line: index + 1, language: fence.language ?? "", lines: content, marks };
      index = end < 0 ? lines.length : end;
    } else if (line !== "") {
      // A mark that other text follows counts for all blocks after it.
      yield* pending.splice(0);
    }
  }
  yield* pending;
}

function stepsOf({ line, language, lines, marks }: Block): readonly Step[] {
  if (language === manifestLanguage) return [{ kind: "manifest", text: `${lines.join("\n")}\n`, line }];
  const running = marks.find((mark) => mark.startsWith("keeps running"));
  const keepsRunning = running === undefined ? undefined : (/"(.*)"/.exec(running)?.[1] ?? "");
  const steps: Step[] = [];
  for (let index = 0; index < lines.length; ) {
    const first = lines[index] ?? "";
    const isConsole = language === "console";
    if (!isConsole && (first.trim() === "" || first.startsWith("#"))) {
      index += 1;
      continue;
    }
    const command = [isConsole ? first.replace(/^\$ /, "") : first];
    while (!isComplete(command) && index + command.length < lines.length) {
      command.push(lines[index + command.length] ?? "");
    }
    const at = line + index + 1;
    index += command.length;
    const from = index;
    while (isConsole && index < lines.length && !lines[index]?.startsWith("$ ")) index += 1;
    const shown = isConsole ? lines.slice(from, index).join("\n") : undefined;
    steps.push({ kind: "command", text: command.join("\n"), shown, keepsRunning, line: at });
  }
  return steps;
}

/** Whether bash would run these lines, or read on: after a backslash, in a loop, a quotation or a here-document. */
function isComplete(lines: readonly string[]): boolean {
  if (lines.at(-1)?.endsWith("\\")) return false;
  const text = lines.join("\n");
  if (!/<<|['"(]|\b(?:for|while|if|case)\b/.test(text)) return true;
  const { status, stderr } = spawnSync("bash", ["-n"], { input: `${text}\n`, encoding: "utf8" });
  return status === 0 && stderr === "";
}

/** The shown output as a pattern: a line of `…` stands for any lines, and `…` in a line for any text. */
function patternOf(shown: string): RegExp {
  const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const lines = comparable(shown)
    .split("\n")
    .map((line) => (line === ignored ? "(?:.*\n)*?" : `${line.split(ignored).map(escaped).join(".*")}\n`));
  return new RegExp(`^${lines.join("")}$`);
}

/** Whether a command printed what the page shows. */
export function isShown(shown: string, printed: string): boolean {
  return patternOf(shown).test(`${comparable(printed)}\n`);
}

/** Text without what differs from run to run; test/docs/README.md lists it. */
export function comparable(text: string): string {
  return text
    .split("\n")
    .filter((line) => !line.startsWith('Warning: use "kubectl apply --server-side"'))
    .join("\n")
    .replace(/\b(?:127\.0\.0\.1|localhost):\d+/g, "127.0.0.1:<port>")
    .replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "<time>")
    .replace(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<uid>")
    .replace(/\b(tmc-[a-z0-9-]+?)-[0-9a-z]{25}\b/g, "$1-<hash>")
    .replace(/\b(v\d\w*)-(?:[0-9a-f]{8}|…)\./g, "$1-<hash>.")
    .replace(/(?<![\w.])(?:\d+(?:\.\d+)?(?:ms|[dhms]))+(?![\w.])/g, "<age>")
    .replace(/ {2,}/g, "  ")
    .replace(/ +$/gm, "")
    .trimEnd();
}
