import { expect, it } from "vitest";
import type { FaultEffect, Faults } from "../../lib/embedded/faults.ts";
import { eventually } from "../support/eventually.ts";
import type { SyncBench } from "./sync-bench.ts";
import { aDeployment, aRoom, clear, uidsIn } from "./tenant-work.ts";

/** Ways in which a kcp that answers is not itself. */
export const lyingLists: Readonly<Record<string, FaultEffect>> = {
  "fails every list": { kind: "status", code: 500 },
  "answers every list as it was before anything was stored": { kind: "stale-read", revisionsBack: 1_000_000 },
};

/** What a controller must not do when it starts against a kcp that is not itself; `faults` are that kcp's. */
export function syncStartCases({ begin, waitMs }: SyncBench, faults: () => Faults): void {
  it.each(Object.entries(lyingLists))("deletes nothing when it starts while kcp %s", async (_, effect) => {
    const { world, form, work } = await begin();
    const names = ["hook", "line", "sinker"];
    await work.apply(...aRoom("lake"), ...names.map((name) => aDeployment("lake", name)));
    for (const name of names) await work.untilRuns("lake", name, { "us-east": 1, "us-west": 1 });
    const uids = () => uidsIn(world, work.namespaceOn("lake"));
    const before = await uids();
    expect(before).toHaveLength(6);

    await form.kill();
    const lists = faults().inject({ match: { verb: "list" }, effect });
    faults().cutWatches();
    await form.start();
    // Everything was asked for, and asked for again.
    await eventually(async () => (lists.hits > 25 ? undefined : `kcp was asked for ${lists.hits} lists`), waitMs);
    expect(await uids()).toEqual(before);
    lists.remove();
    await form.running();
    await work.merge("Deployment", "lake", "hook", { spec: { replicas: 2 } });
    await work.untilRuns("lake", "hook", { "us-east": 2, "us-west": 2 });
    expect(await uids()).toEqual(before);
    await clear(work, "lake", names);
  });
}
