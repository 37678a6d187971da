import type { Result } from "../simulation/simulate.ts";
import type { Rule } from "./rule.ts";

/** What the simulation shows of the product without one rule. `seeds` counts the seeds that were run. */
export type MutantOutcome =
  | Readonly<{ kind: "noticed"; seeds: number; seed: number; law: number; message: string }>
  | Readonly<{ kind: "not noticed"; seeds: number }>
  /** The product without the rule does not run, or fails by an error of the language: this says nothing about the rule. */
  | Readonly<{ kind: "unclear"; seeds: number; why: string }>
  | Readonly<{ kind: "not visible"; why: string }>;

export type MutantReport = Readonly<{ rule: Rule; outcome: MutantOutcome; seconds: number }>;

export type MutantSummary = Readonly<{
  /** Rules that concern state which a run can see. */
  visible: number;
  noticed: number;
  unclear: number;
  /** Of the visible rules, rounded down; undefined if there is none. */
  percent: number | undefined;
}>;

const notVisible = "not visible: ";
const languageError = /\b(?:Reference|Syntax|Type)Error\b/;
const longestMessage = 160;

/** Why no run can show whether a rule is there; undefined for a rule that a run can show. */
export function invisibilityOf({ simulation }: Pick<Rule, "simulation">): string | undefined {
  return simulation?.slice(notVisible.length);
}

/** Judges one seed; undefined if it violates no law. `seeds` counts the seeds up to and including this one. */
export function judgeSeed(
  { seed, violations }: Pick<Result, "seed" | "violations">,
  seeds: number,
): MutantOutcome | undefined {
  const [first] = violations;
  if (first === undefined) return undefined;
  const message = shortened(first.message);
  const isBroken = violations.every((violation) => violation.law === 0 && languageError.test(violation.message));
  return isBroken
    ? { kind: "unclear", seeds, why: `seed ${seed}: ${message}` }
    : { kind: "noticed", seeds, seed, law: first.law, message };
}

/** Describes why the seeds could not be run, in one line: the line that names the error, if there is one. */
export function formatFailureToRun(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const lines = text.split("\n").map((line) => line.trim());
  // Node puts an error that has no stack into brackets.
  const named = lines.find((line) => /^\[?\w*Error\b.*: /.test(line));
  return shortened(named ?? lines[0] ?? "");
}

/** Counts what was noticed. An unclear rule counts as visible and as not noticed. */
export function summarize(reports: readonly MutantReport[]): MutantSummary {
  const visible = reports.filter(({ outcome }) => outcome.kind !== "not visible").length;
  const noticed = reports.filter(({ outcome }) => outcome.kind === "noticed").length;
  const unclear = reports.filter(({ outcome }) => outcome.kind === "unclear").length;
  return { visible, noticed, unclear, percent: visible === 0 ? undefined : Math.floor((noticed * 100) / visible) };
}

export function formatSummary({ visible, noticed, unclear, percent }: MutantSummary): string {
  if (percent === undefined) return "none of these rules concerns state that a run can see";
  const others = unclear === 0 ? "" : ` (${unclear} unclear)`;
  return `${noticed} of ${visible} rules that concern state a run can see are noticed: ${percent} %${others}`;
}

/** One line per rule, in the order of the table of rules. */
export function formatTable(reports: readonly MutantReport[]): string {
  const header = formatRow("RESULT", "SEEDS", "LAW", "RULE");
  return [header, ...reports.map((report) => formatReport(report))].join("\n");
}

/** The line of one rule. Every result but "noticed" and "not noticed" says why in a line of its own. */
export function formatReport({ rule, outcome }: MutantReport): string {
  const seeds = "seeds" in outcome ? String(outcome.seeds) : "-";
  const law = outcome.kind === "noticed" ? String(outcome.law) : "-";
  const why = "why" in outcome ? `\n    ${outcome.why}` : "";
  return `${formatRow(outcome.kind, seeds, law, rule.rule)}${why}`;
}

function formatRow(result: string, seeds: string, law: string, rule: string): string {
  return `${result.padEnd(11)}  ${seeds.padStart(5)}  ${law.padStart(3)}  ${rule}`;
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > longestMessage ? `${line.slice(0, longestMessage)}…` : line;
}
