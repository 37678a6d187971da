import { type EmbeddedKcp, startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeconfigContent } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { exportWorkspace } from "../../api/group.ts";
import { bindExport, installExport } from "../../install/bind.ts";
import type { CustomType } from "../../upstream/custom-types.ts";

/** A kcp with a tenant workspace, and clusters; embedded or real. */
export type LocalEnvironment = Readonly<{
  /** Where the servers run, for the welcome message. */
  description: string;
  kcpUrl: string;
  /** `embedded kcp` or `kcp`, for the title of the board. */
  kcpName: string;
  /** Client at the root URL of kcp. */
  client: KubeClient;
  clusters: readonly Readonly<{ name: string; url: string; kubeconfig: KubeconfigContent }>[];
  /** The kubeconfig for kcp, with the contexts demo and root. */
  kubeconfig: KubeconfigContent;
  /** Disconnects or reconnects a cluster; undefined for real clusters. */
  setReachable?: (name: string, reachable: boolean) => void;
  stop(): Promise<void>;
}>;

/**
 * What an export of the local environment contains: no warnings about client-side apply. In a trial they would come with every
 * command on workloads, also with those that work.
 */
export const localExport = { warnings: false } as const;

export type EmbeddedOptions = Readonly<{
  clock?: Clock;
  /** Workload types to export besides the built-in ones. @default none */
  custom?: readonly CustomType[] | undefined;
}>;

/** Starts an environment of embedded servers. */
export async function startEmbeddedEnvironment(options: EmbeddedOptions = {}): Promise<LocalEnvironment> {
  const { kcp, clusters, stop } = await startEmbeddedServers(options);
  const client = createKubeClient({ endpoint: kcp.endpoint("root"), transport: kcp.transport(), name: "kcp" });
  const token = kcp.adminToken;
  return {
    description: "in this process",
    kcpUrl: kcp.url,
    kcpName: "embedded kcp",
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
      else cluster?.makeUnreachable();
    },
    stop: async () => {
      await client.close();
      await stop();
    },
  };
}

export const demoWorkspace = "root:demo";
export const clusterNames = ["east", "west"] as const;

/** An embedded kcp with a tenant workspace, and two embedded clusters. */
export type EmbeddedServers = Readonly<{
  kcp: EmbeddedKcp;
  clusters: readonly EmbeddedCluster[];
  stop(): Promise<void>;
}>;

/** Starts the embedded kcp and clusters, with TMC's APIExport in `root:tmc` bound in `root:demo`. */
export async function startEmbeddedServers({ clock, custom }: EmbeddedOptions = {}): Promise<EmbeddedServers> {
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
    await installExport(client.at(`/clusters/${exportWorkspace}`), { ...localExport, custom });
    await bindExport(client.at(`/clusters/${demoWorkspace}`), exportWorkspace);
    await client.close();
    return { kcp, clusters, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
