import { startEmbeddedCluster } from "../../lib/embedded/kubernetes/embedded-cluster.ts";
import { connect } from "./connect.ts";
import { contract } from "./contract.ts";

contract("cluster", "embedded cluster", async () => {
  const cluster = await startEmbeddedCluster({ name: "east" });
  const { ca, token } = cluster.endpoint();
  return connect("cluster", { server: cluster.url, ca, token }, () => cluster.stop());
});
