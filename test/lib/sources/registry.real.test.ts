import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { connect } from "../../contract/connect.ts";
import { aTenant, providerOf } from "../../contract/provider.ts";
import { realServers } from "../../real/servers.ts";
import { type HubForm, install, openHub } from "./hubs-under-test.ts";
import { registryContract } from "./registry-contract.ts";
import { sourcesUnderTest } from "./sources-under-test.ts";

const { kcp } = realServers();
const endpointOf = (token: string): Endpoint => ({ server: kcp.url, ca: kcp.ca, token: async () => token });
const server = connect("kcp", endpointOf(kcp.adminToken));

/** Each source gets its own two workspaces. */
const realKcp: HubForm = {
  title: "real kcp",
  isKcp: true,
  start: async (source, onRequest) => {
    const { path } = await providerOf(server);
    const [one, other] = [await aTenant(server, path), await aTenant(server, path)];
    for (const { client } of [one, other]) await install(client, source);
    const open = (token: string, listener?: typeof onRequest) =>
      openHub(endpointOf(token), createUndiciTransport(endpointOf(token)), listener);
    const clients = [open(kcp.adminToken, onRequest)];
    return {
      client: clients[0] ?? server.admin,
      cluster: one.cluster,
      other: other.cluster,
      admin: one.client,
      clientAs: (token) => {
        const client = open(token);
        clients.push(client);
        return client;
      },
      stop: async () => {
        await Promise.all(clients.map((client) => client.close()));
      },
    };
  },
};

for (const source of sourcesUnderTest) registryContract(realKcp, source);
