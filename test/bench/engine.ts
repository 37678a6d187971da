import { setTimeout as delay } from "node:timers/promises";
import { openTenant, type Tenant } from "./engine-client.ts";
import { forEachOf } from "./load.ts";
import {
  type EngineMeasures,
  type EngineWorld,
  engineTable,
  engineWorkspaces,
  isReady,
  measureEngine,
  startControllerProcess,
} from "./measure-engine.ts";
import type { BenchReport, Goal, Row, Table } from "./report.ts";
import type { Settings } from "./settings.ts";
import { percentile } from "./statistics.ts";
import { startWorkerProcess } from "./worker-process.ts";
import type { EngineCounts, EngineServers, EngineServerTask } from "./workers/engine-server-worker.ts";

const clusterNames = ["east", "north", "west"];
const crowdedWorkspace = "root:crowded";
const crowd = { clusters: 100, mostMbOfThousand: 90, mostMbOfTenThousand: 200 } as const;

/** Measures the controller, in a process of its own, against an embedded kcp and three clusters in another, over TLS. */
export async function benchEngine(settings: Settings): Promise<BenchReport> {
  await using servers = startWorkerProcess("engine-server-worker.ts");
  const workspaces = [...Object.values(engineWorkspaces), crowdedWorkspace];
  const { kcp, controllerToken, clusters } = await servers.ask<EngineServers>({
    kind: "start",
    clusters: clusterNames,
    workspaces,
  } satisfies EngineServerTask);
  const counts = () => servers.ask<EngineCounts>({ kind: "counts" } satisfies EngineServerTask);
  const world: EngineWorld = { hub: kcp, controllerToken, clusters, counts };

  const measures = await (async () => {
    await using controller = await startControllerProcess(world);
    return await measureEngine(world, controller, { count: settings.placements, singles: settings.changes });
  })();
  const rest = await measureRest(world, settings);
  const memory = await measureMemory(world, settings, (of, count) =>
    servers.ask({ kind: "copies", of, count } satisfies EngineServerTask),
  );
  return {
    name: "engine",
    tables: [
      engineTable("a controller over an embedded kcp and 3 clusters, each side in its own process", measures),
      restTable(rest),
      memoryTable(memory),
    ],
    goals: [...goalsOf(measures), ...restGoals(rest), ...memoryGoals(memory)],
    notes: [],
  };
}

function goalsOf({ decidedMs, bareMs, counts, idleMs, leftMs }: EngineMeasures): Goal[] {
  const p99 = percentile(idleMs, 0.99);
  const goal = (what: string, aim: string, got: string, met: boolean): Goal => ({ what, goal: aim, got, met });
  return [
    goal(
      "all decided",
      "< 2 s",
      `${(decidedMs / 1000).toFixed(2)} s (${(decidedMs / bareMs).toFixed(2)} × the yardstick)`,
      decidedMs < 2000,
    ),
    goal("requests per placement", "≤ 1.1", (counts?.requests ?? 0).toFixed(3), (counts?.requests ?? 9) <= 1.1),
    goal("writes per placement", "1", (counts?.writes ?? 0).toFixed(3), counts?.writes === 1),
    goal("one change at idle, p99", "< 20 ms", `${p99.toFixed(1)} ms`, p99 < 20),
    goal("a cluster leaves, all decided again", "≤ 3.5 s", `${(leftMs / 1000).toFixed(2)} s`, leftMs <= 3500),
  ];
}

type Rest = Readonly<{
  seconds: number;
  probeSeconds: number;
  restartMs: number;
  restartWrites: number;
  hubRequests: number;
  byMethod: Readonly<Record<string, number>>;
  clusterRequests: number;
  placementWrites: number;
  cpuMs: number;
}>;

/** A new controller over what the last one has settled: what it does to start with, and what it asks when nothing happens. */
async function measureRest(world: EngineWorld, { restSeconds }: Settings): Promise<Rest> {
  const probeSeconds = 5;
  await using controller = await startControllerProcess(world);
  const first = await world.counts?.();
  const began = performance.now();
  await controller.start([engineWorkspaces.worked], clusterNames, {
    heartbeatSeconds: probeSeconds,
    resyncSeconds: probeSeconds,
  });
  await controller.settled();
  const restartMs = performance.now() - began;
  // The first probes, and what they find, are not yet rest.
  await delay(2 * probeSeconds * 1000);
  const [before, usage] = [await world.counts?.(), await controller.usage()];
  await delay(restSeconds * 1000);
  const [after, later] = [await world.counts?.(), await controller.usage()];
  if (first === undefined || before === undefined || after === undefined) throw new Error("the servers do not count");
  const methods = Object.entries(after.byMethod).map(([method, count]): [string, number] => [
    method,
    count - (before.byMethod[method] ?? 0),
  ]);
  return {
    seconds: restSeconds,
    probeSeconds,
    restartMs,
    restartWrites: before.placementWrites - first.placementWrites,
    hubRequests: after.hubRequests - before.hubRequests,
    byMethod: Object.fromEntries(methods.filter(([, count]) => count > 0)),
    clusterRequests: after.clusterRequests - before.clusterRequests,
    placementWrites: after.placementWrites - before.placementWrites,
    cpuMs: later.cpuMs - usage.cpuMs,
  };
}

function restTable(rest: Rest): Table {
  const perMinute = (count: number): number => (count * 60) / rest.seconds;
  const row = (what: string, value: number, unit: string): Row => ({ what, value, unit });
  const methods = Object.entries(rest.byMethod).map(([method, count]) => `${method} ${count}`);
  return {
    title: `the same placements and clusters at rest, ${rest.seconds} s with probes and resync every ${rest.probeSeconds} s`,
    columns: [
      { key: "what", label: "what" },
      { key: "value", label: "got", digits: 2 },
      { key: "unit", label: "" },
    ],
    rows: [
      row("a new controller, until it has nothing to do", rest.restartMs, "ms"),
      row("writes of placements by its start", rest.restartWrites, ""),
      row("requests to the clusters (probes)", perMinute(rest.clusterRequests), "per minute"),
      row(`requests to kcp (${methods.join(", ") || "none"})`, perMinute(rest.hubRequests), "per minute"),
      row("writes of placements", perMinute(rest.placementWrites), "per minute"),
      row("controller CPU", perMinute(rest.cpuMs), "ms per minute"),
    ],
  };
}

function restGoals({ hubRequests, byMethod, placementWrites, restartWrites, seconds }: Rest): Goal[] {
  // `lastHeartbeat` of each cluster is written once a minute: that is a probe's doing.
  const heartbeats = clusterNames.length * Math.ceil(seconds / 60);
  const isQuiet = hubRequests === (byMethod.PATCH ?? 0) && hubRequests <= heartbeats && placementWrites === 0;
  return [
    {
      what: "requests to kcp at rest",
      goal: "lastHeartbeat only",
      got: `${hubRequests} in ${seconds} s`,
      met: isQuiet,
    },
    { what: "writes of placements by a restart", goal: "0", got: `${restartWrites}`, met: restartWrites === 0 },
  ];
}

type Memory = Readonly<{
  what: string;
  placements: number;
  rssMb: number;
  peakRssMb: number;
  heapMb: number;
  externalMb: number;
  liveHeapMb: number;
  liveRssMb: number;
  cpuMs: number;
  doneMs: number;
}>;

/** How much the controller's own process takes: with clusters alone, after a burst, and started over thousands. */
async function measureMemory(
  world: EngineWorld,
  { crowdSizes: [burst, most] }: Settings,
  addCopies: (of: string, count: number) => Promise<void>,
): Promise<readonly Memory[]> {
  const names = Array.from({ length: crowd.clusters }, (_, index) => `cluster-${index}`);
  const measured: Memory[] = [];
  const measure = async (what: string, placements: number, act: (tenant: Tenant) => Promise<void>) => {
    await using controller = await startControllerProcess(world);
    const began = performance.now();
    await controller.start([crowdedWorkspace], names);
    {
      await using tenant = await openTenant(world.hub, crowdedWorkspace);
      await act(tenant);
    }
    await controller.settled();
    const doneMs = performance.now() - began;
    const { rssMb, heapMb, externalMb, peakRssMb, cpuMs } = await controller.usage();
    const live = await controller.liveUsage();
    const liveMb = { liveHeapMb: live.heapMb, liveRssMb: live.rssMb };
    measured.push({ what, placements, rssMb, peakRssMb, heapMb, externalMb, ...liveMb, cpuMs, doneMs });
  };
  await measure("clusters alone", 0, async (tenant) => {
    await forEachOf(names.length, 16, (index) => tenant.register(names[index] ?? ""));
    await tenant.untilSeen(names.length, isReady);
  });
  await measure("created at once", burst, async (tenant) => {
    await forEachOf(burst, 16, (index) => tenant.create(`crowd-${index}`));
    await tenant.untilSeen(names.length + burst, isReady);
  });
  await measure("there at the start", burst, async () => {});
  await addCopies("crowd-0", most - burst);
  await measure("there at the start", most, async () => {});
  return measured;
}

function memoryTable(memory: readonly Memory[]): Table {
  return {
    title: `the controller's own process, with ${crowd.clusters} clusters, from a bundle`,
    columns: [
      { key: "what", label: "placements" },
      { key: "placements", label: "" },
      { key: "rssMb", label: "RSS MB" },
      { key: "peakRssMb", label: "peak RSS MB" },
      { key: "heapMb", label: "heap MB" },
      { key: "externalMb", label: "external MB" },
      { key: "liveHeapMb", label: "heap MB after GC" },
      { key: "liveRssMb", label: "RSS MB after GC" },
      { key: "cpuMs", label: "CPU ms" },
      { key: "doneMs", label: "start→settled ms" },
    ],
    rows: memory.map((each) => ({ ...each })),
  };
}

function memoryGoals(memory: readonly Memory[]): Goal[] {
  return memory
    .filter(({ placements }) => placements > 0)
    .map(({ what, placements, rssMb }) => {
      const most = placements > 1000 ? crowd.mostMbOfTenThousand : crowd.mostMbOfThousand;
      return {
        what: `memory: ${crowd.clusters} clusters, ${placements} placements ${what}`,
        goal: `< ${most} MB`,
        got: `${rssMb.toFixed(0)} MB`,
        met: rssMb < most,
      };
    });
}
