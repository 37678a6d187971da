// npm run rules: takes out each rule that protects users' work, one after the other, and sees its test turn red.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { incidentTests } from "./incident-rules.ts";
import { type Bench, type Proof, prove, troublesUnbroken } from "./prove.ts";
import { fullNameOf, isSelected, type Rule } from "./rule.ts";
import { rules } from "./rules.ts";
import { runTests } from "./run-tests.ts";
import { openWorkshop } from "./workshop.ts";

const usage = `Usage: npm run rules -- [--only <pattern>] [-o json] [--list]

  --only <pattern>  only rules of which the rule, the incident, the test or a file matches
  --list            name the rules and their tests, and try nothing
  -o json           machine-readable; what happens meanwhile goes to stderr

Everything happens in a copy of the files that git knows. First all tests must be green with every rule in its place. The exit
code is 1 when one is not, or when a rule was taken out and its test did not fail by an expectation of its own.
`;

type Options = Readonly<{ only: RegExp | undefined; isJson: boolean; isList: boolean; isHelp: boolean }>;

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      output: { type: "string", short: "o", default: "text" },
      list: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (!["text", "json"].includes(values.output)) throw new Error(`-o ${values.output}: text or json`);
  return {
    only: values.only === undefined ? undefined : new RegExp(values.only, "i"),
    isJson: values.output === "json",
    isList: values.list,
    isHelp: values.help,
  };
}

const outcomes = { red: "red", green: "still green", unclear: "unclear" } as const;

function formatProof({ rule, isProven, verdict, idle, seconds }: Proof): string {
  const outcome = outcomes[verdict.kind].padEnd(11);
  const why = verdict.kind === "unclear" ? `\n    ${verdict.words}` : "";
  const alone = idle.map((file) => `\n    what is in ${file} does not protect by itself`).join("");
  const lines = rule.removals.length > 1 ? ` (${rule.removals.length} lines of defence)` : "";
  const line = `${outcome} ${seconds.toFixed(1).padStart(5)} s  ${rule.rule}${lines} — ${fullNameOf(rule.test)}`;
  return isProven ? line : `${line}${why}${alone}`;
}

const resultOf = ({ rule, isProven, verdict, idle, seconds }: Proof) => ({
  rule: rule.rule,
  incident: rule.incident,
  test: { file: rule.test.file, name: fullNameOf(rule.test) },
  files: [...new Set(rule.removals.map(({ file }) => file))],
  linesOfDefence: rule.removals.length,
  isProven,
  outcome: outcomes[verdict.kind],
  words: verdict.words,
  idle,
  seconds,
});

async function proveAll(meant: readonly Rule[], bench: Bench, { isJson, only }: Options): Promise<boolean> {
  const tell = (text: string) => (isJson ? process.stderr : process.stdout).write(`${text}\n`);
  const startedMs = bench.nowMs();
  const troubles = await troublesUnbroken(bench, {
    rules: meant,
    whole: only === undefined ? incidentTests : undefined,
  });
  const proofs: Proof[] = [];
  if (troubles.length > 0) tell(`with every rule in its place:\n  ${troubles.join("\n  ")}`);
  else {
    tell(`green with every rule in its place, ${((bench.nowMs() - startedMs) / 1000).toFixed(1)} s`);
    for (const rule of meant) {
      const proof = await prove(bench, rule);
      proofs.push(proof);
      tell(formatProof(proof));
    }
  }
  const isGood = troubles.length === 0 && proofs.every(({ isProven }) => isProven);
  const proven = proofs.filter(({ isProven }) => isProven).length;
  tell(`${proven} of ${meant.length} rules were seen to protect`);
  if (isJson) {
    process.stdout.write(`${JSON.stringify({ isGood, troubles, rules: proofs.map(resultOf) }, undefined, 2)}\n`);
  }
  return isGood;
}

/** What shells expect of whoever is ended by a signal. */
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options.isHelp) {
    process.stdout.write(usage);
    return 0;
  }
  const meant = rules.filter((rule) => isSelected(rule, options.only));
  if (meant.length === 0) throw new Error("no rule matches --only");
  if (options.isList) {
    for (const rule of meant) process.stdout.write(`${rule.rule} — ${fullNameOf(rule.test)}\n`);
    return 0;
  }
  const workshop = openWorkshop(join(import.meta.dirname, "../.."));
  const end = new AbortController();
  let endedWith: number | undefined;
  for (const [signal, exitCode] of Object.entries(exitCodes)) {
    process.once(signal, () => {
      endedWith = exitCode;
      end.abort();
    });
  }
  const bench: Bench = {
    run: (tests, removals) => workshop.without(removals, () => runTests(workshop.folder, tests, end.signal)),
    nowMs: () => performance.now(),
  };
  try {
    return (await proveAll(meant, bench, options)) ? 0 : 1;
  } catch (error) {
    if (endedWith === undefined) throw error;
    return endedWith;
  } finally {
    workshop.remove();
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`rules: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
