import { realServers } from "../../../../test/real/servers.ts";
import { createKubeClient } from "../../src/rest-client.ts";
import { createUndiciTransport } from "../../src/transport/undici-transport.ts";
import { informerContract } from "./informer-contract.ts";

const { cluster } = realServers();

informerContract("a real cluster", async () => {
  const endpoint = { server: cluster.url, ca: cluster.ca, token: async () => cluster.adminToken };
  return createKubeClient({ endpoint, transport: createUndiciTransport(endpoint) });
});
