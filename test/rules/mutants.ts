// npm run mutants: takes out each rule that protects users' work, and runs seeds of the simulation until one notices.
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { features as knownFeatures } from "../simulation/features/features.ts";
import {
  formatReport,
  formatSummary,
  formatTable,
  invisibilityOf,
  type MutantReport,
  type MutantSummary,
  summarize,
} from "./mutant.ts";
import { isSelected, type Rule } from "./rule.ts";
import { rules } from "./rules.ts";
import { findRedSeeds, type MutantOptions, tryMutant } from "./try-mutant.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

const usage = `Usage: npm run mutants -- [--only <pattern>] [--seeds <n>] [--from <seed>] [--jobs <n>] [--features <a,b>] [-o json]

  --only <pattern>  only rules of which the rule, the incident, the test or a file matches
  --seeds <n>       seeds per rule; the first one that violates a law ends the rule (default 40)
  --from <seed>     the first seed (default: random, so that the laws are not tuned to fixed seeds)
  --jobs <n>        processes at once (default 2)
  --features <a,b>  features of the simulation that every seed has
  -o json           machine-readable

Everything happens in copies of the files that git knows. First the seeds run with every rule in its place; a seed that violates
a law then is reported and not used. Progress goes to stderr, the table to stdout. The exit code is 1 if a seed was not used, or
if a rule is unclear: without it the product does not run. A rule that is not noticed is a result, and no failure.
`;

/** Leaves room for many seeds below the nine digits that the options accept. */
const maxFreshSeed = 900_000_000;

type Options = Readonly<{
  only: RegExp | undefined;
  seeds: readonly number[];
  jobs: number;
  features: readonly string[];
  isJson: boolean;
  isHelp: boolean;
}>;

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      seeds: { type: "string", default: "40" },
      from: { type: "string" },
      jobs: { type: "string", default: "2" },
      features: { type: "string", default: "" },
      output: { type: "string", short: "o", default: "text" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (!["text", "json"].includes(values.output)) throw new Error(`-o ${values.output}: text or json`);
  const features = values.features.split(",").filter((name) => name !== "");
  const unknown = features.find((name) => knownFeatures.every((feature) => feature.name !== name));
  if (unknown !== undefined) throw new Error(`--features: there is no ${unknown}`);
  const count = positiveNumber("seeds", values.seeds);
  const from = values.from === undefined ? randomInt(1, maxFreshSeed) : positiveNumber("from", values.from);
  return {
    only: values.only === undefined ? undefined : new RegExp(values.only, "i"),
    seeds: Array.from({ length: count }, (_, index) => from + index),
    jobs: positiveNumber("jobs", values.jobs),
    features,
    isJson: values.output === "json",
    isHelp: values.help,
  };
}

function positiveNumber(name: string, text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new Error(`--${name} ${text}: a whole number above 0`);
  return Number(text);
}

const tell = (text: string): boolean => process.stderr.write(`${text}\n`);

/** Tries the rules, several at once, each in a copy of the sources that no other rule uses meanwhile. */
async function tryAll(
  selected: readonly Rule[],
  workshops: readonly Workshop[],
  options: MutantOptions,
): Promise<readonly MutantReport[]> {
  const reports = new Map<Rule, MutantReport>();
  const left = selected.values();
  await Promise.all(
    workshops.map(async (workshop) => {
      for (const rule of left) {
        const report = await tryMutant(workshop, rule, options);
        reports.set(rule, report);
        tell(`${String(reports.size).padStart(3)}/${selected.length}  ${formatReport(report)}`);
      }
    }),
  );
  return selected.flatMap((rule) => reports.get(rule) ?? []);
}

function formatJson(
  reports: readonly MutantReport[],
  about: Readonly<{ seeds: readonly number[]; redSeeds: readonly number[]; summary: MutantSummary }>,
): string {
  const tried = reports.map(({ rule, outcome, seconds }) => ({ rule: rule.rule, outcome, seconds }));
  return JSON.stringify({ ...about, rules: tried }, undefined, 2);
}

async function run(
  selected: readonly Rule[],
  { seeds, jobs, features, isJson }: Options,
  opened: Workshop[],
  signal: AbortSignal,
): Promise<number> {
  const root = join(import.meta.dirname, "../..");
  const visible = selected.filter((rule) => invisibilityOf(rule) === undefined).length;
  const copies = Math.max(1, Math.min(jobs, visible));
  const first = openWorkshop(root);
  opened.push(first, ...Array.from({ length: copies - 1 }, () => openWorkshop(root)));
  let redSeeds: readonly number[] = [];
  if (visible > 0) {
    tell(`seeds ${seeds[0]} to ${seeds.at(-1)}, ${visible} rules; first with every rule in its place`);
    const onSeed = (done: number): void => {
      if (done % 10 === 0) tell(`${done}/${seeds.length} seeds with every rule in its place`);
    };
    redSeeds = await findRedSeeds(first, { seeds, jobs, features, signal, onSeed });
    if (redSeeds.length > 0)
      tell(`not used, because they violate a law with every rule in its place: ${redSeeds.join(", ")}`);
  }
  const used = seeds.filter((seed) => !redSeeds.includes(seed));
  if (used.length === 0) throw new Error("every seed violates a law with every rule in its place");
  const perRule = Math.max(1, Math.floor(jobs / copies));
  const reports = await tryAll(selected, opened, { seeds: used, jobs: perRule, features, signal });
  const summary = summarize(reports);
  const text = isJson
    ? formatJson(reports, { seeds, redSeeds, summary })
    : `${formatTable(reports)}\n\n${formatSummary(summary)}`;
  process.stdout.write(`${text}\n`);
  return redSeeds.length === 0 && summary.unclear === 0 ? 0 : 1;
}

/** The exit codes that shells expect of a process that a signal has ended. */
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options.isHelp) {
    process.stdout.write(usage);
    return 0;
  }
  const selected = rules.filter((rule) => isSelected(rule, options.only));
  if (selected.length === 0) throw new Error("no rule matches --only");
  const end = new AbortController();
  let endedWith: number | undefined;
  for (const [signal, exitCode] of Object.entries(exitCodes)) {
    process.once(signal, () => {
      endedWith = exitCode;
      end.abort();
    });
  }
  const opened: Workshop[] = [];
  try {
    return await run(selected, options, opened, end.signal);
  } catch (error) {
    if (endedWith === undefined) throw error;
    return endedWith;
  } finally {
    for (const workshop of opened) workshop.remove();
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`mutants: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
