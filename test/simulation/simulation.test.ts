import { describe, expect, test } from "vitest";
import { apiBinding } from "../../lib/api/api-export.ts";
import { bindingName, exportWorkspace } from "../../lib/api/group.ts";
import { apiBindings } from "../../lib/upstream/kcp-types.ts";
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
  test("a tenant that binds the export again causes the same writes in the first run and in later ones", async () => {
    const { kcp, clock, users } = await startServers();
    const [user] = users;
    const pass = async (): Promise<void> => {
      await clock.runUntil(clock.now() + 10_000);
    };
    let writes: string[] = [];
    kcp.store.subscribe(({ type, key }) => void writes.push(`${type} ${Object.values(key).join("/")}`));
    const runs: (readonly string[])[] = [];
    for (let run = 0; run < 2; run++) {
      writes = [];
      await user?.delete({ type: apiBindings, name: bindingName });
      await pass();
      await user?.create({ type: apiBindings }, apiBinding({ path: exportWorkspace }));
      await pass();
      runs.push(writes);
    }
    expect(runs[0]).not.toEqual([]);
    expect(runs[0]).toEqual(runs[1]);
  });
});
