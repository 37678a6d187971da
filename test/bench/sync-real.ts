import { readFile } from "node:fs/promises";
import { parseAuditLog } from "../e2e/audit-log.ts";
import { startCluster } from "../real/cluster.ts";
import { startKcp } from "../real/kcp.ts";
import { findBinaries } from "./find-binaries.ts";
import { prepareKcp, type RealTarget, startTogether } from "./real-servers.ts";
import type { BenchReport } from "./report.ts";
import type { Settings } from "./settings.ts";
import { manyRounds, measureSync, syncReport } from "./sync/report.ts";
import { furnish, openSession, type SyncWorld, syncWorkspace, type Writes } from "./sync/session.ts";

const clusterNames = ["east", "west"];
/** Each has room for 110 pods: for those of both ways, and of the warming up. */
const nodes = 24;
/** What kcp takes by itself; with the small one of tests every second write begins a new file. */
const kcpFlags = ["--embedded-etcd-wal-size-bytes=64000000"];
const mostBurstMs = 10_000;
const controller = { name: "bench-controller", token: "bench-controller-token" };

/** Measures sync against a real kcp and two real clusters whose pods are kwok's, where they have been built. */
export async function benchSyncReal({ synced: { singles, burst } }: Settings): Promise<BenchReport> {
  const found = await findBinaries();
  if ("missing" in found) return { name: "sync-real", tables: [], goals: [], notes: [`skipped: ${found.missing}`] };
  const { binaries } = found;
  await using servers = new AsyncDisposableStack();
  const [kcp, ...clusters] = await startTogether(servers, [
    startKcp({ binaries, flags: kcpFlags, auditLog: true, users: [{ ...controller, groups: ["system:kcp:admin"] }] }),
    ...clusterNames.map((name) =>
      startCluster({ name, binaries, nodes, auditLog: true, users: [{ ...controller, groups: ["system:masters"] }] }),
    ),
  ]);
  if (kcp === undefined) throw new Error("kcp did not start");
  await prepareKcp(kcp, [syncWorkspace]);
  await using session = await openSession(worldOf(kcp, clusters));
  await furnish(session);
  const measured = await measureSync(session, { singles, burst, more: (process) => process.usage() });
  const { rssMb, peakRssMb, cpuMs } = measured.more;
  return syncReport(measured, {
    name: "sync-real",
    synced: singles + burst * manyRounds,
    mostBurstMs,
    notes: [
      "requests are counted in the servers' audit logs, which cost both ways the same",
      `the controller took ${rssMb.toFixed(0)} MB (at most ${peakRssMb.toFixed(0)}) and ${(cpuMs / 1000).toFixed(1)} s of CPU for all of it`,
    ],
  });
}

function worldOf(kcp: RealTarget, clusters: readonly RealTarget[]): SyncWorld {
  return {
    hub: { ...kcp, controllerToken: controller.token },
    clusters: clusters.map((target, at) => ({
      ...target,
      name: clusterNames[at] ?? "",
      controllerToken: controller.token,
    })),
    writes: async () => {
      const [up = {}, ...down] = await Promise.all([kcp, ...clusters].map(writesIn));
      return { up, down: down.reduce(summed, {}) };
    },
  };
}

const reads = new Set(["get", "list", "watch"]);

/** What a server's log says that the controller asked it to write, by verb and type. */
async function writesIn({ auditLog }: RealTarget): Promise<Writes["up"]> {
  const counts: Record<string, number> = {};
  if (auditLog === undefined) return counts;
  for (const { user, verb, resource } of parseAuditLog(await readFile(auditLog, "utf8"))) {
    if (user !== controller.name || reads.has(verb)) continue;
    const what = `${verb} ${resource ?? "?"}`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}

function summed(one: Writes["up"], other: Writes["up"]): Writes["up"] {
  const sum: Record<string, number> = { ...one };
  for (const [what, count] of Object.entries(other)) sum[what] = (sum[what] ?? 0) + count;
  return sum;
}
