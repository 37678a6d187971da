import { expect, test } from "vitest";
import { fixedSeedsInCi, lastSeedOfNpmTest, runFixedSeeds } from "./fixed-seeds.ts";
import { hangTimeoutMs } from "./servers.ts";

test(`seeds ${lastSeedOfNpmTest + 1} to ${fixedSeedsInCi} with faults violate no law`, {
  timeout: hangTimeoutMs,
}, async () => {
  const { failures, digests } = await runFixedSeeds({ first: lastSeedOfNpmTest + 1, last: fixedSeedsInCi });
  expect(failures).toBe("");
  expect(digests.size).toBe(fixedSeedsInCi - lastSeedOfNpmTest);
});
