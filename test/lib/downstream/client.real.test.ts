import { connect } from "../../contract/connect.ts";
import { downstreamContract } from "../../contract/downstream.ts";
import { realServers } from "../../real/servers.ts";

const { cluster } = realServers();

downstreamContract("fleet of a real cluster", async () =>
  connect("cluster", { server: cluster.url, ca: cluster.ca, token: async () => cluster.adminToken }),
);
