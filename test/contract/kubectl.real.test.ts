import { startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { realServers } from "../real/servers.ts";
import { connect } from "./connect.ts";
import { kubectlContract } from "./kubectl-contract.ts";

const { kcp, cluster } = realServers();

kubectlContract("kcp", "a real kcp", async () =>
  connect("kcp", { server: kcp.url, ca: kcp.ca, token: async () => kcp.adminToken }),
);
kubectlContract("cluster", "a real cluster", async () =>
  connect("cluster", { server: cluster.url, ca: cluster.ca, token: async () => cluster.adminToken }),
);
kubectlContract("kcp", "an embedded kcp", async () => {
  const embedded = await startEmbeddedKcp();
  const { ca, token } = embedded.endpoint();
  return connect("kcp", { server: embedded.url, ca, token }, () => embedded.stop());
});
kubectlContract("cluster", "an embedded cluster", async () => {
  const embedded = await startEmbeddedCluster({ name: "east" });
  const { ca, token } = embedded.endpoint();
  return connect("cluster", { server: embedded.url, ca, token }, () => embedded.stop());
});
