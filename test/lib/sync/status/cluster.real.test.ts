import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { realServers } from "../../../real/servers.ts";
import { describeOnACluster } from "./health-on-cluster.ts";

describeOnACluster("a real cluster", async () => {
  const { url, ca, adminToken } = realServers().cluster;
  const endpoint = { server: url, ca, token: async () => adminToken };
  const client = createKubeClient({ endpoint, transport: createUndiciTransport(endpoint), userAgent: "tmc-test" });
  return { client, stop: () => client.close() };
});
