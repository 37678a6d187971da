import { startCluster } from "../real/cluster.ts";
import { startKcp } from "../real/kcp.ts";
import { findBinaries } from "./find-binaries.ts";
import {
  type EngineMeasures,
  engineTable,
  engineWorkspaces,
  measureEngine,
  startControllerProcess,
} from "./measure-engine.ts";
import { prepareKcp, startTogether } from "./real-servers.ts";
import type { BenchReport, Goal } from "./report.ts";
import type { Settings } from "./settings.ts";
import { percentile } from "./statistics.ts";

const clusterNames = ["east", "north", "west"];
const mostTimes = 1.15;
const mostIdleMs = 40;
const mostLeavingMs = 3_500;

/** Measures the controller against a real kcp and three real clusters, where they have been built. */
export async function benchEngineReal({ placements, changes }: Settings): Promise<BenchReport> {
  const found = await findBinaries();
  if ("missing" in found) return { name: "engine-real", tables: [], goals: [], notes: [`skipped: ${found.missing}`] };
  const { binaries } = found;
  await using servers = new AsyncDisposableStack();
  const [kcp, ...clusters] = await startTogether(servers, [
    startKcp({ binaries }),
    ...clusterNames.map((name) => startCluster({ name, binaries, workloads: false, nodes: 1 })),
  ]);
  if (kcp === undefined) throw new Error("kcp did not start");
  await prepareKcp(kcp, Object.values(engineWorkspaces));
  const world = { hub: kcp, clusters: clusters.map((target, at) => ({ ...target, name: clusterNames[at] ?? "" })) };
  await using controller = await startControllerProcess(world);
  const measures = await measureEngine(world, controller, { count: placements, singles: changes });
  return {
    name: "engine-real",
    tables: [engineTable("a controller over a real kcp and 3 real clusters", measures)],
    goals: goalsOf(measures),
    notes: [],
  };
}

function goalsOf({ count, decidedMs, bareMs, idleMs, leftMs, bareStatusMs }: EngineMeasures): Goal[] {
  const times = decidedMs / bareMs;
  const p99 = percentile(idleMs, 0.99);
  return [
    {
      what: `${count} created at once, all decided, to the bare writes`,
      goal: `≤ ${mostTimes} ×`,
      got: `${times.toFixed(2)} × (${(decidedMs / 1000).toFixed(2)} s to ${(bareMs / 1000).toFixed(2)} s)`,
      met: times <= mostTimes,
    },
    {
      what: "one change at idle, p99",
      goal: `≤ ${mostIdleMs} ms`,
      got: `${p99.toFixed(1)} ms`,
      met: p99 <= mostIdleMs,
    },
    {
      what: `a cluster leaves ${count} placements, all decided again`,
      goal: `≤ ${mostLeavingMs / 1000} s`,
      got: `${(leftMs / 1000).toFixed(2)} s (${(leftMs / bareStatusMs).toFixed(2)} × as many bare status writes)`,
      met: leftMs <= mostLeavingMs,
    },
  ];
}
