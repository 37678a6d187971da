import { type EmbeddedKcp, startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { WrittenKubeconfig } from "@tmc/kube/kubeconfig-file.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { exportWorkspace } from "../../api/group.ts";
import { bindExport, installExport } from "../../install/bind.ts";

/** A kcp with the workspace of a tenant and some clusters, whatever they are made of. */
export type LocalParts = Readonly<{
  /** What they are, in a few words. */
  what: string;
  kcpUrl: string;
  /** In the workspace's server, at its root. */
  client: KubeClient;
  clusters: readonly Readonly<{ name: string; url: string; kubeconfig: WrittenKubeconfig }>[];
  /** Of the hub, with the contexts demo and root. */
  kubeconfig: WrittenKubeconfig;
  /** Cuts a cluster off, or lets it be reached again; missing where that cannot be done. */
  setReachable?: (name: string, reachable: boolean) => void;
  stop(): Promise<void>;
}>;

/** Starts the parts that live in this process. */
export async function startEmbeddedParts(options: Readonly<{ clock?: Clock }> = {}): Promise<LocalParts> {
  const { kcp, clusters, stop } = await startLocalWorld(options);
  const client = createKubeClient({ endpoint: kcp.endpoint("root"), transport: kcp.transport(), name: "kcp" });
  const token = kcp.adminToken;
  return {
    what: "in this process",
    kcpUrl: kcp.url,
    client,
    clusters: clusters.map((cluster) => ({
      name: cluster.name,
      url: cluster.url,
      kubeconfig: {
        contexts: [{ name: cluster.name, endpoint: cluster.endpoint(), token: cluster.adminToken }],
      },
    })),
    kubeconfig: {
      contexts: [
        { name: "demo", endpoint: kcp.endpoint(demoWorkspace), token },
        { name: "root", endpoint: kcp.endpoint("root"), token },
      ],
      currentContext: "demo",
    },
    setReachable: (name, reachable) => {
      const cluster = clusters.find((each) => each.name === name);
      if (reachable) cluster?.recover();
      else cluster?.beUnreachable();
    },
    stop: async () => {
      await client.close();
      await stop();
    },
  };
}

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
