import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, test } from "vitest";
import { exportName, exportWorkspace } from "../../../lib/api/group.ts";
import type { ControllerOptions } from "../../../lib/controller/parts.ts";
import { formatKey, workloadKey } from "../../../lib/model/key.ts";
import { createMetrics } from "../../../lib/observe/metrics.ts";
import { shardOf } from "../../../lib/sources/shard.ts";
import { downstreamNamespace } from "../../../lib/sync/ownership/namespace-map.ts";
import { upsyncOriginOf } from "../../../lib/sync/ownership/upsync-origin.ts";
import {
  type ControllerEnvironment,
  startControllerEnvironment,
  statusOf,
} from "../../support/controller-environment.ts";
import { aPlacement, aRegistration, placements, registrations } from "../upstream/tenants.ts";

const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const records: ResourceType = { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadsyncs" };
const events: ResourceType = { group: "", version: "v1", plural: "events" };
const at = { type: deployments, namespace: "shop", name: "web" };

const web = (replicas = 2, image = "nginx:1.27") => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "shop", labels: { app: "web" } },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image }] } },
  },
});

const stages: ControllerEnvironment[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.stop();
});

const allTenants: Partial<ControllerOptions> = {
  workspaces: undefined,
  apiExport: {
    address: { path: exportWorkspace, name: exportName },
    openEndpoint: () => {
      throw new Error("there is one server");
    },
  },
};

type Running = ControllerEnvironment & {
  east: KubeClient;
  west: KubeClient;
  /** The copy on a cluster, in the downstream namespace. */
  copy(cluster: KubeClient): Promise<KubeObject | undefined>;
  upstream(): Promise<KubeObject | undefined>;
};

/** Two clusters that opt in to Deployments of the namespace shop, and a placement on all clusters. */
async function running({
  isPlaced = true,
  options,
}: Readonly<{ isPlaced?: boolean; options?: Partial<ControllerOptions> }> = {}): Promise<Running> {
  const stage = await startControllerEnvironment();
  stages.push(stage);
  const { client, cluster, clusters } = stage;
  const clientOf = (name: string): KubeClient => {
    const found = clusters.get(name);
    if (found === undefined) throw new Error(`no cluster ${name}`);
    return createKubeClient({ endpoint: { server: found.url }, transport: found.transport(), name });
  };
  const [east, west] = [clientOf("east"), clientOf("west")];
  const shop = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
  for (const each of [client, east, west]) await each.create({ type: namespaces }, shop);
  const upsync = [{ apiVersion: "apps/v1", kind: "Deployment", namespaces: ["shop"] }];
  for (const name of ["east", "west"]) await client.create(registrations, aRegistration(name, { upsync }));
  if (isPlaced) await client.create(placements, aPlacement("all", { strategy: "Spread", workloadSelector: {} }));
  await stage.settled(options);
  const namespace = downstreamNamespace({ hub: "kcp", logicalCluster: cluster, namespace: "shop" });
  const find = async (on: KubeClient, where: string): Promise<KubeObject | undefined> =>
    (await on.list<KubeObject>({ type: deployments, namespace: where })).items.find(
      ({ metadata }) => metadata.name === "web",
    );
  return { ...stage, east, west, copy: (on) => find(on, namespace), upstream: () => find(client, "shop") };
}

function conditionOf(registration: KubeObject, type: string): unknown {
  const { conditions } = statusOf(registration);
  return Array.isArray(conditions) ? conditions.find((each: { type?: unknown }) => each.type === type) : undefined;
}

describe("a controller with upsync", () => {
  test("creates upstream what was created on a cluster, and places it on the others", async () => {
    const { cluster, client, east, west, copy, upstream, pass, registration } = await running();
    const origin = await east.create<KubeObject>({ type: deployments, namespace: "shop" }, web());
    await pass(20_000);

    const known = await upstream();
    expect(known).toMatchObject({
      metadata: { labels: { app: "web" } },
      spec: { replicas: 2 },
      status: { replicas: 4, readyReplicas: 4 },
    });
    expect(known && upsyncOriginOf(known, cluster)).toMatchObject({ registration: "east", uid: origin.metadata.uid });
    expect(await copy(west)).toMatchObject({ spec: { replicas: 2 } });
    expect((await copy(west))?.metadata.annotations).not.toHaveProperty("tmc.kcp.io/upsync-origin");
    // The origin gets no copy and is unchanged.
    expect(await copy(east)).toBeUndefined();
    expect((await east.get<KubeObject>(at)).metadata).toMatchObject({
      uid: origin.metadata.uid,
      labels: { app: "web" },
    });
    const [record] = (await client.list<KubeObject>({ type: records, namespace: "shop" })).items;
    expect(record).toMatchObject({
      spec: { clusters: ["west"] },
      status: {
        clusters: [
          { name: "east", state: "Ready", readyReplicas: 2 },
          { name: "west", state: "Ready" },
        ],
      },
    });
    expect(conditionOf(await registration("east"), "UpsyncReady")).toMatchObject({ status: "True" });
  });

  test("upsync shows the status of an object that no placement selects", async () => {
    const { client, east, upstream, pass } = await running({ isPlaced: false });
    await east.create({ type: deployments, namespace: "shop" }, web());
    await pass(20_000);
    expect(await upstream()).toMatchObject({ status: { readyReplicas: 2 } });
    expect((await client.list({ type: records, namespace: "shop" })).items).toEqual([]);
  });

  test("upsync takes the spec from the origin only, and creates an object again that was deleted in the workspace", async () => {
    const { client, east, west, copy, upstream, pass } = await running();
    await east.create({ type: deployments, namespace: "shop" }, web());
    await pass(20_000);
    await east.patch(at, { type: "merge", body: { spec: { replicas: 5 } } });
    await pass(10_000);
    expect(await upstream()).toMatchObject({ spec: { replicas: 5 } });
    expect(await copy(west)).toMatchObject({ spec: { replicas: 5 } });

    await client.patch(at, { type: "merge", body: { spec: { replicas: 1, paused: true } } });
    await pass(10_000);
    expect(await upstream()).toMatchObject({ spec: { replicas: 5 } });
    expect((await upstream())?.spec).not.toHaveProperty("paused");
    expect(await copy(west)).toMatchObject({ spec: { replicas: 5 } });

    const before = (await upstream())?.metadata.uid;
    await client.delete(at);
    await pass(30_000);
    const back = await upstream();
    expect(back?.metadata.uid).not.toBe(before);
    expect(back).toMatchObject({ spec: { replicas: 5 }, status: { readyReplicas: 10 } });
    expect(await copy(west)).toMatchObject({ spec: { replicas: 5 } });
  });

  test.each<[string, Partial<ControllerOptions>]>([
    ["directly", {}],
    ["through an export", allTenants],
  ])("%s: an upsynced object and its copies are deleted with the origin", async (_, options) => {
    const { client, east, west, copy, upstream, pass } = await running({ options });
    await east.create({ type: deployments, namespace: "shop" }, web());
    await pass(20_000);
    expect(await copy(west)).toBeDefined();
    await east.delete(at);
    await pass(30_000);
    expect(await upstream()).toBeUndefined();
    expect(await copy(west)).toBeUndefined();
    expect((await client.list({ type: records, namespace: "shop" })).items).toEqual([]);
  });

  test("upsync deletes nothing while the origin's cluster is unreachable, and catches up afterwards", async () => {
    const { clusters, east, west, copy, upstream, pass, registration } = await running();
    await east.create({ type: deployments, namespace: "shop" }, web());
    // A deletion that no watch observes is held if no object is left on the cluster.
    await east.create({ type: deployments, namespace: "shop" }, { ...web(), metadata: { name: "rest" } });
    await pass(20_000);
    const cut = clusters.get("east")?.faults.inject({ match: {}, effect: { kind: "status", code: 503 } });
    await pass(200_000, 5_000);
    expect(conditionOf(await registration("east"), "Ready")).toMatchObject({ status: "False" });
    const known = await upstream();
    expect(known).toMatchObject({ spec: { replicas: 2 }, status: { readyReplicas: 2 } });
    expect(known && conditionOf(known, "tmc.kcp.io/SeenEverywhere")).toMatchObject({
      status: "False",
      message: "seen on 1/2 clusters, not on east",
    });
    expect(await copy(west)).toBeDefined();
    cut?.remove();
    await east.delete(at);
    await pass(200_000, 5_000);
    expect(await upstream()).toBeUndefined();
    expect(await copy(west)).toBeUndefined();
  });

  test("upsync overwrites no other object, and reports a name conflict", async () => {
    const { client, east, west, upstream, pass, registration } = await running();
    await east.create({ type: deployments, namespace: "shop" }, web(2, "east:1"));
    await pass(20_000);
    const known = await upstream();
    await west.create({ type: deployments, namespace: "shop" }, web(7, "west:1"));
    await pass(40_000);
    expect((await upstream())?.spec).toEqual(known?.spec);
    expect(conditionOf(await registration("west"), "UpsyncConflict")).toMatchObject({
      status: "True",
      reason: "NameTaken",
      message: "the workspace has another object with the same name: deployments shop/web",
    });
    expect(conditionOf(await registration("east"), "UpsyncConflict")).toBeUndefined();
    const told = await client.list<KubeObject>({ type: events, namespace: "shop" });
    expect(told.items.map(({ reason }) => reason)).toContain("UpsyncConflict");
    await west.delete(at);
    await pass(60_000);
    expect(conditionOf(await registration("west"), "UpsyncConflict")).toMatchObject({ status: "False" });
  });

  test("upsynced objects are kept after their cluster opts out", async () => {
    const { client, east, upstream, cluster, pass, registration } = await running();
    await east.create({ type: deployments, namespace: "shop" }, web());
    await pass(20_000);
    await client.patch({ ...registrations, name: "east" }, { type: "merge", body: { spec: { upsync: null } } });
    await east.delete(at);
    await pass(60_000);
    const known = await upstream();
    expect(known && upsyncOriginOf(known, cluster)).toMatchObject({ registration: "east" });
    expect(conditionOf(await registration("east"), "UpsyncReady")).toBeUndefined();
  });

  test("idle upsync writes nothing, and reads nothing that its watches have cached", async () => {
    const { count, clusters, east, pass } = await running();
    await east.create({ type: deployments, namespace: "shop" }, web());
    await pass(20_000);
    const writes = count();
    const asked = clusters
      .get("east")
      ?.faults.inject({ match: { verb: "get", resource: "deployments" }, effect: { kind: "delay", ms: 0 } });
    await pass(35_000);
    expect(writes()).toBe(0);
    expect(asked?.hits).toBe(0);
  });

  test("with shards, each shard upsyncs its own objects, whichever has the registration, and reads nothing while idle", async () => {
    const shards = ["0", "1"];
    const metrics = [createMetrics(), createMetrics()] as const;
    const options = { shard: { id: "0", shards }, metrics: metrics[0] };
    const { cluster, client, clusters, east, pass, settled } = await running({ options });
    await settled({ shard: { id: "1", shards }, metrics: metrics[1] });
    const ownerOf = (name: string) =>
      shardOf(formatKey(workloadKey(cluster, { type: deployments, namespace: "shop", name })), shards);
    const candidates = Array.from({ length: 100 }, (_, n) => `web-${n}`);
    const names = shards.flatMap((id) => candidates.filter((name) => ownerOf(name) === id).slice(0, 2));
    const upstream = async () =>
      (await client.list<KubeObject>({ type: deployments, namespace: "shop" })).items.map(
        ({ metadata }) => metadata.name,
      );
    const acted = (action: string) =>
      metrics.map((each) =>
        Number(
          new RegExp(`^tmc_upsync_actions_total\\{action="${action}"\\} (\\d+)$`, "m").exec(each.render())?.[1] ?? 0,
        ),
      );

    for (const name of names)
      await east.create({ type: deployments, namespace: "shop" }, { ...web(), metadata: { name } });
    await pass(20_000);
    expect(await upstream()).toEqual(expect.arrayContaining(names));
    expect(acted("created")).toEqual([2, 2]);
    const asked = clusters
      .get("east")
      ?.faults.inject({ match: { verb: "get", resource: "deployments" }, effect: { kind: "delay", ms: 0 } });
    await pass(35_000);
    expect(asked?.hits).toBe(0);
    for (const name of names) await east.delete({ type: deployments, namespace: "shop", name });
    await pass(20_000);
    expect(await upstream()).toEqual([]);
    expect(acted("removed")).toEqual([2, 2]);
  });
});
