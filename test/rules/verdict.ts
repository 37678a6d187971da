import type { FileResult } from "./report.ts";

/**
 * What became of a test. Only an expectation of its own makes it red: a test that could not be read, was not found, ran out of
 * time or stumbled over something else says nothing about the rule.
 */
export type Verdict = Readonly<{ kind: "red" | "green" | "unclear"; words: string }>;

/** Judges the one test that was to run. */
export function verdictOn(report: readonly FileResult[], fullName: string): Verdict {
  const unread = report.find(({ message, tests }) => message !== "" && tests.length === 0);
  if (unread !== undefined) return { kind: "unclear", words: `cannot be read: ${firstLine(unread.message)}` };
  const found = report.flatMap(({ tests }) => tests).filter((test) => test.fullName === fullName);
  const [test] = found;
  if (test === undefined || found.length > 1) return { kind: "unclear", words: `found ${found.length} times` };
  if (test.status === "passed") return { kind: "green", words: "passed" };
  if (test.status !== "failed") return { kind: "unclear", words: `did not run: ${test.status}` };
  // What comes first is what the test died of; a hook that clears up after it may fail too.
  const cause = firstLine(test.failureMessages[0] ?? "");
  return { kind: cause.startsWith("AssertionError: ") ? "red" : "unclear", words: cause };
}

function firstLine(text: string): string {
  return (text.split("\n")[0] ?? "").trim();
}
