// An embedded kcp, or embedded clusters, in a process of their own, which counts what a controller asks of them.
import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { exportWorkspace } from "../../../lib/api/group.ts";
import { bindExport, installExport } from "../../../lib/install/bind.ts";
import type { Target } from "../clients/bench-client.ts";
import { serveTasks } from "../serve-tasks.ts";

export type SyncServerTask =
  | Readonly<{ kind: "start kcp"; workspaces: readonly string[] }>
  | Readonly<{ kind: "start clusters"; names: readonly string[] }>
  | Readonly<{ kind: "counts" }>;

/** A server with two users: the bench's, and the controller's, by which its requests are told from all others. */
export type CountingServer = Target & Readonly<{ controllerToken: string }>;

/** What the controller has asked of the servers of one process since their start. */
export type ServerCounts = Readonly<{
  /** By method and what is written, such as `PATCH workloadsyncs/status`. */
  writes: Readonly<Record<string, number>>;
  /** GETs, watches among them. */
  reads: number;
}>;

/** Each has room for 110 pods: for those of both ways, and of the warming up. */
const nodes = 24;
const controllerToken = "bench-controller-token";
const controllerUser = "tmc-controller";
const writes = new Map<string, number>();
let reads = 0;

async function startKcp(workspaces: readonly string[]): Promise<CountingServer> {
  const hub = await startEmbeddedKcp({
    users: [{ token: controllerToken, name: controllerUser, groups: ["system:kcp:admin"] }],
  });
  hub.createWorkspace(exportWorkspace);
  const client = createKubeClient({ endpoint: hub.endpoint("root"), transport: hub.transport(), name: "kcp" });
  await installExport(client.at(`/clusters/${exportWorkspace}`));
  for (const workspace of workspaces) {
    hub.createWorkspace(workspace);
    await bindExport(client.at(`/clusters/${workspace}`), exportWorkspace);
  }
  await client.close();
  return { server: hub.url, ca: hub.ca, token: hub.adminToken, controllerToken };
}

async function startClusters(names: readonly string[]): Promise<readonly CountingServer[]> {
  const users = { [controllerToken]: { name: controllerUser, groups: ["system:masters", "system:authenticated"] } };
  const clusters = await Promise.all(names.map((name) => startEmbeddedCluster({ name, users, nodes })));
  return clusters.map(({ url, ca, adminToken }) => ({ server: url, ca, token: adminToken, controllerToken }));
}

/** Node tells of every request that any server of this process gets; nothing in ours need be changed for it. */
function count(): void {
  subscribe("http.server.request.start", (message) => {
    // The documented form of this channel's messages.
    const { request } = message as { request: IncomingMessage };
    if (request.headers.authorization !== `Bearer ${controllerToken}`) return;
    const { method = "", url = "" } = request;
    if (method === "GET") reads += 1;
    else {
      const what = `${method} ${writtenBy(url)}`;
      writes.set(what, (writes.get(what) ?? 0) + 1);
    }
  });
}

/** The type in a path, with the part of an object that is meant. */
function writtenBy(url: string): string {
  const [path = ""] = url.split("?");
  const [, rest = ""] = /\/(?:api|apis\/[^/]+)\/[^/]+\/(.*)$/.exec(path) ?? [];
  const [, , plural, , part] = rest.startsWith("namespaces/") ? rest.split("/") : ["", "", ...rest.split("/")];
  return `${plural ?? "namespaces"}${part === undefined ? "" : `/${part}`}`;
}

count();
serveTasks<SyncServerTask>(async (task) => {
  switch (task.kind) {
    case "start kcp":
      return startKcp(task.workspaces);
    case "start clusters":
      return startClusters(task.names);
    case "counts":
      return { writes: Object.fromEntries(writes), reads } satisfies ServerCounts;
  }
});
