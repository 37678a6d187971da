import { describe, expect, test } from "vitest";
import { runSeeds } from "./jobs.ts";
import { formatFailure } from "./report.ts";
import { startServers } from "./servers.ts";
import { type Result, simulate } from "./simulate.ts";

/** The rest of the 5,000 is for `npm run simulate`. */
const seeds = 100;

test(`${seeds} seeds of faults leave every law whole`, { timeout: 400_000 }, async () => {
  const failures: string[] = [];
  let done = 0;
  await runSeeds({
    seeds: Array.from({ length: seeds }, (_, index) => index + 1),
    jobs: 2,
    onResult: (result: Result) => {
      done += 1;
      if (result.violations.length > 0) failures.push(formatFailure(result));
    },
  });
  expect(failures.join("\n\n")).toBe("");
  expect(done).toBe(seeds);
});

describe("a seed", () => {
  test("is the same run, whatever ran before it", { timeout: 60_000 }, async () => {
    const servers = await startServers();
    const forwards: string[] = [];
    for (const seed of [7, 8]) forwards.push((await simulate(seed, { servers })).digest);
    const backwards: string[] = [];
    for (const seed of [8, 7]) backwards.push((await simulate(seed, { servers })).digest);
    expect(backwards.toReversed()).toEqual(forwards);
    const { digest } = await simulate(8, { servers: await startServers() });
    expect(digest).toBe(forwards[1]);
    expect(new Set(forwards).size).toBe(forwards.length);
  });
});
