import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { createKubeClient } from "../../src/rest-client.ts";
import { informerContract } from "./informer-contract.ts";

informerContract("an embedded cluster", async () => {
  const cluster = await startEmbeddedCluster({ name: "east", listen: false });
  const client = createKubeClient({ endpoint: cluster.endpoint(), transport: cluster.transport() });
  return {
    ...client,
    close: async () => {
      await client.close();
      await cluster.stop();
    },
  };
});
