import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { createSkippingClock } from "../support/skipping-clock.ts";
import { connect } from "./connect.ts";
import { contract } from "./contract.ts";

contract("cluster", "embedded cluster", async () => {
  const clock = createSkippingClock();
  const cluster = await startEmbeddedCluster({ name: "east", clock });
  const { ca, token } = cluster.endpoint();
  return connect("cluster", { server: cluster.url, ca, token }, () => cluster.stop(), {
    skip: (ms) => clock.skipTo(clock.now() + ms),
  });
});
