// An embedded kcp and clusters in a process of their own, which counts what is asked of them.
import { randomUUID } from "node:crypto";
import { subscribe } from "node:diagnostics_channel";
import { type IncomingMessage, METHODS } from "node:http";
import { type EmbeddedKcp, startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { StoreKey } from "@tmc/embedded/storage/store.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { exportWorkspace } from "../../../lib/api/group.ts";
import { bindExport, installExport } from "../../../lib/install/bind.ts";
import type { Target } from "../clients/bench-client.ts";
import { serveTasks } from "../serve-tasks.ts";

export type EngineServerTask =
  | Readonly<{ kind: "start"; clusters: readonly string[]; workspaces: readonly string[] }>
  /** Puts copies of a placement beside it, without requests: thousands that are decided already. */
  | Readonly<{ kind: "copies"; of: string; count: number }>
  | Readonly<{ kind: "counts" }>;

export type EngineServers = Readonly<{
  kcp: Target;
  /** The controller's own user, by which its requests are told from all others. */
  controllerToken: string;
  clusters: readonly (Target & Readonly<{ name: string }>)[];
}>;

/** Since the start. */
export type EngineCounts = Readonly<{
  /** What the controller has asked of kcp. */
  hubRequests: number;
  /** The same for each method; watches are GETs. */
  byMethod: Readonly<Record<string, number>>;
  /** Requests to the clusters: the probes. */
  clusterRequests: number;
  /** Changes of placements in kcp's store after their creation, whoever made them. */
  placementWrites: number;
  serverCpuMs: number;
}>;

const controllerToken = "bench-controller-token";
let kcp: EmbeddedKcp | undefined;
let hubRequests = 0;
let clusterRequests = 0;
let placementWrites = 0;
const placements = new Map<string, StoreKey>();
const byMethod = new Map<string, number>();

async function start(names: readonly string[], workspaces: readonly string[]): Promise<EngineServers> {
  const hub = await startEmbeddedKcp({
    users: [{ token: controllerToken, name: "tmc-controller", groups: ["system:kcp:admin"] }],
  });
  kcp = hub;
  const clusters = await Promise.all(names.map((name) => startEmbeddedCluster({ name })));
  hub.createWorkspace(exportWorkspace);
  const client = createKubeClient({ endpoint: hub.endpoint("root"), transport: hub.transport(), name: "kcp" });
  await installExport(client.at(`/clusters/${exportWorkspace}`));
  for (const workspace of workspaces) {
    hub.createWorkspace(workspace);
    await bindExport(client.at(`/clusters/${workspace}`), exportWorkspace);
  }
  await client.close();
  hub.store.subscribe(({ type, key }) => {
    if (!key.storage.includes("workloadplacements")) return;
    placements.set(key.name, key);
    if (type === "MODIFIED") placementWrites += 1;
  });
  // Node tells of every request that any server of this process gets; nothing in ours need be changed for it.
  const hubPort = Number(new URL(hub.url).port);
  subscribe("http.server.request.start", (message) => {
    // The documented form of this channel's messages.
    const { request } = message as { request: IncomingMessage };
    if (request.socket.localPort !== hubPort) clusterRequests += 1;
    else if (request.headers.authorization === `Bearer ${controllerToken}`) {
      hubRequests += 1;
      const method = METHODS.includes(request.method ?? "") ? (request.method ?? "") : "other";
      byMethod.set(method, (byMethod.get(method) ?? 0) + 1);
    }
  });
  return {
    kcp: { server: hub.url, ca: hub.ca, token: hub.adminToken },
    controllerToken,
    clusters: clusters.map(({ name, url, ca, adminToken }) => ({ name, server: url, ca, token: adminToken })),
  };
}

function copy(name: string, count: number): void {
  const key = placements.get(name);
  const original = key === undefined ? undefined : kcp?.store.get(key);
  if (kcp === undefined || key === undefined || original === undefined) throw new Error(`no placement "${name}"`);
  for (let index = 0; index < count; index += 1) {
    const copyName = `${name}-copy-${index}`;
    const metadata = { ...original.metadata, name: copyName, uid: randomUUID() };
    kcp.store.put({ ...key, name: copyName }, { ...original, metadata });
  }
}

function counts(): EngineCounts {
  if (kcp === undefined) throw new Error("not started");
  const { user, system } = process.cpuUsage();
  return {
    hubRequests,
    byMethod: Object.fromEntries(byMethod),
    clusterRequests,
    placementWrites,
    serverCpuMs: (user + system) / 1000,
  };
}

serveTasks<EngineServerTask>(async (task) => {
  switch (task.kind) {
    case "start":
      return start(task.clusters, task.workspaces);
    case "copies":
      return copy(task.of, task.count);
    case "counts":
      return counts();
  }
});
