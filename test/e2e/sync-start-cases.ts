import { expect, it } from "vitest";
import type { FaultEffect, Faults } from "../../lib/embedded/faults.ts";
import { eventually } from "../support/eventually.ts";
import type { MoreCases } from "./sync.ts";
import { aDeployment, aRoom, tenantWork } from "./tenant-work.ts";
import { clusterNames } from "./world.ts";

const effects: Readonly<Record<string, FaultEffect>> = {
  "fails every list": { kind: "status", code: 500 },
  "answers every list as it was before anything was stored": { kind: "stale-read", revisionsBack: 1_000_000 },
};

/** What a controller must not do when it starts against a kcp that is not itself; `faults` are that kcp's. */
export function syncStartCases({ stage, start, waitMs }: MoreCases, faults: () => Faults): void {
  it.each(Object.entries(effects))("deletes nothing when it starts while kcp %s", async (_, effect) => {
    const { world, form } = stage();
    const work = tenantWork(world, waitMs);
    const names = ["hook", "line", "sinker"];
    await form.running();
    await work.apply(...aRoom("lake"), ...names.map((name) => aDeployment("lake", name)));
    for (const name of names) await work.untilRuns("lake", name, { "us-east": 1, "us-west": 1 });
    const uids = async (): Promise<readonly (string | undefined)[]> =>
      Promise.all(
        clusterNames.flatMap((cluster) =>
          names.map(async (name) => (await work.copy(cluster, "Deployment", "lake", name))?.metadata.uid),
        ),
      );
    const before = await uids();

    await form.kill();
    const lists = faults().inject({ match: { verb: "list" }, effect });
    faults().cutWatches();
    await start();
    // Everything was asked for, and asked for again.
    await eventually(async () => (lists.hits > 25 ? undefined : `kcp was asked for ${lists.hits} lists`), waitMs);
    expect(await uids()).toEqual(before);
    lists.remove();
    await form.running();
    await work.merge("Deployment", "lake", "hook", { spec: { replicas: 2 } });
    await work.untilRuns("lake", "hook", { "us-east": 2, "us-west": 2 });
    expect(await uids()).toEqual(before);
    for (const name of names) await work.remove("Deployment", "lake", name);
    await work.untilCleared("lake");
    await work.remove("WorkloadPlacement", undefined, "lake");
  });
}
