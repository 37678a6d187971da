import { access } from "node:fs/promises";
import { join } from "node:path";
import { BuildError, readGoVersion } from "../real/build.ts";
import { startCluster } from "../real/cluster.ts";
import { buildName, cacheFolder, kubeallComponent } from "../real/components.ts";
import { type CallRatio, measureCalls } from "./measure-calls.ts";
import { measureWatch } from "./measure-watch.ts";
import type { BenchReport, Goal } from "./report.ts";
import type { Settings } from "./settings.ts";
import { geometricMean } from "./statistics.ts";

const leastRatio = 5;

/** Times the clients against a real kube-apiserver with its etcd, where one has been built. */
export async function benchReal(settings: Settings): Promise<BenchReport> {
  const kubeall = await findKubeall();
  if ("missing" in kubeall) return { name: "real", tables: [], goals: [], notes: [`skipped: ${kubeall.missing}`] };

  const { path } = kubeall;
  const cluster = await startCluster({
    name: "bench",
    workloads: false,
    nodes: 1,
    // Only the API server and its etcd are started, and they are in this one.
    binaries: { kubeall: path, kubectl: path, kcp: path },
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

/** Never builds: that takes minutes, and nobody expects it of a bench. */
async function findKubeall(): Promise<{ path: string } | { missing: string }> {
  try {
    const folder = join(cacheFolder(), await buildName(kubeallComponent, await readGoVersion()));
    await access(folder);
    return { path: join(folder, kubeallComponent.name) };
  } catch (error) {
    const why = error instanceof BuildError ? error.message : "no kube-apiserver has been built yet";
    return { missing: `${why}; \`npm run real:build\` builds it` };
  }
}
