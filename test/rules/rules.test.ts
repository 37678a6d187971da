import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { incidentTests } from "./incident-rules.ts";
import { fullNameOf } from "./rule.ts";
import { rules } from "./rules.ts";
import { occurrences } from "./take-out.ts";

// Whether the tests turn red takes minutes, and `npm run rules` sees to it. That the table is still about the sources as they
// are takes none.

const texts = new Map<string, string>();
function textOf(file: string): string {
  const known = texts.get(file) ?? readFileSync(join(import.meta.dirname, "../..", file), "utf8");
  texts.set(file, known);
  return known;
}

describe("the table of rules", () => {
  test.each(rules.map((rule) => [rule.rule, rule] as const))(
    "knows where to find: %s",
    (_, { removals, test: named }) => {
      for (const { file, text, without } of removals) {
        expect(occurrences(textOf(file), text), `${file}: ${text}`).toBe(1);
        expect(without).not.toBe(text);
      }
      const spelled = textOf(named.file);
      for (const title of named.titles.filter((each) => each !== "%s")) expect(spelled).toContain(`"${title}"`);
      // A row is a text of its own, or the name of a field.
      for (const row of named.rows ?? [])
        expect(
          [`"${row}"`, `${row}:`].some((each) => spelled.includes(each)),
          row,
        ).toBe(true);
      expect(fullNameOf(named)).not.toContain("%s");
    },
  );

  test("names each rule once", () => {
    const words = rules.map(({ rule }) => rule);
    expect(new Set(words).size).toBe(words.length);
  });

  test("has a rule for every incident test", () => {
    const titles = [...textOf(incidentTests).matchAll(/\btest(?:\.each\(.*\))?\(\s*"([^"]+)"/g)].map(
      ([, title]) => title,
    );
    const named = new Set(
      rules.filter(({ test: { file } }) => file === incidentTests).map(({ test: { titles: all } }) => all.at(-1)),
    );
    expect(titles.length).toBeGreaterThan(15);
    expect(titles.filter((title) => !named.has(title))).toEqual([]);
  });
});
