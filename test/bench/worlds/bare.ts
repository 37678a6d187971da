// A kcp and two clusters, with nothing in them.
import { startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";

/** Starts all three at once, as `tmc local` does. */
export async function startWorld(): Promise<{ stop(): Promise<void> }> {
  const servers = await Promise.all([
    startEmbeddedKcp(),
    startEmbeddedCluster({ name: "east" }),
    startEmbeddedCluster({ name: "west" }),
  ]);
  return {
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}
