import { type EmbeddedKcp, type EmbeddedKcpOptions, startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { exportWorkspace } from "../../../lib/api/group.ts";
import { bindExport, installExport } from "../../../lib/install/bind.ts";
import { clientOf } from "../../../lib/upstream/logical-cluster.ts";
import { createSeeded } from "../../simulation/seeded.ts";

export const registrations = {
  type: { group: "tmc.kcp.io", version: "v1alpha1", plural: "clusterregistrations" },
} as const;
export const placements = {
  type: { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadplacements" },
} as const;

/** An embedded kcp with workspaces that bind TMC's export. */
export type Tenants = Readonly<{
  kcp: EmbeddedKcp;
  /** At the server's root. */
  client: KubeClient;
  /** A client in a workspace, by its logical cluster's name. */
  at(cluster: string): KubeClient;
  /** The logical clusters of the workspaces, in the order of the given paths. */
  clusters: readonly string[];
  /** Another workspace, without TMC's kinds. */
  bind(path: string): Promise<string>;
  stop(): Promise<void>;
}>;

/** Starts a kcp and binds TMC's export in the workspaces. Generated names are the same in every run. */
export async function startTenants(
  paths: readonly string[] = ["root:demo"],
  options: EmbeddedKcpOptions = {},
): Promise<Tenants> {
  const kcp = await startEmbeddedKcp({ listen: false, random: createSeeded(paths.join()).next, ...options });
  const client = createKubeClient({
    endpoint: { server: kcp.url },
    transport: kcp.transport(),
    name: "kcp",
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
  kcp.createWorkspace(exportWorkspace);
  await installExport(clientOf(client, exportWorkspace));
  const bind = async (path: string): Promise<string> => {
    const cluster = kcp.createWorkspace(path);
    await bindExport(clientOf(client, cluster), exportWorkspace);
    return cluster;
  };
  const clusters: string[] = [];
  for (const path of paths) clusters.push(await bind(path));
  return {
    kcp,
    client,
    clusters,
    bind,
    at: (cluster) => clientOf(client, cluster),
    stop: async () => {
      await client.close();
      await kcp.stop();
    },
  };
}

export function aRegistration(name: string, spec: object = {}, metadata: Partial<KubeObject["metadata"]> = {}) {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "ClusterRegistration",
    metadata: { name, ...metadata },
    spec: { location: "us-west-2", ...spec },
  };
}

export function aPlacement(name: string, spec: object = {}, metadata: Partial<KubeObject["metadata"]> = {}) {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadPlacement",
    metadata: { name, ...metadata },
    spec: { strategy: "RoundRobin", ...spec },
  };
}
