import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { Rule } from "./rule.ts";
import { findRedSeeds, tryMutant } from "./try-mutant.ts";
import type { Workshop } from "./workshop.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A workshop with nothing but the process that runs seeds. */
function aWorkshop(worker: string): Workshop {
  const folder = mkdtempSync(join(tmpdir(), "tmc-mutant-"));
  folders.push(folder);
  mkdirSync(join(folder, "test/simulation"), { recursive: true });
  writeFileSync(join(folder, "package.json"), `{"type":"module"}`);
  writeFileSync(join(folder, "test/simulation/worker.ts"), worker);
  return { folder, without: (_, work) => work(), remove: () => {} };
}

/** Answers each seed; those from `red` on violate law 3. */
const answering = (red: number): string => `
process.on("message", ({ seed }: { seed: number }) => {
  const violations = seed >= ${red} ? [{ law: 3, atMs: 0, message: "a copy is gone" }] : [];
  process.send?.({ result: { seed, violations } });
});`;

const rule: Rule = {
  rule: "copies stay",
  incident: "a list was incomplete",
  removals: [],
  test: { file: "a.test.ts", titles: ["copies stay"] },
};
const options = { seeds: [5, 6, 7, 8], jobs: 1, features: [], signal: new AbortController().signal };

describe("a rule that is taken out", () => {
  test("is noticed by the first seed that violates a law, and no further seed runs", async () => {
    const { outcome } = await tryMutant(aWorkshop(answering(6)), rule, options);
    expect(outcome).toEqual({ kind: "noticed", seeds: 2, seed: 6, law: 3, message: "a copy is gone" });
  });

  test("is not noticed if no seed violates a law", async () => {
    const { outcome } = await tryMutant(aWorkshop(answering(100)), rule, { ...options, jobs: 2 });
    expect(outcome).toEqual({ kind: "not noticed", seeds: 4 });
  });

  test.each([
    ["the source has a syntax error", "if (", "SyntaxError"],
    ["an import is missing", `import "./removed.ts";`, "Cannot find module"],
    ["a process ends while it runs a seed", `process.on("message", () => process.exit(3));`, "ended with 3"],
    [
      "a seed cannot be run",
      `process.on("message", () => process.send?.({ seed: 5, error: "TypeError: a is undefined" }));`,
      "TypeError: a is undefined",
    ],
  ])("is unclear if %s", async (_, worker, why) => {
    const { outcome } = await tryMutant(aWorkshop(worker), rule, { ...options, jobs: 2 });
    expect(outcome).toMatchObject({ kind: "unclear", why: expect.stringContaining(why) });
  });

  test("is not tried if no run can see it", async () => {
    const hidden: Rule = { ...rule, simulation: "not visible: a run has no functions" };
    const { outcome } = await tryMutant(aWorkshop("if ("), hidden, options);
    expect(outcome).toEqual({ kind: "not visible", why: "a run has no functions" });
  });

  test("is not judged after an interruption", async () => {
    const signal = AbortSignal.abort(new Error("interrupted"));
    await expect(tryMutant(aWorkshop(answering(6)), rule, { ...options, signal })).rejects.toThrow("interrupted");
  });
});

test("seeds that violate a law with every rule in its place are found", async () => {
  const seen: number[] = [];
  const red = await findRedSeeds(aWorkshop(answering(7)), { ...options, onSeed: (done) => seen.push(done) });
  expect(red).toEqual([7, 8]);
  expect(seen).toEqual([1, 2, 3, 4]);
});
