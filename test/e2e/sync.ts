import { afterAll, afterEach, beforeAll, describe } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type ControllerProcess, startController } from "./controller-process.ts";
import type { Setting } from "./engine.ts";
import { type SyncForm, type SyncStage, syncCases } from "./sync-cases.ts";
import { type Tenant, tenantOf } from "./tenant.ts";
import { clusterNames, furnish, type Parts, tenantWorkspace, type World } from "./world.ts";

/** What cases need that are not for every world; the controller is started without waiting for it. */
export type MoreCases = Readonly<{ stage: () => SyncStage; start: () => Promise<void>; waitMs: number }>;

/** Holds sync to its promises: the real command between a kcp and clusters that run what they are given. */
export function syncScenario(
  { kind, testMs, waitMs, startMs }: Setting,
  startParts: () => Promise<Parts>,
  more: (context: MoreCases) => void = () => {},
): void {
  describe(`sync on ${kind} parts`, { timeout: testMs }, () => {
    let world: World;
    let tenant: Tenant;
    let controller: ControllerProcess | undefined;
    const started: ControllerProcess[] = [];

    const start = async (): Promise<ControllerProcess> => {
      const clusters = clusterNames.map((name) => `${name}=${world.clusterKubeconfigs[name]}`).join(",");
      const made = await startController(world.folder, [
        `--kcp-kubeconfig=${world.kcpKubeconfig}`,
        `--workspace=${tenantWorkspace}`,
        `--cluster-kubeconfigs=${clusters}`,
        "--resync-period=2s",
        "--worker-count=5",
        "--heartbeat-interval=1s",
      ]);
      started.push(made);
      return made;
    };
    const form: SyncForm = {
      running: async () => {
        if (controller === undefined || controller.ended() !== undefined) controller = await start();
        await controller.untilReady(waitMs);
      },
      kill: async () => controller?.kill(),
      isReady: async () => (await controller?.ask("/readyz"))?.status === 200,
      unevenBy: 0,
      resynced: async (workloads) => {
        const looks = async (): Promise<number> =>
          (await controller?.metric("tmc_reconcile_total", { kind: "Workload" })) ?? 0;
        const before = await looks();
        // Every period brings each of them once; what was already under way may bring one more.
        await eventually(async () => {
          const more = (await looks()) - before;
          return more > 2 * workloads ? undefined : `${more} looks at ${workloads} workloads`;
        }, waitMs);
      },
    };

    beforeAll(async () => {
      world = await furnish(await startParts());
      tenant = tenantOf(world.tenant, waitMs);
    }, startMs);
    afterAll(async () => {
      await Promise.all(started.map((each) => each.kill()));
      await world?.stop();
    }, startMs);
    afterEach(async ({ task }) => {
      if (task.result?.state !== "fail") return;
      for (const each of started.filter((one) => one.ended() === undefined)) {
        process.stderr.write(`${(await each.output()).split("\n").slice(-25).join("\n")}\n`);
      }
    });

    const stage = (): SyncStage => ({ world, tenant, form });
    syncCases(stage, waitMs);
    more({
      stage,
      start: async () => {
        controller = await start();
      },
      waitMs,
    });
  });
}
