import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { workspaces } from "../../lib/upstream/kcp-types.ts";
import { eventuallyGone } from "../contract/resources.ts";
import { useReal } from "../e2e/kcp-under-test.ts";
import { realServers } from "../real/servers.ts";
import { executedPages, pageCases } from "./pages.ts";
import type { PageServers } from "./run-page.ts";

/** The workspaces that the pages create. */
const tenants = ["production", "team-a", "team-b"];

/** The real kcp of the run, its only cluster as east, and an embedded one as west: a page may place a workload on both. */
const startKcp: PageServers["startKcp"] = async (folder) => {
  const kcp = await useReal();
  await kcp.writeKubeconfig(folder, "root", "kcp.kubeconfig");
  const { url, ca, adminToken } = realServers().cluster;
  const west = await startEmbeddedCluster({ name: "west" });
  const contexts = [
    { name: "east", endpoint: { server: url, ca }, token: adminToken },
    { name: "west", endpoint: west.endpoint(), token: west.adminToken },
  ];
  for (const context of contexts) {
    await writeFile(join(folder, `${context.name}.kubeconfig`), formatKubeconfig({ contexts: [context] }));
  }
  return {
    stop: async () => {
      const root = kcp.admin.at("/clusters/root");
      for (const name of tenants) {
        await root.delete({ type: workspaces, name }).catch(() => {});
        await eventuallyGone(root, { type: workspaces, name }, 60_000);
      }
      await Promise.all([kcp.stop(), west.stop()]);
    },
  };
};

pageCases("on real servers", executedPages, async () => ({
  kubectl: realServers().kubectl,
  startKcp,
  limitMs: 60_000,
}));
