import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { describeOnACluster } from "./health-on-cluster.ts";

describeOnACluster("an embedded cluster", async () => {
  const cluster = await startEmbeddedCluster({ name: "east", listen: false, podReadyMs: 10 });
  const client = createKubeClient({
    endpoint: cluster.endpoint(),
    transport: cluster.transport(),
    userAgent: "tmc-test",
  });
  return { client, stop: () => cluster.stop() };
});
