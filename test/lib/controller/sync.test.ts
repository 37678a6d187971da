import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, test } from "vitest";
import type { WorkloadSync } from "../../../lib/api/workload-sync.ts";
import { downstreamNamespace } from "../../../lib/sync/ownership/namespace-map.ts";
import { type ControllerEnvironment, startControllerEnvironment } from "../../support/controller-environment.ts";
import { aPlacement, aRegistration, placements, registrations } from "../upstream/tenants.ts";

const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const records: ResourceType = { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadsyncs" };

const web = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "shop", labels: { app: "web" } },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image: "nginx:1.27" }] },
    },
  },
};

const stages: ControllerEnvironment[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.stop();
});

type Running = ControllerEnvironment & {
  /** A client for a cluster. */
  on(cluster: string): KubeClient;
  copy(cluster: string): Promise<KubeObject | undefined>;
};

async function running(): Promise<Running> {
  const stage = await startControllerEnvironment();
  stages.push(stage);
  const { client, cluster, clusters } = stage;
  await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  for (const name of ["east", "west"]) await client.create(registrations, aRegistration(name));
  await client.create(placements, aPlacement("shop", { strategy: "Spread", workloadSelector: {} }));
  await stage.settled();
  await client.create({ type: deployments, namespace: "shop" }, web);
  await stage.pass(10_000);
  const clientOf = (name: string): KubeClient => {
    const found = clusters.get(name);
    if (found === undefined) throw new Error(`no cluster ${name}`);
    return createKubeClient({ endpoint: { server: found.url }, transport: found.transport(), name });
  };
  const namespace = downstreamNamespace({ hub: "kcp", logicalCluster: cluster, namespace: "shop" });
  return {
    ...stage,
    on: clientOf,
    copy: async (name) => {
      const { items } = await clientOf(name).list<KubeObject>({ type: deployments, namespace });
      return items.find(({ metadata }) => metadata.name === "web");
    },
  };
}

describe("a controller with sync", () => {
  test("sync writes a workload to the selected clusters and aggregates its status upstream", async () => {
    const { client, copy } = await running();
    expect(await copy("east")).toMatchObject({ spec: { replicas: 3 } });
    expect(await copy("west")).toMatchObject({ spec: { replicas: 3 } });
    expect((await client.get({ type: deployments, namespace: "shop", name: "web" })).status).toMatchObject({
      replicas: 6,
      readyReplicas: 6,
      observedGeneration: 1,
    });
    const [record] = (await client.list({ type: records, namespace: "shop" })).items;
    expect(record).toMatchObject({
      spec: { placement: "shop", clusters: ["east", "west"], workload: { name: "web" } },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    });
  });

  test("sync follows changes and the deletion of a workload, and leaves no objects behind", async () => {
    const { client, copy, pass, on } = await running();
    await client.patch(
      { type: deployments, namespace: "shop", name: "web" },
      { type: "merge", body: { spec: { replicas: 5 } } },
    );
    await pass(10_000);
    expect(await copy("east")).toMatchObject({ spec: { replicas: 5 } });
    expect((await client.get({ type: deployments, namespace: "shop", name: "web" })).status).toMatchObject({
      readyReplicas: 10,
      observedGeneration: 2,
    });
    await client.delete({ type: deployments, namespace: "shop", name: "web" });
    await pass(30_000);
    expect(await copy("east")).toBeUndefined();
    expect((await client.list({ type: deployments, namespace: "shop" })).items).toEqual([]);
    expect((await client.list({ type: records, namespace: "shop" })).items).toEqual([]);
    const left = await on("east").list<KubeObject>({ type: namespaces });
    expect(left.items.filter(({ metadata }) => metadata.name?.startsWith("tmc-"))).toEqual([]);
  });

  test("sync reports the state on other clusters within seconds while one cluster hangs", async () => {
    const { client, copy, clock, clusters } = await running();
    const west = clusters.get("west");
    const hang = west?.faults.inject({ effect: { kind: "partition", requests: "hang" } });
    await client.patch(
      { type: deployments, namespace: "shop", name: "web" },
      { type: "merge", body: { spec: { replicas: 5 } } },
    );
    // The hanging reconcile stays in flight, so the test cannot wait until the queue is idle.
    for (let second = 0; second < 8; second += 1) {
      clock.advance(1_000);
      for (let turn = 0; turn < 100; turn += 1) {
        clock.advance(0);
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    expect(await copy("east")).toMatchObject({ spec: { replicas: 5 } });
    const [record] = (await client.list<KubeObject & WorkloadSync>({ type: records, namespace: "shop" })).items;
    expect(record?.status?.clusters).toMatchObject([
      { name: "east", generation: 2, state: "Ready", readyReplicas: 5 },
      { name: "west", generation: 1, state: "Stale", message: "cluster west: no answer in time" },
    ]);
    hang?.remove();
  });

  test("sync writes nothing without a change", async () => {
    const { count, pass } = await running();
    const writes = count();
    await pass(40_000);
    expect(writes()).toBe(0);
  });
});
