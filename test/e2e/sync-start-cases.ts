import type { FaultEffect, Faults } from "@tmc/embedded/server/faults.ts";
import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { SyncBench } from "./sync-environment.ts";
import { aDeployment, aRoom, clear, uidsIn } from "./tenant-work.ts";

type Lie = Readonly<{
  effect: FaultEffect;
  /** The minimum number of lists of a controller that has started to reconcile everything. */
  lists: number;
}>;

/** Ways in which a kcp that answers is not itself. */
export const lyingLists: Readonly<Record<string, Lie>> = {
  // All types are asked for, and asked for again.
  "fails every list": { effect: { kind: "status", code: 500 }, lists: 25 },
  // Who has been answered does not ask again.
  "answers every list as it was before anything was stored": {
    effect: { kind: "stale-read", revisionsBack: 1_000_000 },
    lists: 15,
  },
};

/** What a controller must not do when it starts against a kcp that is not itself; `faults` are that kcp's. */
export function syncStartCases({ begin, waitMs }: SyncBench, faults: () => Faults): void {
  it.each(Object.entries(lyingLists))(
    "deletes nothing when it starts while kcp %s",
    async (_, { effect, lists: least }) => {
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
      await eventually(async () => (lists.hits > least ? undefined : `kcp was asked for ${lists.hits} lists`), waitMs);
      expect(await uids()).toEqual(before);
      lists.remove();
      await form.running();
      await work.merge("Deployment", "lake", "hook", { spec: { replicas: 2 } });
      await work.untilRuns("lake", "hook", { "us-east": 2, "us-west": 2 });
      expect(await uids()).toEqual(before);
      await clear(work, "lake", names);
    },
  );
}
