import { access, constants, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { startEmbedded } from "../e2e/kcp-under-test.ts";
import type { PageServers } from "./run-page.ts";

/** The clusters of a page, embedded in this process. */
export const startEmbeddedKcpAndClusters: PageServers["startKcp"] = async (folder) => {
  const kcp = await startEmbedded();
  await kcp.writeKubeconfig(folder, "root", "kcp.kubeconfig");
  const clusters = await Promise.all(["east", "west"].map((name) => startEmbeddedCluster({ name })));
  for (const cluster of clusters) {
    const context = { name: cluster.name, endpoint: cluster.endpoint(), token: cluster.adminToken };
    await writeFile(join(folder, `${cluster.name}.kubeconfig`), formatKubeconfig({ contexts: [context] }));
  }
  return {
    stop: async () => {
      await Promise.all([kcp, ...clusters].map((server) => server.stop()));
    },
  };
};

/** The kubectl on the PATH; undefined if there is none. */
export async function findKubectl(): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const program = join(folder, "kubectl");
    const isThere = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return program;
  }
  return undefined;
}
