import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { type HubParts, type Server, twoHubsScenario } from "./two-hubs.ts";

async function startEmbeddedHubs(): Promise<HubParts> {
  const names = ["one", "two", "shared"] as const;
  const [one, two, cluster] = await Promise.all(
    names.map((name) => startEmbeddedCluster({ name, workloadControllers: name === "shared" })),
  );
  if (one === undefined || two === undefined || cluster === undefined) throw new Error("a cluster is missing");
  const servers = [one, two, cluster];
  const serverOf = ({ url, ca, adminToken }: typeof one): Server => ({
    endpoint: { server: url, ca },
    token: adminToken,
  });
  return {
    one: serverOf(one),
    two: serverOf(two),
    cluster: serverOf(cluster),
    cloneOfOne: async () => {
      const clone = await startEmbeddedCluster({ name: "clone", workloadControllers: false });
      servers.push(clone);
      clone.restore(one.snapshot());
      return serverOf(clone);
    },
    stop: async () => void (await Promise.all(servers.map((server) => server.stop()))),
  };
}

twoHubsScenario({ kind: "embedded", testMs: 240_000, waitMs: 60_000, startMs: 120_000 }, startEmbeddedHubs);
