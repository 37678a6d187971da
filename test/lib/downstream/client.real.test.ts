import { connect } from "../../contract/connect.ts";
import { fleetContract } from "../../contract/fleet.ts";
import { realServers } from "../../real/servers.ts";

const { cluster } = realServers();

fleetContract("fleet of a real cluster", async () =>
  connect("cluster", { server: cluster.url, ca: cluster.ca, token: async () => cluster.adminToken }),
);
