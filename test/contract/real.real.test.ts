import { realServers } from "../real/servers.ts";
import { connect } from "./connect.ts";
import { contract } from "./contract.ts";

const { kcp, cluster } = realServers();

contract("kcp", "real kcp", async () =>
  connect("kcp", { server: kcp.url, ca: kcp.ca, token: async () => kcp.adminToken }),
);
contract("cluster", "real cluster", async () =>
  connect("cluster", { server: cluster.url, ca: cluster.ca, token: async () => cluster.adminToken }),
);
