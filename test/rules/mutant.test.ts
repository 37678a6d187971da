import { describe, expect, test } from "vitest";
import {
  formatFailureToRun,
  formatReport,
  formatSummary,
  formatTable,
  invisibilityOf,
  judgeSeed,
  type MutantOutcome,
  type MutantReport,
  summarize,
} from "./mutant.ts";
import { isSelected, type Rule } from "./rule.ts";

const aRule = (rule: string): Rule => ({
  rule,
  incident: "a list was incomplete",
  removals: [{ file: "lib/sync/decide.ts", text: "a", without: "b" }],
  test: { file: "test/lib/a.test.ts", titles: ["an incident", rule] },
});
const aReport = (outcome: MutantOutcome, rule = "a rule"): MutantReport => ({ rule: aRule(rule), outcome, seconds: 1 });
const violations = (...all: readonly (readonly [number, string])[]) =>
  all.map(([law, message]) => ({ law, atMs: 0, message }));

const noticed: MutantOutcome = { kind: "noticed", seeds: 3, seed: 12, law: 3, message: "a copy is gone" };
const notNoticed: MutantOutcome = { kind: "not noticed", seeds: 40 };
const unclear: MutantOutcome = { kind: "unclear", seeds: 0, why: "SyntaxError: Unexpected token" };
const notVisible: MutantOutcome = { kind: "not visible", why: "a run has no functions" };

describe("a seed without a rule", () => {
  test("shows nothing if no law is violated", () => {
    expect(judgeSeed({ seed: 12, violations: [] }, 3)).toBeUndefined();
  });

  test("notices the rule by the first law that is violated", () => {
    const seen = violations([3, "a copy is gone"], [1, "the runs differ"]);
    expect(judgeSeed({ seed: 12, violations: seen }, 3)).toEqual(noticed);
  });

  test("is unclear if the product only fails by an error of the language", () => {
    const seen = violations([0, "the queue refuses keys: ReferenceError: isGone is not defined"]);
    expect(judgeSeed({ seed: 12, violations: seen }, 3)).toEqual({
      kind: "unclear",
      seeds: 3,
      why: "seed 12: the queue refuses keys: ReferenceError: isGone is not defined",
    });
  });

  test.each([
    ["another failure of the product", violations([0, "a controller fails to stop: Error: a timer is left"])],
    ["a law beside the error", violations([0, "TypeError: a is undefined"], [3, "a copy is gone"])],
    ["a law that quotes an error", violations([2, "TypeError: a is undefined"])],
  ])("notices the rule by %s", (_, seen) => {
    expect(judgeSeed({ seed: 12, violations: seen }, 1)?.kind).toBe("noticed");
  });

  test("is described in one line of limited length", () => {
    const outcome = judgeSeed({ seed: 12, violations: violations([3, `a\n  b ${"c".repeat(1_000)}`]) }, 1);
    expect(outcome?.kind === "noticed" && outcome.message).toMatch(/^a b c{100,200}…$/);
  });
});

describe("a product that does not run", () => {
  test.each([
    [
      "a syntax error",
      "simulation: a process ended with 1: file:///tmp/a.ts:1\n  if (\n  ^\n\nSyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Expression expected\n    at a",
      "SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Expression expected",
    ],
    [
      "a missing import",
      "simulation: a process ended with 1: node:internal/modules\n\nError [ERR_MODULE_NOT_FOUND]: Cannot find module '/tmp/b.ts'",
      "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/tmp/b.ts'",
    ],
    [
      "an error without a stack",
      "simulation: a process ended with 1: node:internal/modules\n\n[Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/tmp/b.ts'] {\n",
      "[Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/tmp/b.ts'] {",
    ],
    [
      "a process that was killed",
      "simulation: a process ended with SIGKILL: ",
      "simulation: a process ended with SIGKILL:",
    ],
  ])("is described by its error: %s", (_, text, expected) => {
    expect(formatFailureToRun(new Error(text))).toBe(expected);
  });
});

describe("the mutant table", () => {
  const reports = [aReport(noticed), aReport(notNoticed), aReport(unclear), aReport(notVisible)];

  test("counts rules that a run can see, and an unclear rule as not noticed", () => {
    expect(summarize(reports)).toEqual({ visible: 3, noticed: 1, unclear: 1, percent: 33 });
    expect(formatSummary(summarize(reports))).toBe(
      "1 of 3 rules that concern state a run can see are noticed: 33 % (1 unclear)",
    );
  });

  test("never rounds up to 100 %", () => {
    const many = [...Array.from({ length: 999 }, () => aReport(noticed)), aReport(notNoticed)];
    expect(summarize(many).percent).toBe(99);
  });

  test("counts nothing if no rule is visible", () => {
    const summary = summarize([aReport(notVisible)]);
    expect(summary).toEqual({ visible: 0, noticed: 0, unclear: 0, percent: undefined });
    expect(formatSummary(summary)).toBe("none of these rules concerns state that a run can see");
  });

  test("has a line for each rule, with the seeds and the law", () => {
    expect(formatTable([aReport(noticed, "copies stay")]).split("\n")).toEqual([
      "RESULT       SEEDS  LAW  RULE",
      "noticed          3    3  copies stay",
    ]);
  });

  test.each([
    [unclear, "SyntaxError: Unexpected token"],
    [notVisible, "a run has no functions"],
  ])("says why a rule is neither noticed nor not noticed", (outcome, why) => {
    expect(formatReport(aReport(outcome)).split("\n")[1]?.trim()).toBe(why);
  });
});

describe("a rule", () => {
  test("is visible unless it says why not", () => {
    expect(invisibilityOf({})).toBeUndefined();
    expect(invisibilityOf({ simulation: "not visible: a run has no functions" })).toBe("a run has no functions");
  });

  test.each([
    [undefined, true],
    [/COPIES/i, true],
    [/list was/, true],
    [/lib\/sync/, true],
    [/an incident copies/, true],
    [/lambda/, false],
  ])("is selected by its words and its files: %o", (only, expected) => {
    expect(isSelected(aRule("copies stay"), only)).toBe(expected);
  });
});
