import { faultOf } from "@tmc/kube/errors.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseSourceFlags } from "../../../lib/sources/flags.ts";
import { createClusterRegistry } from "../../../lib/sources/registry.ts";
import { crds, eventuallyOk } from "../../contract/resources.ts";
import { startTenants, type Tenants } from "../upstream/tenants.ts";
import { syncTargetDefinition } from "./definitions.ts";
import { hubsUnderTest } from "./hubs-under-test.ts";
import { registryContract } from "./registry-contract.ts";
import { sourcesUnderTest } from "./sources-under-test.ts";

for (const hub of hubsUnderTest) for (const source of sourcesUnderTest) registryContract(hub, source);

describe("createClusterRegistry with several sources", () => {
  let tenants: Tenants;
  const signal = new AbortController().signal;
  const [registrations, targets] = sourcesUnderTest;
  const registryOf = (...clusterSource: readonly string[]) =>
    createClusterRegistry({
      client: tenants.client,
      config: parseSourceFlags({ clusterSource }),
      clock: createManualClock(),
    });

  beforeAll(async () => {
    tenants = await startTenants(["root:both", "root:ours"]);
    const [both = "", ours = ""] = tenants.clusters;
    await tenants.at(both).create({ type: crds }, syncTargetDefinition);
    await eventuallyOk(() => registryOf("synctarget").list(both, signal));
    const server = "https://east.example";
    for (const name of ["east", "west"]) await targets?.put(tenants.at(both), { name, server });
    await registrations?.put(tenants.at(both), { name: "east", server });
    await registrations?.put(tenants.at(ours), { name: "east", server });
  }, 60_000);
  afterAll(() => tenants?.stop());

  it.each([
    { order: ["clusterregistration", "synctarget"], expected: ["clusterregistration/east", "synctarget/west"] },
    { order: ["synctarget", "clusterregistration"], expected: ["synctarget/east", "synctarget/west"] },
  ])("the registry merges sources, and the first one gets a name: $order", async ({ order, expected }) => {
    const [both = ""] = tenants.clusters;
    const registry = registryOf(...order);
    const { clusters, rejected } = await registry.list(both, signal);
    expect(clusters.map(({ id }) => id)).toEqual(expected.map((id) => `${both}|${id}`));
    expect(rejected).toHaveLength(1);
    for (const cluster of clusters) {
      expect(await registry.find({ logicalCluster: both, name: cluster.key.name }, signal)).toEqual(cluster);
    }
  });

  it("the registry reports sources that are not served and reads the others", async () => {
    const [, ours = ""] = tenants.clusters;
    const registry = registryOf("synctarget", "clusterregistration");
    const { clusters, notServed } = await registry.list(ours, signal);
    expect(clusters.map(({ id }) => id)).toEqual([`${ours}|clusterregistration/east`]);
    expect(notServed).toEqual(["synctarget"]);
    expect(await registry.find({ logicalCluster: ours, name: "east" }, signal)).toMatchObject({ id: clusters[0]?.id });
  });

  it.each(["list", "find"] as const)("%s fails if the server serves none of the sources", async (call) => {
    const bare = tenants.kcp.createWorkspace("root:bare");
    const registry = registryOf("synctarget", "controlplaneregistration");
    const result =
      call === "list" ? registry.list(bare, signal) : registry.find({ logicalCluster: bare, name: "east" }, signal);
    const error = await result.catch((failure: unknown) => failure);
    expect(faultOf(error)).toBe("unreachable");
    expect(String(error)).toContain(`${bare} serves none of synctarget, controlplaneregistration`);
  });

  it("list fails in a workspace that does not exist", async () => {
    const error = await registryOf("clusterregistration")
      .list("nosuchcluster", signal)
      .catch((failure: unknown) => failure);
    expect(["unreachable", "forbidden"]).toContain(faultOf(error));
  });
});
