import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { kinds } from "../../../lib/api/kinds.ts";
import { customResourceDefinition } from "../../../lib/api/resource-schema.ts";
import {
  type ControllerEnvironment,
  startControllerEnvironment,
  statusOf,
} from "../../support/controller-environment.ts";
import { aDeployment, deployments, records } from "../../support/moves-environment.ts";
import { aPlacement, aRegistration, placements, registrations } from "../upstream/tenants.ts";

const crds = { type: { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" } };
const pods = { type: { group: "", version: "v1", plural: "pods" } };
const inDefault = { type: deployments, namespace: "default" };

let stage: ControllerEnvironment;
beforeEach(async () => {
  stage = await startControllerEnvironment({
    reached: { east: "east", west: "west", hub: "hub", ordinary: "ordinary" },
    controlPlanes: ["hub"],
  });
});
afterEach(() => stage.stop());

const clientFor = (name: string): KubeClient => {
  const found = stage.clusters.get(name);
  if (found === undefined) throw new Error(`no cluster ${name}`);
  return createKubeClient({ endpoint: { server: found.url }, transport: found.transport(), name });
};

/** A server with TMC's types that places the namespace default on the clusters east and west. */
async function aHub(name: string): Promise<KubeClient> {
  const hub = clientFor(name);
  for (const kind of kinds) await hub.create(crds, customResourceDefinition(kind));
  await stage.rest();
  for (const cluster of ["east", "west"]) await hub.create(registrations, aRegistration(cluster));
  await hub.create(
    placements,
    aPlacement("all", { strategy: "Spread", workloadSelector: { namespaces: ["default"] } }),
  );
  return hub;
}
const podsOf = async (name: string): Promise<number> => (await clientFor(name).list(pods)).items.length;
const web = { ...aDeployment("web"), metadata: { name: "web", namespace: "default" } };

test("a workload of a control plane without workload controllers runs on its clusters alone", async () => {
  const hub = await aHub("hub");
  await stage.settled({ client: hub, workspaces: undefined, hubId: undefined });
  await hub.create(inDefault, { ...web, spec: { ...Object(aDeployment("web").spec), replicas: 2 } });
  await stage.pass(30_000);
  expect([await podsOf("hub"), await podsOf("east"), await podsOf("west")]).toEqual([0, 2, 2]);
  const { status } = await hub.get<KubeObject & { status?: object }>({ ...inDefault, name: "web" });
  expect(status).toMatchObject({ replicas: 4, readyReplicas: 4 });
});

test("a controller does not start if the hub runs workloads itself, and says what to do", async () => {
  const hub = await aHub("ordinary");
  await hub.create(inDefault, web);
  await stage.pass(1_000);
  const controller = stage.controller({ client: hub, workspaces: undefined, hubId: undefined });
  await expect(controller.start()).rejects.toThrow(/^--hub kubernetes: the cluster runs workloads itself \(/);
});

test("a hub with traces of workload controllers that are off is accepted if the operator says so", async () => {
  const hub = await aHub("ordinary");
  await hub.create(inDefault, web);
  await stage.pass(1_000);
  await stage.settled({ client: hub, workspaces: undefined, hubId: undefined, ignoresHubControllers: true });
  await stage.pass(30_000);
  expect(await podsOf("east")).toBeGreaterThan(0);
});

test("workloads are not written to clusters any more once the hub runs workloads itself", async () => {
  const hub = await aHub("ordinary");
  await stage.settled({ client: hub, workspaces: undefined, hubId: undefined });
  await hub.create(inDefault, web);
  await stage.pass(60_000);
  await hub.patch({ ...inDefault, name: "web" }, { type: "merge", body: { spec: { replicas: 7 } } });
  await stage.pass(60_000);
  const [record] = (await hub.list<KubeObject>({ type: records })).items;
  const { clusters, conditions } = statusOf(record ?? { apiVersion: "", kind: "", metadata: {} });
  expect(clusters).toMatchObject(
    ["east", "west"].map((name) => ({ name, state: "Paused", reason: "HubRunsWorkloads" })),
  );
  expect(conditions).toContainEqual(
    expect.objectContaining({ type: "HubControllersOff", status: "False", reason: "HubRunsWorkloads" }),
  );
  const [copy] = (await clientFor("east").list<KubeObject & { spec?: { replicas?: number } }>({ type: deployments }))
    .items;
  expect(copy?.spec?.replicas, "the later change was not written").not.toBe(7);
});
