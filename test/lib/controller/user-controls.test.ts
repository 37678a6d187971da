import { afterEach, describe, expect, test } from "vitest";
import { aPlacement, placements } from "../upstream/tenants.ts";
import { aDeployment, deployments, type MovesStage, setMovesStage } from "./moves-stage.ts";

const stages: MovesStage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.stop();
});

async function running(placement: object = { strategy: "Spread" }): Promise<MovesStage> {
  const stage = await setMovesStage(placement);
  stages.push(stage);
  await stage.client.create({ type: deployments, namespace: "shop" }, aDeployment("web"));
  await stage.pass(10_000);
  return stage;
}

const annotated = (annotations: Record<string, string | null>) => ({ metadata: { annotations } });

describe("the owner of a workload", () => {
  test.each([
    ["disabled", "SyncDisabled"],
    ["paused", "SyncPaused"],
  ])(
    "has nothing written by sync=%s, is told so, and has it all made good afterwards",
    async (word, reason) => {
      const { change, pass, copy, said, where } = await running();
      await change(deployments, "web", { ...annotated({ "tmc.kcp.io/sync": word }), spec: { replicas: 5 } });
      await pass(10_000);
      expect(await said()).toEqual({ east: reason, north: reason, west: reason });
      expect(await copy("east")).toMatchObject({ spec: { replicas: 3 } });
      // Nor does anything leave.
      await change(placements.type, "shop", { spec: { clusterNames: ["west"] } });
      await pass(10_000);
      expect(await where()).toBe("east north west");
      await change(deployments, "web", annotated({ "tmc.kcp.io/sync": null }));
      await pass(20_000);
      expect(await where()).toBe("west");
      expect(await copy("west")).toMatchObject({ spec: { replicas: 5 } });
    },
    60_000,
  );

  test("can switch sync off and delete: the copies go all the same", async () => {
    const { client, change, pass, where } = await running();
    await change(deployments, "web", annotated({ "tmc.kcp.io/sync": "disabled" }));
    await pass(5_000);
    await client.delete({ type: deployments, namespace: "shop", name: "web" });
    await pass(20_000);
    expect(await where()).toBe("");
  }, 60_000);

  test("narrows a placement, and never widens it", async () => {
    const { change, pass, where } = await running({ strategy: "Spread", clusterNames: ["east", "west"] });
    expect(await where()).toBe("east west");
    await change(deployments, "web", annotated({ "tmc.kcp.io/target-clusters": "north, west" }));
    await pass(20_000);
    expect(await where()).toBe("west");
    await change(
      deployments,
      "web",
      annotated({ "tmc.kcp.io/target-clusters": null, "tmc.kcp.io/exclude-clusters": "west" }),
    );
    await pass(20_000);
    expect(await where()).toBe("east");
    await change(deployments, "web", annotated({ "tmc.kcp.io/exclude-clusters": null }));
    await pass(20_000);
    expect(await where()).toBe("east west");
  }, 60_000);

  test("keeps the last copy when everything is left out, and is told why", async () => {
    const { change, pass, where, said } = await running({ strategy: "Spread", clusterNames: ["east"] });
    await change(deployments, "web", annotated({ "tmc.kcp.io/exclude-clusters": "east" }));
    await pass(20_000);
    expect(await where()).toBe("east");
    expect(await said()).toEqual({ east: "LastCopy" });
  }, 60_000);
});

describe("the owner of a placement", () => {
  test("names namespaces and leaves some out, and leaving out wins", async () => {
    const stage = await setMovesStage({ strategy: "Spread", workloadSelector: { namespaces: ["shop", "back"] } });
    stages.push(stage);
    const { client, pass, where, change } = stage;
    await client.create({ type: deployments, namespace: "shop" }, aDeployment("web"));
    await client.create({ type: deployments, namespace: "back" }, aDeployment("web", { namespace: "back" }));
    await pass(10_000);
    expect([await where("web", "shop"), await where("web", "back")]).toEqual(["east north west", "east north west"]);
    await change(placements.type, "shop", { spec: { workloadSelector: { excludedNamespaces: ["back"] } } });
    await pass(20_000);
    expect([await where("web", "shop"), await where("web", "back")]).toEqual(["east north west", ""]);
  }, 60_000);

  test("selects by the labels of namespaces, as they are now", async () => {
    const namespaceSelector = { matchLabels: { tier: "gold" } };
    const { client, pass, where } = await running({ strategy: "Spread", workloadSelector: { namespaceSelector } });
    expect(await where()).toBe("");
    const type = { group: "", version: "v1", plural: "namespaces" };
    await client.patch({ type, name: "shop" }, { type: "merge", body: { metadata: { labels: { tier: "gold" } } } });
    await pass(40_000);
    expect(await where()).toBe("east north west");
  }, 60_000);

  test("moves nothing by a second placement for the same work", async () => {
    const { client, pass, where } = await running({ clusterNames: ["east"] });
    // It asks for labels, and of two that want new work it would be the one.
    const workloadSelector = { labelSelector: { matchLabels: { app: "web" } } };
    await client.create(placements, aPlacement("other", { workloadSelector, clusterNames: ["west"] }));
    await pass(20_000);
    expect(await where()).toBe("east");
  }, 60_000);
});
