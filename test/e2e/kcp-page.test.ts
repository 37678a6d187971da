import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { createByHand, kcpPageCases } from "./kcp-page-cases.ts";
import { startEmbedded } from "./kcp-under-test.ts";

kcpPageCases("docs/kcp.md on an embedded kcp", {
  start: startEmbedded,
  startCluster: async (name) => {
    const cluster = await startEmbeddedCluster({ name });
    return { endpoint: cluster.endpoint(), token: cluster.adminToken, stop: () => cluster.stop() };
  },
  kubectl: createByHand,
});
