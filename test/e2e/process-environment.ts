import { afterAll, afterEach, beforeAll } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { ControllerForm } from "./controller-form.ts";
import { type ControllerProcess, startController } from "./controller-process.ts";
import {
  clusterNames,
  type E2eContext,
  type Environment,
  furnish,
  type Parts,
  type SuiteSettings,
  tenantWorkspace,
} from "./environment.ts";
import { type Tenant, tenantOf } from "./tenant.ts";

/** The real command, between a kcp and clusters of its own. */
export interface ProcessEnvironment extends E2eContext {
  /** Starts a controller by the documented line, with the flags that a case changes behind it. */
  start(...more: readonly string[]): Promise<ControllerProcess>;
  /** Starts one by another line. */
  startBy(flags: readonly string[]): Promise<ControllerProcess>;
  /** The controller that runs through the cases; a new one where a case has ended it. */
  running(): Promise<ControllerProcess>;
}

/** Sets the stage before the first case of a suite and clears it after the last; what a case finds there is then in place. */
export function useProcessEnvironment(
  { waitMs, startMs }: SuiteSettings,
  { startParts, flags }: Readonly<{ startParts: () => Promise<Parts>; flags: readonly string[] }>,
): ProcessEnvironment {
  let world: Environment;
  let tenant: Tenant;
  let main: ControllerProcess | undefined;
  const started: ControllerProcess[] = [];

  const startBy = async (line: readonly string[]): Promise<ControllerProcess> => {
    const controller = await startController(world.folder, line);
    started.push(controller);
    return controller;
  };
  const start = (...more: readonly string[]): Promise<ControllerProcess> => {
    const clusters = clusterNames.map((name) => `${name}=${world.clusterKubeconfigs[name]}`).join(",");
    return startBy([
      "--hub-id=kcp",
      `--kcp-kubeconfig=${world.kcpKubeconfig}`,
      `--workspace=${tenantWorkspace}`,
      `--cluster-kubeconfigs=${clusters}`,
      "--worker-count=5",
      "--heartbeat-interval=1s",
      ...flags,
      ...more,
    ]);
  };
  const ensureStarted = async (): Promise<ControllerProcess> => {
    if (main === undefined || main.ended() !== undefined) main = await start();
    return main;
  };
  const running = async (): Promise<ControllerProcess> => {
    const controller = await ensureStarted();
    await controller.untilReady(waitMs);
    return controller;
  };
  const form: ControllerForm = {
    running: async () => void (await running()),
    start: async () => void (await ensureStarted()),
    kill: async () => main?.kill(),
    isReady: async () => (await main?.ask("/readyz"))?.status === 200,
    unevenBy: 0,
    resynced: async (workloads) => {
      const informerVerbs = async (): Promise<number> =>
        (await main?.metric("tmc_reconcile_total", { kind: "Workload" })) ?? 0;
      const before = await informerVerbs();
      // Every period brings each of them once; what was already under way may bring one more.
      await eventually(async () => {
        const more = (await informerVerbs()) - before;
        return more > 2 * workloads ? undefined : `${more} reconciles of ${workloads} workloads`;
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

  return {
    get world() {
      return world;
    },
    get tenant() {
      return tenant;
    },
    form,
    start,
    startBy,
    running,
  };
}
