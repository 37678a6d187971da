import type { EmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, expect, test } from "vitest";
import { type Condition, findCondition } from "../../../lib/model/condition.ts";
import { acceptIdentityAnnotation } from "../../../lib/registration/identity.ts";
import { downstreamNamespace } from "../../../lib/sync/ownership/namespace-map.ts";
import {
  type ControllerEnvironment,
  startControllerEnvironment,
  statusOf,
} from "../../support/controller-environment.ts";
import { aPlacement, aRegistration, placements, registrations } from "../upstream/tenants.ts";

const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const inShop = { type: deployments, namespace: "shop" };

const stages: ControllerEnvironment[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.stop();
});

const aDeployment = (name: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "shop", labels: { app: name } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image: "nginx" }] } },
  },
});

const clientOf = (cluster: EmbeddedCluster | undefined, name: string): KubeClient => {
  if (cluster === undefined) throw new Error(`no cluster ${name}`);
  return createKubeClient({ endpoint: { server: cluster.url }, transport: cluster.transport(), name });
};
const namesIn = async (client: KubeClient, namespace: string): Promise<readonly string[]> =>
  (await client.list<KubeObject>({ type: deployments, namespace })).items
    .map(({ metadata }) => metadata.name ?? "")
    .toSorted();

/** Registrations east and west; three Deployments were created on east and upsynced, and "own" was created in the workspace. */
async function upsynced() {
  /** Registration → the cluster that its kubeconfig leads to. Nothing is registered as "spare". */
  const reached: Record<string, string> = { east: "east", west: "west", spare: "other" };
  const stage = await startControllerEnvironment({ reached });
  stages.push(stage);
  const { client, clusters, cluster } = stage;
  const [east, west, other] = ["east", "west", "other"].map((name) => clientOf(clusters.get(name), name));
  if (east === undefined || west === undefined || other === undefined) throw new Error("three clusters are started");
  const shop = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
  for (const each of [client, east, west]) await each.create({ type: namespaces }, shop);
  const upsync = [{ apiVersion: "apps/v1", kind: "Deployment", namespaces: ["shop"] }];
  await client.create(registrations, aRegistration("east", { upsync, evictAfterSeconds: 86_400 }));
  await client.create(registrations, aRegistration("west"));
  await client.create(placements, aPlacement("all", { strategy: "Spread", workloadSelector: {} }));
  const controller = await stage.settled();
  await client.create(inShop, aDeployment("own"));
  for (const name of ["a", "b", "c"]) await east.create(inShop, aDeployment(name));
  await stage.pass(20_000);
  const copies = downstreamNamespace({ hub: "kcp", logicalCluster: cluster, namespace: "shop" });
  const state = async () => ({
    upstream: await namesIn(client, "shop"),
    west: await namesIn(west, copies),
    other: [...(await namesIn(other, copies)), ...(await namesIn(other, "shop"))],
  });
  const conditionOf = async (type: string): Promise<Condition | undefined> =>
    findCondition(statusOf(await stage.registration("east")).conditions as readonly Condition[], type);
  return { ...stage, controller, reached, east, copies, state, conditionOf };
}

const all = ["a", "b", "c", "own"];

test("nothing is deleted or written because the kubeconfig of a registration leads to another cluster, until a user accepts it", async () => {
  const { client, reached, east, copies, state, conditionOf, registration, pass } = await upsynced();
  expect(await state()).toEqual({ upstream: all, west: all, other: [] });
  const { clusterUID } = statusOf(await registration("east"));
  expect(clusterUID).toMatch(/^[0-9a-f-]{36}$/);

  reached.east = "other";
  await pass(600_000, 5_000);
  expect(await state()).toEqual({ upstream: all, west: all, other: [] });
  expect(await namesIn(east, copies)).toEqual(["own"]);
  const { observedClusterUID } = statusOf(await registration("east"));
  const ready = await conditionOf("Ready");
  expect(ready).toMatchObject({ status: "False", reason: "ClusterIdentityChanged" });
  for (const uid of [clusterUID, observedClusterUID]) expect(ready?.message).toContain(uid);
  expect(observedClusterUID).not.toBe(clusterUID);

  const body = { metadata: { annotations: { [acceptIdentityAnnotation]: observedClusterUID } } };
  await client.patch({ ...registrations, name: "east" }, { type: "merge", body });
  await pass(60_000);
  expect(await conditionOf("Ready")).toMatchObject({ status: "True" });
  expect(statusOf(await registration("east"))).toMatchObject({ clusterUID: observedClusterUID });
  // Sync continues on the accepted cluster. It has none of the upsynced objects, and their deletion awaits a confirmation.
  expect(await state()).toEqual({ upstream: all, west: all, other: ["own"] });
  expect(await conditionOf("UpsyncHeld")).toMatchObject({ status: "True", reason: "DeletionsHeld" });
});

test("a workload that is deleted while another cluster answers keeps its record until the registered cluster answers again", async () => {
  const { client, reached, east, copies, state, conditionOf, pass } = await upsynced();
  reached.east = "other";
  // Before any probe has found the other cluster.
  await client.delete({ ...inShop, name: "own" });
  await pass(300_000, 5_000);
  expect(await namesIn(east, copies)).toEqual(["own"]);
  expect((await state()).upstream).toEqual(all);
  reached.east = "east";
  await pass(120_000, 5_000);
  expect(await conditionOf("Ready")).toMatchObject({ status: "True" });
  expect(await namesIn(east, copies)).toEqual([]);
  expect((await state()).upstream).toEqual(["a", "b", "c"]);
});
