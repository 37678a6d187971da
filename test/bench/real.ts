import { startCluster } from "../real/cluster.ts";
import { findBinaries } from "./find-binaries.ts";
import { type CallRatio, measureCalls } from "./measure-calls.ts";
import { measureWatch } from "./measure-watch.ts";
import type { BenchReport, Goal } from "./report.ts";
import type { Settings } from "./settings.ts";
import { geometricMean } from "./statistics.ts";

const leastRatio = 5;

/** Times the clients against a real kube-apiserver with its etcd, where one has been built. */
export async function benchReal(settings: Settings): Promise<BenchReport> {
  const found = await findBinaries();
  if ("missing" in found) return { name: "real", tables: [], goals: [], notes: [`skipped: ${found.missing}`] };

  const cluster = await startCluster({
    name: "bench",
    workloads: false,
    nodes: 1,
    binaries: found.binaries,
  });
  try {
    const target = { server: cluster.url, ca: cluster.ca, token: cluster.adminToken };
    const calls = await measureCalls(
      "calls against a real kube-apiserver",
      ["tmc, undici", "tmc, https", "client-node"],
      target,
      settings,
    );
    const watch = await measureWatch("watches of a real kube-apiserver", {
      clients: ["tmc, undici", "tmc, https", "client-node"],
      target,
      settings,
    });
    return { name: "real", tables: [calls.table, watch], goals: goalsOf(calls.ratios), notes: [] };
  } finally {
    await cluster.stop();
  }
}

function goalsOf(ratios: readonly CallRatio[]): Goal[] {
  const ours = ratios.filter(({ client }) => client === "tmc, undici");
  const goal = (what: string, of: readonly CallRatio[], value: (ratio: CallRatio) => number): Goal => {
    const values = of.map(value);
    const mean = geometricMean(values);
    const range = `${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)}`;
    return { what, goal: `≥ ${leastRatio} ×`, got: `${mean.toFixed(1)} × (${range})`, met: mean >= leastRatio };
  };
  const calls = [...new Set(ours.map(({ call }) => call))];
  return [
    ...calls.map((name) =>
      goal(
        `requests/s, ${name}, to client-node's`,
        ours.filter(({ call }) => call === name),
        ({ rate }) => rate,
      ),
    ),
    goal("requests/s, all calls", ours, ({ rate }) => rate),
    goal("requests per second of client CPU, all calls", ours, ({ cpu }) => cpu),
  ];
}
