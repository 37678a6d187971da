import { describe, expect, it } from "vitest";
import { maskedSecret } from "../../../lib/cli/diff.ts";
import { colored, unifiedDiff } from "../../../lib/cli/unified-diff.ts";

const names = { before: "a", after: "b" };
const lines = (...texts: readonly string[]): string => `${texts.join("\n")}\n`;
const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => String(from + at));

describe("a unified diff", () => {
  it("of the same is empty", () => {
    expect(unifiedDiff("x\n", "x\n", names)).toBe("");
  });

  it("says what diff -u says", () => {
    expect(unifiedDiff(lines(...numbers(1, 9)), lines("1", "2", "3", "4", "five", ...numbers(6, 9)), names)).toBe(
      lines("--- a", "+++ b", "@@ -2,7 +2,7 @@", " 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"),
    );
  });

  it("shows what is far apart by itself, and what is close together as one", () => {
    const changed = numbers(1, 30).map((line) => (["3", "7", "25"].includes(line) ? `new ${line}` : line));
    const diff = unifiedDiff(lines(...numbers(1, 30)), lines(...changed), names);
    expect(diff.split("\n").filter((line) => line.startsWith("@@"))).toEqual([
      "@@ -1,10 +1,10 @@",
      "@@ -22,7 +22,7 @@",
    ]);
  });

  it("counts from nothing for what is all new, or all gone", () => {
    expect(unifiedDiff("", "x\ny\n", names)).toBe(lines("--- a", "+++ b", "@@ -0,0 +1,2 @@", "+x", "+y"));
    expect(unifiedDiff("x\n", "", names)).toBe(lines("--- a", "+++ b", "@@ -1,1 +0,0 @@", "-x"));
  });

  it("has git's colours for people", () => {
    const text = colored(unifiedDiff("x\n", "y\n", names));
    expect(text).toContain("\x1b[31m-x\x1b[0m");
    expect(text).toContain("\x1b[32m+y\x1b[0m");
    expect(text).toContain("\x1b[1m--- a\x1b[0m");
  });
});

describe("a secret that is shown", () => {
  const secret = (rest: object) => ({ apiVersion: "v1", kind: "Secret", metadata: { name: "keys" }, ...rest });

  it("holds nothing that could be read, nor tried out without the key of this one output", () => {
    const shown = JSON.stringify([
      maskedSecret(secret({ data: { a: "aHVudGVyMg==" }, stringData: { b: "hunter2" } }), "one"),
      maskedSecret(secret({ data: { a: "aHVudGVyMg==" } }), "two"),
    ]);
    expect(shown).not.toMatch(/hunter2|aHVudGVyMg/);
    const digests = [...shown.matchAll(/\*\*\* ([0-9a-f]{12})/g)].map(([, digest]) => digest);
    expect(digests).toHaveLength(3);
    // The same value under the same key is the same, however it is written; under another it is not.
    expect(digests[0]).toBe(digests[1]);
    expect(digests[2]).not.toBe(digests[0]);
  });

  it("loses the copy that kubectl keeps in an annotation", () => {
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", mine: "stays" };
    const { metadata } = maskedSecret(secret({ metadata: { name: "keys", annotations } }), "one");
    expect(metadata).toEqual({ name: "keys", annotations: { mine: "stays" } });
  });

  it("is nothing else: a ConfigMap stays as it is", () => {
    const settings = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { a: "b" } };
    expect(maskedSecret(settings, "one")).toBe(settings);
  });
});
