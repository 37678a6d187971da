import type { FileResult } from "./report.ts";
import { fullNameOf, type NamedTest, type Removal, type Rule } from "./rule.ts";
import { type Verdict, verdictOn } from "./verdict.ts";

/** What a rule is tried with. */
export type Bench = Readonly<{
  /** Runs tests in sources without these rules. */
  run(tests: readonly NamedTest[], removals: readonly Removal[]): Promise<readonly FileResult[]>;
  nowMs(): number;
}>;

/** What was seen of a rule. */
export type Proof = Readonly<{
  rule: Rule;
  /** Whether its test turned red without it, and each of several texts alone kept it green. */
  isProven: boolean;
  verdict: Verdict;
  /** The files of texts that were left alone and did not keep the test green: no lines of defence by themselves. */
  idle: readonly string[];
  seconds: number;
}>;

/** Takes out a rule and looks at its test. */
export async function prove({ run, nowMs }: Bench, rule: Rule): Promise<Proof> {
  const startedMs = nowMs();
  const { removals, test } = rule;
  const judge = async (without: readonly Removal[]): Promise<Verdict> =>
    verdictOn(await run([test], without), fullNameOf(test));
  const verdict = await judge(removals);
  const idle: string[] = [];
  for (const left of removals.length > 1 && verdict.kind === "red" ? removals : []) {
    const { kind } = await judge(removals.filter((each) => each !== left));
    if (kind !== "green") idle.push(left.file);
  }
  const isProven = verdict.kind === "red" && idle.length === 0;
  return { rule, isProven, verdict, idle, seconds: (nowMs() - startedMs) / 1000 };
}

/** Rules that are tried, and the file of which every test is to be named by one of them. */
export type Trial = Readonly<{ rules: readonly Rule[]; whole: string | undefined }>;

/** What is wrong while no rule is missing: named tests that are not green, and tests that no rule names. */
export async function troublesUnbroken({ run }: Bench, { rules, whole }: Trial): Promise<readonly string[]> {
  const tests = rules.map(({ test }) => test);
  const report = await run(tests, []);
  const names = new Set(tests.map(fullNameOf));
  const failed = [...names].flatMap((name) => {
    const { kind, words } = verdictOn(report, name);
    return kind === "green" ? [] : [`${name}: ${words}`];
  });
  const unnamed = report
    .filter(({ name }) => whole !== undefined && name.endsWith(`/${whole}`))
    .flatMap((file) => file.tests.filter(({ fullName }) => !names.has(fullName)))
    .map(({ fullName }) => `${fullName}: no rule is named for it`);
  return [...failed, ...unnamed];
}
