import { countedClient } from "@tmc/kube/counted-client.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { exportName, exportWorkspace } from "../../../lib/api/group.ts";
import { allWorkloadTypes } from "../../../lib/api/workload-kinds.ts";
import { createExportRelay } from "../../../lib/relay/export-relay.ts";
import { createRelay, type Relay, type RelayParts } from "../../../lib/relay/relay.ts";
import { createCachedWorkloadHub } from "../../../lib/upstream/cached-workload-hub.ts";
import { createExportHub } from "../../../lib/upstream/export/hub.ts";
import { createFreshWorkloadHub } from "../../../lib/upstream/fresh-workload-hub.ts";
import { reconciledTypes } from "../../../lib/upstream/watched-resources.ts";
import { createWorkloadCache } from "../../../lib/upstream/workload-cache.ts";
import { type WorkloadHubUnderTest, workloadHubContract } from "../../contract/workload-hub.ts";
import { startTenants } from "./tenants.ts";

const types = allWorkloadTypes();
const address = { path: exportWorkspace, name: exportName };

/** A hub over one tenant, reached directly or through the export, with or without a relay that fills its cache. */
async function start(way: "direct" | "export", memory: "cached" | "fresh"): Promise<WorkloadHubUnderTest> {
  const tenants = await startTenants();
  const [cluster = ""] = tenants.clusters;
  const clock = createManualClock();
  const made: string[] = [];
  const exportHub = createExportHub({
    provider: tenants.client,
    export: address,
    openEndpoint: () => {
      throw new Error("there is one server");
    },
    clock,
    random: () => 0.5,
  });
  const root = way === "direct" ? tenants.client : exportHub.client;
  const client = countedClient(root, ({ verb, code }) => made.push(`${verb} ${code}`));
  const cache = createWorkloadCache({ types });
  const parts: RelayParts = {
    types: reconciledTypes,
    queue: { send: async () => {} },
    clock,
    random: () => 0.5,
    workloads: { types, cache },
  };
  const relay: Relay =
    way === "direct"
      ? createRelay({ ...parts, workspaces: [{ logicalCluster: cluster, client: tenants.at(cluster) }] })
      : createExportRelay({ ...parts, provider: tenants.client, export: address, hub: exportHub });
  if (memory === "cached") {
    relay.start();
    await relay.whenListed();
  }
  const another = () =>
    memory === "cached"
      ? createCachedWorkloadHub({ client, cache, clock })
      : createFreshWorkloadHub({ client, types, clock });
  return {
    hub: another(),
    another,
    tenant: tenants.at(cluster),
    cluster,
    clock,
    requests: () => made.splice(0),
    refuse: (match, code) => {
      const message = "the server could not find the requested resource";
      const injection = tenants.kcp.faults.inject({ match, effect: { kind: "status", code, message } });
      return () => injection.remove();
    },
    stop: async () => {
      await relay.stop(0);
      await tenants.stop();
    },
  };
}

for (const way of ["direct", "export"] as const) {
  for (const memory of ["cached", "fresh"] as const) {
    workloadHubContract(
      `a ${memory} hub of workloads, ${way === "direct" ? "reached directly" : "through the export"}`,
      {
        start: () => start(way, memory),
        isCached: memory === "cached",
      },
    );
  }
}
