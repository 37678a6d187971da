import { describe, expect, it } from "vitest";
import { maskedSecret } from "../../../../lib/cli/workload/diff.ts";
import { colored, unifiedDiff } from "../../../../lib/cli/workload/unified-diff.ts";

const names = { before: "a", after: "b" };
const lines = (...texts: readonly string[]): string => `${texts.join("\n")}\n`;
const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => String(from + at));

describe("a unified diff", () => {
  it("unifiedDiff of equal texts is empty", () => {
    expect(unifiedDiff("x\n", "x\n", names)).toBe("");
  });

  it("unifiedDiff prints the format of diff -u", () => {
    expect(unifiedDiff(lines(...numbers(1, 9)), lines("1", "2", "3", "4", "five", ...numbers(6, 9)), names)).toBe(
      lines("--- a", "+++ b", "@@ -2,7 +2,7 @@", " 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"),
    );
  });

  it("unifiedDiff prints distant changes as separate hunks, and merges close ones", () => {
    const changed = numbers(1, 30).map((line) => (["3", "7", "25"].includes(line) ? `new ${line}` : line));
    const diff = unifiedDiff(lines(...numbers(1, 30)), lines(...changed), names);
    expect(diff.split("\n").filter((line) => line.startsWith("@@"))).toEqual([
      "@@ -1,10 +1,10 @@",
      "@@ -22,7 +22,7 @@",
    ]);
  });

  it("unifiedDiff starts the range of an empty text at 0", () => {
    expect(unifiedDiff("", "x\ny\n", names)).toBe(lines("--- a", "+++ b", "@@ -0,0 +1,2 @@", "+x", "+y"));
    expect(unifiedDiff("x\n", "", names)).toBe(lines("--- a", "+++ b", "@@ -1,1 +0,0 @@", "-x"));
  });

  it("colored adds the colors of git diff", () => {
    const text = colored(unifiedDiff("x\n", "y\n", names));
    expect(text).toContain("\x1b[31m-x\x1b[0m");
    expect(text).toContain("\x1b[32m+y\x1b[0m");
    expect(text).toContain("\x1b[1m--- a\x1b[0m");
  });
});

describe("masked Secrets", () => {
  const secret = (rest: object) => ({ apiVersion: "v1", kind: "Secret", metadata: { name: "keys" }, ...rest });

  it("maskedSecret replaces values by hashes that depend on the key of the output", () => {
    const shown = JSON.stringify([
      maskedSecret(secret({ data: { a: "aHVudGVyMg==" }, stringData: { b: "hunter2" } }), "one"),
      maskedSecret(secret({ data: { a: "aHVudGVyMg==" } }), "two"),
    ]);
    expect(shown).not.toMatch(/hunter2|aHVudGVyMg/);
    const digests = [...shown.matchAll(/\*\*\* ([0-9a-f]{12})/g)].map(([, digest]) => digest);
    expect(digests).toHaveLength(3);
    // Equal values have equal hashes with one key, in data and stringData, and different hashes with another key.
    expect(digests[0]).toBe(digests[1]);
    expect(digests[2]).not.toBe(digests[0]);
  });

  it("maskedSecret removes the last-applied-configuration annotation", () => {
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", mine: "kept" };
    const { metadata } = maskedSecret(secret({ metadata: { name: "keys", annotations } }), "one");
    expect(metadata).toEqual({ name: "keys", annotations: { mine: "kept" } });
  });

  it("maskedSecret returns a ConfigMap unchanged", () => {
    const settings = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { a: "b" } };
    expect(maskedSecret(settings, "one")).toBe(settings);
  });
});
