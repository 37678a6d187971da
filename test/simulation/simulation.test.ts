import { describe, expect, test } from "vitest";
import { runSeeds } from "./jobs.ts";
import { formatFailure } from "./report.ts";
import { hangTimeoutMs, startServers } from "./servers.ts";
import { type Result, simulate } from "./simulate.ts";

/** Enough for a check within minutes; `npm run simulate` runs thousands of fresh ones. */
const seeds = 60;

/** Digest of everything that happened in the run of a seed. */
const digests = new Map<number, string>();
const noteDigest = ({ seed, digest }: Result): void => {
  digests.set(seed, digest);
};

test(`${seeds} seeds with faults violate no law`, { timeout: hangTimeoutMs }, async () => {
  const failures: string[] = [];
  await runSeeds({
    seeds: Array.from({ length: seeds }, (_, index) => index + 1),
    jobs: 2,
    onResult: (result: Result) => {
      noteDigest(result);
      if (result.violations.length > 0) failures.push(formatFailure(result));
    },
  });
  expect(failures.join("\n\n")).toBe("");
  expect(digests.size).toBe(seeds);
});

describe("a seed", () => {
  test("a seed results in the same run, whatever ran before it", { timeout: hangTimeoutMs }, async () => {
    // Two of the seeds, which ran after other seeds and in another process; here one of them runs first.
    const picked = [8, 7];
    if (digests.size === 0) await runSeeds({ seeds: picked.toReversed(), jobs: 1, onResult: noteDigest });
    const servers = await startServers();
    const again: string[] = [];
    for (const seed of picked) again.push((await simulate(seed, { servers })).digest);
    expect(again).toEqual(picked.map((seed) => digests.get(seed)));
    expect(new Set(digests.values()).size).toBe(digests.size);
  });
});
