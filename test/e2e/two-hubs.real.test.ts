import { join } from "node:path";
import { ensureBuilt } from "../real/build.ts";
import { type RealCluster, startCluster } from "../real/cluster.ts";
import { saveSnapshot } from "../real/etcd.ts";
import { realServers } from "../real/servers.ts";
import { type HubParts, type Server, twoHubsScenario } from "./two-hubs.ts";

const serverOf = ({ url, ca, adminToken }: Pick<RealCluster, "url" | "ca" | "adminToken">): Server => ({
  endpoint: { server: url, ca },
  token: adminToken,
});

/** Two hubs that only store, and the cluster of the test run; the copy of the first hub is restored from its snapshot. */
async function startRealHubs(): Promise<HubParts> {
  const binaries = await ensureBuilt();
  const startHub = (name: string, more: Readonly<{ snapshot?: string }> = {}): Promise<RealCluster> =>
    startCluster({ name, binaries, workloads: false, nodes: 0, ...more });
  const [one, two] = await Promise.all([startHub("one"), startHub("two")]);
  const started = [one, two];
  return {
    one: serverOf(one),
    two: serverOf(two),
    cluster: serverOf(realServers().cluster),
    cloneOfOne: async () => {
      const snapshot = join(one.group.folder.path, "one.snapshot");
      await saveSnapshot(binaries.kubeall, one.etcd, snapshot);
      const clone = await startHub("clone", { snapshot });
      started.push(clone);
      return serverOf(clone);
    },
    stop: async () => void (await Promise.all(started.map((server) => server.stop()))),
  };
}

twoHubsScenario({ kind: "real", testMs: 240_000, waitMs: 90_000, startMs: 180_000 }, startRealHubs);
