// A controller in a process of its own, as `tmc controller` runs it.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { KubeClient } from "@tmc/kube/client.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { type Controller, createController } from "../../../lib/controller/controller.ts";
import { keepMemoryLean } from "../../../lib/controller/lean-memory.ts";
import type { ControllerSettings } from "../../../lib/engine/settings.ts";
import type { Target } from "../clients/bench-client.ts";
import { createFakeTenant, type FakeTenant, type FakeTenantOptions } from "../fake-tenant.ts";
import { serveTasks } from "../serve-tasks.ts";

export type ControllerTask =
  | Readonly<{
      kind: "start";
      hub: Target;
      workspaces: readonly string[];
      /** Paths of kubeconfigs by the name of the registration. */
      kubeconfigs: Readonly<Record<string, string>>;
      settings?: Partial<ControllerSettings>;
      /** One more tenant, which no server has. */
      paper?: FakeTenantOptions | undefined;
    }>
  /** Has the tenant on paper make noise; answers when all of it is told. */
  | Readonly<{ kind: "noise"; events: number; perSecond: number }>
  /** Answers once nothing is left to do. */
  | Readonly<{ kind: "done" }>
  | Readonly<{ kind: "usage" }>
  /** The same after a full garbage collection: what is really needed. */
  | Readonly<{ kind: "live usage" }>
  | Readonly<{ kind: "stop" }>;

/** What the process has taken so far. */
export type ControllerUsage = Readonly<{
  cpuMs: number;
  rssMb: number;
  heapMb: number;
  externalMb: number;
  peakRssMb: number;
}>;

function usage(): ControllerUsage {
  const { rss, heapUsed, external } = process.memoryUsage();
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  return {
    cpuMs: (userCPUTime + systemCPUTime) / 1000,
    rssMb: rss / 1e6,
    heapMb: heapUsed / 1e6,
    externalMb: external / 1e6,
    peakRssMb: maxRSS / 1e3,
  };
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
}

let paper: FakeTenant | undefined;
let running: Readonly<{ controller: Controller; client: KubeClient }> | undefined;

async function perform(task: ControllerTask): Promise<ControllerUsage | undefined> {
  switch (task.kind) {
    case "start": {
      const { server, ca, token } = task.hub;
      const endpoint = { server, ca, token: async () => token };
      paper = task.paper && createFakeTenant(task.paper);
      const real = createUndiciTransport(endpoint);
      const client = createKubeClient({ endpoint, transport: paper?.transport(real) ?? real });
      const controller = createController({
        client,
        hubId: "kcp",
        workspaces: [...task.workspaces, ...(task.paper === undefined ? [] : [task.paper.name])],
        clusterKubeconfigs: new Map(Object.entries(task.kubeconfigs)),
        settings: task.settings,
      });
      running = { controller, client };
      await controller.start();
      return undefined;
    }
    case "noise":
      await paper?.makeNoise(task);
      return undefined;
    case "done":
      await running?.controller.whenSettled();
      return undefined;
    case "usage":
      return usage();
    case "live usage":
      collectGarbage();
      return usage();
    case "stop":
      await running?.controller.stop();
      await running?.client.close();
      running = undefined;
      return undefined;
  }
}

keepMemoryLean();
serveTasks(perform);
