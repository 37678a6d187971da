import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { WrittenKubeconfig } from "@tmc/kube/kubeconfig-file.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { demoWorkspace, startLocalWorld } from "../local-world.ts";

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
