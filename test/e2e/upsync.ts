import { describe, expect, it } from "vitest";
import { useProcessStage } from "./process-stage.ts";
import type { Setting } from "./stage.ts";
import { syncBench } from "./sync-bench.ts";
import { aDeployment, aRoom } from "./tenant-work.ts";
import { beginBirths, nursery, upsyncCases } from "./upsync-cases.ts";
import type { Parts } from "./world.ts";

/** Holds upsync to its promises by the real command: what is born on one cluster reaches the other, and goes with its origin. */
export function upsyncScenario(setting: Setting, startParts: () => Promise<Parts>): void {
  const { kind, testMs, waitMs } = setting;
  describe(`upsync on ${kind} parts`, { timeout: testMs }, () => {
    const stage = useProcessStage(setting, { startParts, flags: ["--resync-period=2s"] });
    const bench = syncBench(() => stage, waitMs);
    upsyncCases(bench);

    it("removes nothing when the origin is taken for dead, whose part then leaves the sum", async () => {
      const { world, tenant, work, births } = await beginBirths(bench);
      await work.apply(...aRoom(nursery));
      const at = { cluster: "us-west", kind: "Deployment", namespace: nursery, name: "owl" } as const;
      await births.bear("us-west", aDeployment(nursery, "owl", { replicas: 2 }));
      await births.untilKnown(at);
      await births.untilReady(nursery, "owl", 4);
      const copy = await work.copy("us-east", "Deployment", nursery, "owl");
      world.parts.clusters["us-west"].freeze();
      await tenant.untilCluster("us-west", "False ClusterUnhealthy");
      await work.untilState(nursery, "owl", "us-west", "Stale ClusterNotReady");
      await births.untilReady(nursery, "owl", 2);
      expect((await work.copy("us-east", "Deployment", nursery, "owl"))?.metadata.uid).toBe(copy?.metadata.uid);
      world.parts.clusters["us-west"].thaw();
      await tenant.untilCluster("us-west", "True ClusterReady");
      await births.untilReady(nursery, "owl", 4);
      await births.end(at);
      await work.untilCleared(nursery);
    });
  });
}
