import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { afterEach, describe, expect, test } from "vitest";
import {
  aDeployment,
  configMaps,
  deployments,
  type MovesStage,
  namespaces,
  setMovesStage,
} from "../../support/moves-environment.ts";
import { placements } from "../upstream/tenants.ts";

const stages: MovesStage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.stop();
});

async function onEast(placement: object = {}, begin: (stage: MovesStage) => Promise<void> = async () => {}) {
  const stage = await setMovesStage({ clusterNames: ["east"], ...placement });
  stages.push(stage);
  await begin(stage);
  await stage.client.create({ type: deployments, namespace: "shop" }, aDeployment("web"));
  await stage.pass(10_000);
  return stage;
}

const replicas = (count: number) => ({ spec: { replicas: count } });
const changeCopy = async ({ on, namespaceThere }: MovesStage, body: object, fieldManager = "kubectl-edit") => {
  const address = { type: deployments, namespace: namespaceThere(), name: "web" };
  await on("east").patch(address, { type: "merge", body }, { fieldManager });
};

/** Creates a foreign Deployment `web` in the downstream namespace of `shop`. */
async function putForeignObject(stage: MovesStage, count: number): Promise<void> {
  const { client, pass, on, namespaceThere } = stage;
  // TMC creates the namespace for a first workload.
  await client.create({ type: deployments, namespace: "shop" }, aDeployment("first"));
  await pass(10_000);
  const web = aDeployment("web", { namespace: namespaceThere() });
  await on("east").create(
    { type: deployments, namespace: namespaceThere() },
    { ...web, spec: { ...Object(web.spec), replicas: count } },
  );
}

describe("drift of a copy", () => {
  test("drift is reverted and counted by default", async () => {
    const stage = await onEast();
    const before = stage.did("drifted");
    await changeCopy(stage, replicas(0));
    await stage.pass(5_000);
    expect(await stage.copy("east")).toMatchObject(replicas(3));
    expect(stage.did("drifted")).toBe(before + 1);
  }, 60_000);

  test("a copy that was deleted on its cluster is created again", async () => {
    const stage = await onEast();
    const { on, namespaceThere, pass, copy } = stage;
    await on("east").delete({ type: deployments, namespace: namespaceThere(), name: "web" });
    await pass(10_000);
    expect(await copy("east")).toMatchObject(replicas(3));
  }, 60_000);

  test("drift: Report only reports drift, and the next change of the workload overwrites it", async () => {
    const stage = await onEast({ drift: "Report" });
    await changeCopy(stage, replicas(1));
    await stage.pass(10_000);
    expect(await stage.copy("east")).toMatchObject(replicas(1));
    expect(await stage.said()).toEqual({ east: "Drifted" });
    expect(stage.did("drifted")).toBe(0);
    await stage.change(deployments, "web", replicas(4));
    await stage.pass(10_000);
    expect(await stage.copy("east")).toMatchObject(replicas(4));
  }, 60_000);

  test("drift: Pause stops writes to the copy until it has the desired spec", async () => {
    const stage = await onEast({ drift: "Pause" });
    await changeCopy(stage, replicas(1));
    await stage.pass(10_000);
    await stage.change(deployments, "web", replicas(4));
    await stage.pass(10_000);
    expect(await stage.copy("east")).toMatchObject(replicas(1));
    expect(await stage.said()).toEqual({ east: "Drifted" });
    await changeCopy(stage, replicas(4));
    await stage.pass(10_000);
    await stage.change(deployments, "web", replicas(5));
    await stage.pass(10_000);
    expect(await stage.copy("east")).toMatchObject(replicas(5));
    expect(await stage.said()).toEqual({ east: "Ready" });
  }, 60_000);

  test("a field that the workload does not set is not drift and is kept", async () => {
    const stage = await onEast();
    const metadata = { annotations: { "team.example/owner": "them" }, labels: { theirs: "yes" } };
    await changeCopy(stage, { metadata, spec: { revisionHistoryLimit: 3 } }, "their-tool");
    await stage.change(deployments, "web", replicas(5));
    await stage.pass(10_000);
    expect(await stage.copy("east")).toMatchObject({ metadata, spec: { replicas: 5, revisionHistoryLimit: 3 } });
    expect(stage.did("drifted")).toBe(0);
  }, 60_000);
});

describe("an object of that name that is not ours", () => {
  test("is never touched, and the workload says so", async () => {
    const stage = await onEast({}, (begun) => putForeignObject(begun, 7));
    expect(await stage.copy("east")).toMatchObject(replicas(7));
    expect(await stage.said()).toEqual({ east: "ForeignObject" });
    await stage.client.delete({ type: deployments, namespace: "shop", name: "web" });
    await stage.pass(20_000);
    expect(await stage.copy("east")).toMatchObject(replicas(7));
  }, 60_000);

  test("adoption: IfNoDiff adopts a foreign object that equals the desired manifest", async () => {
    const stage = await onEast({ adoption: "IfNoDiff" }, (begun) => putForeignObject(begun, 3));
    expect(await stage.said()).toEqual({ east: "Ready" });
    expect(stage.did("adopted")).toBe(1);
  }, 60_000);

  test("adoption: IfNoDiff does not adopt a foreign object that differs", async () => {
    const stage = await onEast({ adoption: "IfNoDiff" }, (begun) => putForeignObject(begun, 7));
    expect(await stage.said()).toEqual({ east: "ForeignObject" });
    expect(await stage.copy("east")).toMatchObject(replicas(7));
  }, 60_000);

  test("adoption: Always adopts a foreign object and overwrites its differences", async () => {
    const stage = await onEast({ adoption: "Always" }, (begun) => putForeignObject(begun, 7));
    expect(await stage.copy("east")).toMatchObject(replicas(3));
    expect(stage.did("adopted")).toBe(1);
  }, 60_000);
});

describe("a namespace on a cluster", () => {
  const isThere = async ({ on, namespaceThere }: MovesStage): Promise<boolean> => {
    const { items } = await on("east").list<KubeObject>({ type: namespaces });
    return items.some(({ metadata }) => metadata.name === namespaceThere());
  };

  test("goes with the last copy in it", async () => {
    const stage = await onEast();
    await stage.client.create({ type: deployments, namespace: "shop" }, aDeployment("api"));
    await stage.pass(10_000);
    const api = await stage.copy("east", "api");
    await stage.client.delete({ type: deployments, namespace: "shop", name: "web" });
    await stage.pass(20_000);
    expect(await isThere(stage)).toBe(true);
    // The namespace was not deleted with the other copy and created again.
    expect((await stage.copy("east", "api"))?.metadata.uid).toBe(api?.metadata.uid);
    await stage.client.delete({ type: deployments, namespace: "shop", name: "api" });
    await stage.pass(20_000);
    expect(await isThere(stage)).toBe(false);
  }, 60_000);

  test("stays while it has a foreign object", async () => {
    const stage = await onEast();
    const { on, namespaceThere, client, pass, where } = stage;
    const theirs = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "notes" }, data: { a: "b" } };
    await on("east").create({ type: configMaps, namespace: namespaceThere() }, theirs);
    await client.delete({ type: deployments, namespace: "shop", name: "web" });
    await pass(20_000);
    expect(await where()).toBe("");
    expect(await isThere(stage)).toBe(true);
    const kept = await on("east").get<KubeObject>({ type: configMaps, namespace: namespaceThere(), name: "notes" });
    expect(kept.data).toEqual({ a: "b" });
  }, 60_000);

  test("stays when it is no longer marked as ours", async () => {
    const stage = await onEast();
    const { on, namespaceThere, client, pass } = stage;
    const body = { metadata: { labels: { "tmc.kcp.io/synced": null } } };
    const found = await on("east").get<KubeObject>({ type: namespaces, name: namespaceThere() });
    expect(Object.keys(found.metadata.labels ?? {})).toContain("tmc.kcp.io/synced");
    await on("east").patch({ type: namespaces, name: namespaceThere() }, { type: "merge", body });
    await client.delete({ type: deployments, namespace: "shop", name: "web" });
    await pass(20_000);
    expect(await isThere(stage)).toBe(true);
  }, 60_000);

  test("a downstream namespace is deleted from a cluster that its workloads have left", async () => {
    const stage = await onEast();
    await stage.change(placements.type, "shop", { spec: { clusterNames: ["west"] } });
    await stage.pass(20_000);
    expect([await stage.where(), await isThere(stage)]).toEqual(["west", false]);
  }, 60_000);
});
