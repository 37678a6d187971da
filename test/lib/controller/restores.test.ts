import type { RestoreOptions } from "@tmc/embedded/storage/store.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { afterEach, describe, expect, test } from "vitest";
import {
  aDeployment,
  configMaps,
  deployments,
  type MovesStage,
  records,
  setMovesStage,
} from "../../support/moves-environment.ts";

const stages: MovesStage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.stop();
});

/** Two workloads on three clusters, and long enough ago that everything was listed. */
async function running(): Promise<MovesStage> {
  const stage = await setMovesStage({ strategy: "Spread" });
  stages.push(stage);
  for (const name of ["web", "old"]) {
    await stage.client.create({ type: deployments, namespace: "shop" }, aDeployment(name));
  }
  await stage.pass(70_000, 10_000);
  return stage;
}
const allReady = { east: "Ready", north: "Ready", west: "Ready" };
const replicas = async ({ copy }: MovesStage, name = "web"): Promise<readonly unknown[]> =>
  Promise.all(["east", "north", "west"].map(async (cluster) => (await copy(cluster, name))?.spec));
const three = (count: number) => Array.from({ length: 3 }, () => expect.objectContaining({ replicas: count }));

/** Delays the next list of a type: the other types are listed before it. */
const listOnceLate = (faults: MovesStage["tenants"]["kcp"]["faults"], resource: string): void =>
  void faults.inject({ match: { verb: "list", resource }, effect: { kind: "delay", ms: 3_000 }, count: 1 });

const ways: [string, RestoreOptions][] = [
  ["whose revisions went back", {}],
  ["with bumped revisions", { bumpRevision: 1_000_000_000 }],
];

describe.each(ways)(
  "a kcp that was restored from a backup, %s",
  (_, options) => {
    /** Goes back to a backup from before the last changes: more replicas, a new workload, a deleted one. */
    async function restored(): Promise<MovesStage> {
      const stage = await running();
      const { client, tenants, change, pass } = stage;
      const backup = tenants.kcp.snapshot();
      await change(deployments, "web", { spec: { replicas: 5 } });
      await client.create({ type: deployments, namespace: "shop" }, aDeployment("young"));
      await client.delete({ type: deployments, namespace: "shop", name: "old" });
      await pass(70_000, 10_000);
      expect(await stage.where("old")).toBe("");
      tenants.kcp.restore(backup, options);
      await pass(20_000);
      return stage;
    }

    test("kcp's state is the truth again: copies are changed back and written again, and none is deleted", async () => {
      const stage = await restored();
      const { where, said } = stage;
      expect(await replicas(stage)).toEqual(three(3));
      expect([await where("old"), await said("old")]).toEqual(["east north west", allReady]);
      expect([await said(), await where("young")]).toEqual([allReady, "east north west"]);
    });

    test("changes and deletions of users take effect, and a record is Ready only for what is there", async () => {
      const stage = await restored();
      const { client, change, pass, said, where } = stage;
      await change(deployments, "web", { spec: { replicas: 4 } });
      await pass(10_000);
      expect([await replicas(stage), await said()]).toEqual([three(4), allReady]);
      await client.delete({ type: deployments, namespace: "shop", name: "web" });
      await pass(30_000);
      const { items } = await client.list({ type: deployments, namespace: "shop" });
      expect(items.map(({ metadata }) => metadata.name)).toEqual(["old"]);
      expect([await where(), await said()]).toEqual(["", {}]);
    });

    test.each(["deployments", "workloadsyncs"])(
      "a Deployment that it does not know keeps its copies and gets no record if %s are listed last",
      async (delayed) => {
        const stage = await running();
        const { client, tenants, pass, where } = stage;
        const backup = tenants.kcp.snapshot();
        await client.create({ type: deployments, namespace: "shop" }, aDeployment("young"));
        await pass(70_000, 10_000);
        listOnceLate(tenants.kcp.faults, delayed);
        tenants.kcp.restore(backup, options);
        await pass(90_000, 5_000);
        expect(await where("young")).toBe("east north west");
        const { items } = await client.list<KubeObject>({ type: records, namespace: "shop" });
        expect(items.map(({ metadata }) => metadata.name?.split("-")[1])).toEqual(["old", "web"]);
      },
    );
  },
  60_000,
);

describe.each(ways)(
  "a kcp that was restored from a backup, %s, with ConfigMaps as workloads",
  (_, options) => {
    test.each([
      ["first", "configmaps"],
      ["last", "workloadsyncs"],
    ])(
      "a ConfigMap that it does not know keeps its copies if the sync records are listed %s",
      async (_order, delayed) => {
        const stage = await setMovesStage({
          strategy: "Spread",
          workloadSelector: { namespaces: ["shop"], workloadTypes: [{ apiVersion: "v1", kind: "ConfigMap" }] },
        });
        stages.push(stage);
        const { client, tenants, pass, did } = stage;
        await pass(70_000, 10_000);
        const backup = tenants.kcp.snapshot();
        const young: KubeObject = {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "young" },
          data: { a: "1" },
        };
        await client.create({ type: configMaps, namespace: "shop" }, young);
        await pass(70_000, 10_000);
        const copies = async (): Promise<readonly unknown[]> =>
          Promise.all(
            ["east", "north", "west"].map((name) =>
              stage
                .on(name)
                .get<KubeObject>({ type: configMaps, namespace: stage.namespaceThere(), name: "young" })
                .then(({ metadata }) => metadata.uid, String),
            ),
          );
        const before = await copies();
        expect(before.join()).not.toContain("404");
        listOnceLate(tenants.kcp.faults, delayed);
        tenants.kcp.restore(backup, options);
        await pass(90_000, 5_000);
        expect(await copies()).toEqual(before);
        expect(did("removed")).toBe(0);
      },
    );
  },
  60_000,
);

describe.each(ways)("a cluster that was restored from a backup, %s", (_, options) => {
  test("copies that it no longer has are written again, and old ones are changed", async () => {
    const stage = await running();
    const { client, clusters, change, pass, where, said, did } = stage;
    const east = clusters.get("east");
    const backup = east?.snapshot();
    if (east === undefined || backup === undefined) throw new Error("no cluster");
    await change(deployments, "web", { spec: { replicas: 5 } });
    await client.create({ type: deployments, namespace: "shop" }, aDeployment("young"));
    await pass(70_000, 10_000);
    const removed = did("removed");
    east.restore(backup, options);
    expect([await where("young"), (await stage.copy("east"))?.spec]).toMatchObject(["north west", { replicas: 3 }]);
    await pass(10_000);
    expect([await where("young"), await said("young")]).toEqual(["east north west", allReady]);
    expect([await replicas(stage), await said()]).toEqual([three(5), allReady]);
    expect(did("removed")).toBe(removed);
  });

  test("an old copy loses what its workload does not have any more, also if its generation is the same", async () => {
    const { clusters, change, copy, pass } = await running();
    const east = clusters.get("east");
    await change(deployments, "web", { metadata: { labels: { earlier: "yes" } } });
    await pass(10_000);
    const backup = east?.snapshot();
    if (east === undefined || backup === undefined) throw new Error("no cluster");
    await change(deployments, "web", { metadata: { labels: { earlier: null } } });
    await pass(70_000, 10_000);
    const labels = async () => (await copy("east"))?.metadata.labels;
    expect(await labels()).not.toHaveProperty("earlier");
    east.restore(backup, options);
    expect(await labels()).toMatchObject({ earlier: "yes" });
    await pass(10_000);
    expect(await labels()).not.toHaveProperty("earlier");
  });

  test("a cluster that had nothing yet gets the namespace and everything in it again", async () => {
    const stage = await setMovesStage({ strategy: "Spread" });
    stages.push(stage);
    const { client, clusters, pass, where, said } = stage;
    const east = clusters.get("east");
    const backup = east?.snapshot();
    if (east === undefined || backup === undefined) throw new Error("no cluster");
    await client.create({ type: deployments, namespace: "shop" }, aDeployment("web"));
    await pass(70_000, 10_000);
    east.restore(backup, options);
    expect(await where()).toBe("north west");
    await pass(20_000);
    expect([await where(), await said()]).toEqual(["east north west", allReady]);
  });
});

describe("a cluster whose probe fails", () => {
  test("its copies are listed again: it may be restored while its watches stay open", async () => {
    const { clusters, pass } = await running();
    const east = clusters.get("east");
    const lists = east?.faults.inject({
      match: { verb: "list", resource: "deployments" },
      effect: { kind: "delay", ms: 0 },
    });
    await pass(60_000, 10_000);
    expect(lists?.hits).toBe(0);
    east?.makeBroken();
    await pass(40_000, 10_000);
    expect(lists?.hits).toBe(1);
  });
});
