import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { connect } from "../../contract/connect.ts";
import { downstreamContract } from "../../contract/downstream.ts";

downstreamContract("fleet of an embedded cluster", async () => {
  const cluster = await startEmbeddedCluster({ name: "east" });
  const { ca, token } = cluster.endpoint();
  return connect("cluster", { server: cluster.url, ca, token }, () => cluster.stop());
});
