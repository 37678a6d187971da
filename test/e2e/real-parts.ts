import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StaticUser } from "../real/api-server-flags.ts";
import { ensureBuilt } from "../real/build.ts";
import { type RealCluster, startCluster } from "../real/cluster.ts";
import { type RealKcp, startKcp } from "../real/kcp.ts";
import type { ClusterPart, Parts } from "./environment.ts";

/**
 * Starts a kcp and clusters of their own, for they will be killed. Without workloads the clusters only store what they are
 * given, and nothing of it ever runs.
 */
export async function startRealParts({ workloads = false }: Readonly<{ workloads?: boolean }> = {}): Promise<Parts> {
  const binaries = await ensureBuilt();
  const dataDir = await mkdtemp(join(tmpdir(), "tmc-e2e-kcp-"));
  // The administrator that kcp makes has a new token after each start; this one keeps his.
  const operator: StaticUser = {
    name: "operator",
    token: randomBytes(16).toString("hex"),
    groups: ["system:kcp:admin"],
  };
  const kcpOptions = { binaries, dataDir, users: [operator] };
  const stops: (() => Promise<unknown>)[] = [() => rm(dataDir, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const each of stops.toReversed()) await each();
  };
  try {
    let kcp: RealKcp = await startKcp(kcpOptions);
    stops.push(() => kcp.stop());
    const [east, west] = await Promise.all(
      (["us-east", "us-west"] as const).map(async (name) => {
        const cluster = await startCluster({ name, binaries, workloads });
        stops.push(() => cluster.stop());
        return clusterPart(cluster);
      }),
    );
    if (east === undefined || west === undefined) throw new Error("a cluster is missing");
    return {
      kcp: {
        endpoint: { server: kcp.url, ca: kcp.ca, token: async () => operator.token },
        token: operator.token,
        kill: () => killAll(kcp, ["kcp"]),
        revive: async () => {
          const { port } = kcp;
          await kcp.stop({ keepLogs: false });
          kcp = await startKcp({ ...kcpOptions, port });
        },
        freeze: () => signalGroup(kcp, "kcp", "SIGSTOP"),
        thaw: () => signalGroup(kcp, "kcp", "SIGCONT"),
      },
      clusters: { "us-east": east, "us-west": west },
      kubectl: binaries.kubectl,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function clusterPart(cluster: RealCluster): ClusterPart {
  return {
    endpoint: { server: cluster.url, ca: cluster.ca, token: async () => cluster.adminToken },
    token: cluster.adminToken,
    kill: () => killAll(cluster, ["kube-apiserver", "etcd"]),
    revive: async () => {
      cluster.group.restart("etcd");
      cluster.group.restart("kube-apiserver");
    },
    freeze: () => signalGroup(cluster, "kube-apiserver", "SIGSTOP"),
    thaw: () => signalGroup(cluster, "kube-apiserver", "SIGCONT"),
    loseStore: () => killAll(cluster, ["etcd"]),
    regainStore: async () => void cluster.group.restart("etcd"),
  };
}

async function killAll({ group }: RealKcp | RealCluster, names: readonly string[]): Promise<void> {
  await Promise.all(group.processes.filter(({ name }) => names.includes(name)).map((each) => each.kill()));
}

function signalGroup({ group }: RealKcp | RealCluster, name: string, signal: NodeJS.Signals): void {
  const member = group.processes.find((each) => each.name === name);
  if (member !== undefined) process.kill(-member.group, signal);
}
