import { describe, expect, test } from "vitest";
import { greenSeeds, lastSeedOfNpmTest, runFixedSeeds } from "./fixed-seeds.ts";
import { runSeeds } from "./jobs.ts";
import { hangTimeoutMs, startServers } from "./servers.ts";
import { type Result, simulate } from "./simulate.ts";

/** Digest of everything that happened in the run of a seed. */
let digests = new Map<number, string>();

test(`seeds 1 to ${lastSeedOfNpmTest} with faults violate no law`, { timeout: hangTimeoutMs }, async () => {
  const range = { first: 1, last: lastSeedOfNpmTest };
  const run = await runFixedSeeds(range);
  digests = new Map(run.digests);
  expect(run.failures).toBe("");
  expect(digests.size).toBe(greenSeeds(range).length);
});

describe("a seed", () => {
  test("a seed results in the same run, whatever ran before it", { timeout: hangTimeoutMs }, async () => {
    // Two of the seeds, one of them with functions, which ran after other seeds and in another process; here one of them runs first.
    const picked = [9, 8];
    if (digests.size === 0) {
      const onResult = ({ seed, digest }: Result): void => void digests.set(seed, digest);
      await runSeeds({ seeds: picked.toReversed(), jobs: 1, onResult });
    }
    const servers = await startServers();
    const again: string[] = [];
    for (const seed of picked) again.push((await simulate(seed, { servers })).digest);
    expect(again).toEqual(picked.map((seed) => digests.get(seed)));
    expect(new Set(digests.values()).size).toBe(digests.size);
  });
});
