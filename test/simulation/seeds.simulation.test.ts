import { expect, test } from "vitest";
import { fixedSeedsInCi, greenSeeds, lastSeedOfNpmTest, runFixedSeeds } from "./fixed-seeds.ts";
import { hangTimeoutMs } from "./servers.ts";

test(`seeds ${lastSeedOfNpmTest + 1} to ${fixedSeedsInCi} with faults violate no law`, {
  timeout: hangTimeoutMs,
}, async () => {
  const range = { first: lastSeedOfNpmTest + 1, last: fixedSeedsInCi };
  const { failures, digests } = await runFixedSeeds(range);
  expect(failures).toBe("");
  expect(digests.size).toBe(greenSeeds(range).length);
});
