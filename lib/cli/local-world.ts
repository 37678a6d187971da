import { type EmbeddedKcp, startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { exportWorkspace } from "../api/group.ts";
import { bindExport, installExport } from "../install/bind.ts";

export const demoWorkspace = "root:demo";
export const clusterNames = ["east", "west"] as const;

/** A kcp with a tenant's workspace and two clusters, all in this process. */
export type LocalWorld = Readonly<{
  kcp: EmbeddedKcp;
  clusters: readonly EmbeddedCluster[];
  stop(): Promise<void>;
}>;

/** Starts the embedded kcp and clusters, with TMC's export in `root:tmc`, bound in `root:demo`. */
export async function startLocalWorld({ clock }: Readonly<{ clock?: Clock }> = {}): Promise<LocalWorld> {
  const [kcp, ...clusters] = await Promise.all([
    startEmbeddedKcp({ clock }),
    ...clusterNames.map((name) => startEmbeddedCluster({ name, clock })),
  ]);
  const stop = async (): Promise<void> => {
    await Promise.all([kcp, ...clusters].map((server) => server.stop()));
  };
  try {
    kcp.createWorkspace(exportWorkspace);
    kcp.createWorkspace(demoWorkspace);
    const client = createKubeClient({ endpoint: kcp.endpoint("root"), transport: kcp.transport(), name: "kcp" });
    await installExport(client.at(`/clusters/${exportWorkspace}`));
    await bindExport(client.at(`/clusters/${demoWorkspace}`), exportWorkspace);
    await client.close();
    return { kcp, clusters, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
