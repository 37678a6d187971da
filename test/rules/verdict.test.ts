import { describe, expect, test } from "vitest";
import { parseReport } from "./report.ts";
import { fullNameOf, type NamedTest, patternOf } from "./rule.ts";
import { takeOut } from "./take-out.ts";
import { verdictOn } from "./verdict.ts";

const name = "an eviction does not delete the only copy";

function aReport(status: string, ...failureMessages: readonly string[]): ReturnType<typeof parseReport> {
  const others = { fullName: "an eviction takes its time", status: "skipped", failureMessages: [] };
  const assertionResults = [others, { fullName: name, status, failureMessages }];
  return parseReport(JSON.stringify({ testResults: [{ name: "/a.test.ts", message: "", assertionResults }] }));
}

describe("a test without its rule is", () => {
  test("red when an expectation of its own fails", () => {
    const report = aReport("failed", "AssertionError: expected [] to have a length of 1\n    at …");
    expect(verdictOn(report, name)).toEqual({
      kind: "red",
      words: "AssertionError: expected [] to have a length of 1",
    });
  });

  test("green when it passes", () => {
    expect(verdictOn(aReport("passed"), name).kind).toBe("green");
  });

  test.each([
    ["it stumbled over something else", aReport("failed", "TypeError: claim is undefined")],
    ["it ran out of time", aReport("failed", "Error: Test timed out in 20000ms.")],
    ["it did not run", aReport("skipped")],
    ["there is none of that name", parseReport(`{"testResults":[]}`)],
    ["there are two of that name", [...aReport("failed", "AssertionError: a"), ...aReport("passed")]],
    ["its file cannot be read", [{ name: "/a.test.ts", message: "SyntaxError: Unexpected token", tests: [] }]],
  ])("unclear when %s", (_, report) => {
    expect(verdictOn(report, name).kind).toBe("unclear");
  });
});

describe("a named test", () => {
  const row: NamedTest = { file: "a.test.ts", titles: ["a list (of %s)", "%s deletes nothing"], rows: ["two", "one"] };

  test("is called what reports call it", () => {
    expect(fullNameOf(row)).toBe("a list (of two) one deletes nothing");
  });

  test("is matched whole, and no other is", () => {
    const pattern = new RegExp(patternOf(row));
    expect(pattern.test("a list (of two) one deletes nothing")).toBe(true);
    expect(pattern.test("a list (of two) > one deletes nothing")).toBe(true);
    expect(pattern.test("a list (of two) one deletes nothing at all")).toBe(false);
    expect(pattern.test("a list of two one deletes nothing")).toBe(false);
  });
});

describe("a rule is taken out", () => {
  test("by the letter", () => {
    expect(takeOut("if (a) b();", { file: "a.ts", text: "(a)", without: "($&)" })).toBe("if ($&) b();");
  });

  test.each([
    ["", 0],
    ["if (a) b(); if (a) c();", 2],
  ])("only from where it is once: %o", (source, count) => {
    const removal = { file: "a.ts", text: "(a)", without: "" };
    expect(() => takeOut(source, removal)).toThrow(`a.ts: "(a)" occurs ${count} times`);
  });
});
