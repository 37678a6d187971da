import { randomBytes } from "node:crypto";
import { cp, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callApi } from "../real/api-call.ts";
import type { StaticUser } from "../real/api-server-flags.ts";
import { ensureBuilt } from "../real/build.ts";
import { type RealCluster, startCluster } from "../real/cluster.ts";
import { type Etcd, restoreSnapshot, saveSnapshot } from "../real/etcd.ts";
import { type RealKcp, startKcp } from "../real/kcp.ts";
import { eventually } from "../support/eventually.ts";
import { type Backup, bumpedRevisions, type ClusterPart, type RestorableParts } from "./environment.ts";

/**
 * Starts a kcp and clusters of their own, for they will be killed. Without workloads the clusters only store what they are
 * given, and nothing of it ever runs.
 */
export async function startRealParts({
  workloads = false,
}: Readonly<{ workloads?: boolean }> = {}): Promise<RestorableParts> {
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
        return cluster;
      }),
    );
    if (east === undefined || west === undefined) throw new Error("a cluster is missing");
    const kill = (): Promise<void> => killAll(kcp, ["kcp"]);
    const revive = async (): Promise<void> => {
      const { port } = kcp;
      await kcp.stop({ keepLogs: false });
      kcp = await startKcp({ ...kcpOptions, port });
    };
    const servers = {
      kcp: { etcd: () => kcp.etcd, stop: kill, start: revive },
      "us-east": restartable(east),
      "us-west": restartable(west),
    };
    const snapshot = (server: Restartable): Backup => snapshotOf(server, binaries.kubeall);
    return {
      backups: {
        kcp: copyOf(servers.kcp),
        "us-east": copyOf(servers["us-east"]),
        "us-west": copyOf(servers["us-west"]),
      },
      snapshots: {
        kcp: snapshot(servers.kcp),
        "us-east": snapshot(servers["us-east"]),
        "us-west": snapshot(servers["us-west"]),
      },
      kcp: {
        endpoint: { server: kcp.url, ca: kcp.ca, token: async () => operator.token },
        token: operator.token,
        kill,
        revive,
        freeze: () => signalGroup(kcp, "kcp", "SIGSTOP"),
        thaw: () => signalGroup(kcp, "kcp", "SIGCONT"),
      },
      clusters: { "us-east": clusterPart(east), "us-west": clusterPart(west) },
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

/** A server that can be stopped and started with other data. */
type Restartable = Readonly<{ etcd: () => Etcd; stop: () => Promise<void>; start: () => Promise<void> }>;

/** A copy of the files of etcd; the server is stopped meanwhile, and starts again. */
function copyOf({ etcd, stop, start }: Restartable): Backup {
  const { dataDir } = etcd();
  const [member, copy] = [join(dataDir, "member"), `${dataDir}.backup`];
  const whileStopped = async (work: () => Promise<void>): Promise<void> => {
    await stop();
    await work();
    await start();
  };
  return {
    take: () => whileStopped(() => cp(member, copy, { recursive: true })),
    restore: () =>
      whileStopped(async () => {
        await rm(member, { recursive: true });
        await rename(copy, member);
      }),
  };
}

/** A snapshot that is taken while the server runs, as its operator does. */
function snapshotOf({ etcd, stop, start }: Restartable, kubeall: string): Backup {
  const file = `${etcd().dataDir}.snapshot`;
  return {
    take: () => saveSnapshot(kubeall, etcd(), file),
    restore: async () => {
      await stop();
      await restoreSnapshot(kubeall, etcd(), { file, bumpRevision: bumpedRevisions });
      await start();
    },
  };
}

/** Everything of a cluster is restarted, as its documentation asks for: its own controllers trust their watches too. */
function restartable(cluster: RealCluster): Restartable {
  const { group, url, ca, adminToken, etcd } = cluster;
  return {
    etcd: () => etcd,
    stop: () =>
      killAll(
        cluster,
        group.processes.map(({ name }) => name),
      ),
    start: async () => {
      group.restart("etcd");
      group.restart("kube-apiserver");
      // The group counts a process that was killed as crashed, so its own wait cannot be used yet.
      await eventually(async () => {
        const { status } = await callApi({ url, ca, token: adminToken }, "GET", "/readyz").catch(() => ({ status: 0 }));
        return status === 200 ? undefined : `${cluster.name}: /readyz answers ${status}`;
      }, 60_000);
      for (const { name, ended } of group.processes) if (ended() !== undefined) group.restart(name);
    },
  };
}

async function killAll({ group }: RealKcp | RealCluster, names: readonly string[]): Promise<void> {
  await Promise.all(group.processes.filter(({ name }) => names.includes(name)).map((each) => each.kill()));
}

function signalGroup({ group }: RealKcp | RealCluster, name: string, signal: NodeJS.Signals): void {
  const member = group.processes.find((each) => each.name === name);
  if (member !== undefined) process.kill(-member.group, signal);
}
