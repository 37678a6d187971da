import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import type { StaticUser } from "./api-server-flags.ts";
import { ensureBuilt } from "./build.ts";
import { type RealCluster, startCluster } from "./cluster.ts";
import { type RealKcp, startKcp } from "./kcp.ts";
import type { RealServer } from "./servers.ts";

/** Starts one kcp and one cluster for the whole run, and stops them after it; their logs stay when a test has failed. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const binaries = await ensureBuilt();
  const users = { alice: createUser("alice"), bob: createUser("bob") };
  const shared = { binaries, auditLog: true, users: Object.values(users) };
  const [kcpStart, clusterStart] = await Promise.allSettled([
    startKcp(shared),
    startCluster({ ...shared, name: "cluster" }),
  ]);
  const started = [kcpStart, clusterStart].flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
  const stopAll = async (failed: boolean) => {
    await Promise.all(started.map((server) => server.stop(failed ? { keepLogs: true } : {})));
  };
  const fail = async (reason: unknown): Promise<never> => {
    await stopAll(true);
    throw reason;
  };
  if (kcpStart.status === "rejected") return fail(kcpStart.reason);
  if (clusterStart.status === "rejected") return fail(clusterStart.reason);

  const [kcp, cluster] = [kcpStart.value, clusterStart.value];
  project.provide("realServers", {
    kcp: { ...(await describe(kcp, users)), shardAdminToken: kcp.shardAdminToken },
    cluster: {
      ...(await describe(cluster, users)),
      adminCertificate: cluster.adminIdentity.certificate,
      adminKey: cluster.adminIdentity.key,
    },
    kubectl: binaries.kubectl,
  });
  return () => stopAll(project.vitest.state.getCountOfFailedTests() > 0);
}

async function describe(server: RealKcp | RealCluster, users: RealServer["users"]): Promise<RealServer> {
  const { url, ca, adminToken, kubeconfig, group, auditLog } = server;
  const kubeconfigPath = join(group.folder.path, "test.kubeconfig");
  await writeFile(kubeconfigPath, kubeconfig, { mode: 0o600 });
  return { url, ca, adminToken, kubeconfig, kubeconfigPath, users, auditLogPath: auditLog ?? "" };
}

function createUser(name: string): StaticUser {
  return { name, token: randomBytes(16).toString("hex") };
}
