import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { kinds } from "../../../lib/api/kinds.ts";
import { customResourceDefinition } from "../../../lib/api/resource-schema.ts";
import { hubRecordAddress } from "../../../lib/upstream/hub-record.ts";
import { type ControllerEnvironment, startControllerEnvironment } from "../../support/controller-environment.ts";
import { aDeployment, deployments, namespaces, records } from "../../support/moves-environment.ts";
import { aPlacement, aRegistration, placements, registrations } from "../upstream/tenants.ts";

const crds = { type: { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" } };

let stage: ControllerEnvironment;
beforeEach(async () => {
  stage = await startControllerEnvironment({
    reached: { east: "east", one: "one", two: "two" },
    controlPlanes: ["one", "two"],
  });
});
afterEach(() => stage.stop());

const clientFor = (name: string, server?: string): KubeClient => {
  const found = stage.clusters.get(name);
  if (found === undefined) throw new Error(`no cluster ${name}`);
  return createKubeClient({ endpoint: { server: server ?? found.url }, transport: found.transport(), name });
};

/** A plain hub with a registration of the cluster east and a placed Deployment shop/web. */
async function aPlainHub(name: string, replicas: number): Promise<KubeClient> {
  const hub = clientFor(name);
  for (const kind of kinds) await hub.create(crds, customResourceDefinition(kind));
  await stage.rest();
  await hub.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  await hub.create(registrations, aRegistration("east"));
  await hub.create(placements, aPlacement("shop", { workloadSelector: { namespaces: ["shop"] } }));
  const web = aDeployment("web");
  await hub.create({ type: deployments, namespace: "shop" }, { ...web, spec: { ...Object(web.spec), replicas } });
  return hub;
}

/** Namespace, generation and replicas of each copy on the cluster east. */
const copies = async (): Promise<readonly KubeObject[]> =>
  (await clientFor("east").list<KubeObject>({ type: deployments })).items.toSorted(
    (a, b) => Number(Object(a.spec).replicas) - Number(Object(b.spec).replicas),
  );

describe("two plain hubs that register the same cluster under the same name", () => {
  let one: KubeClient;
  let two: KubeClient;
  beforeEach(async () => {
    one = await aPlainHub("one", 1);
    two = await aPlainHub("two", 2);
    await stage.settled({ client: one, workspaces: undefined, hubId: undefined });
    await stage.settled({ client: two, workspaces: undefined, hubId: undefined });
    await stage.pass(30_000);
  });

  test("do not share a namespace, and do not overwrite each other's copies", async () => {
    const before = await copies();
    expect(before.map(({ spec }) => Object(spec).replicas)).toEqual([1, 2]);
    expect(new Set(before.map(({ metadata }) => metadata.namespace)).size).toBe(2);
    await stage.pass(120_000);
    const generations = (items: readonly KubeObject[]) => items.map(({ metadata }) => metadata.generation);
    expect(generations(await copies())).toEqual(generations(before));
  }, 60_000);

  test("deleting the workload of one leaves the copy of the other", async () => {
    const [, ofTwo] = await copies();
    await one.delete({ type: deployments, namespace: "shop", name: "web" });
    await stage.pass(60_000);
    expect((await copies()).map(({ metadata }) => metadata.uid)).toEqual([ofTwo?.metadata.uid]);
    await expect(one.get({ type: deployments, namespace: "shop", name: "web" })).rejects.toThrow("404");
  }, 60_000);

  test("a restored copy of a hub refuses to start, and changes nothing on the cluster", async () => {
    const before = await copies();
    const copyOfOne = stage.controller({
      client: clientFor("one", "https://staging.example.com"),
      workspaces: undefined,
      hubId: undefined,
    });
    const result = await copyOfOne.start().then(() => "started", String);
    expect(result).toMatch(/hub identity: HubIdentityChanged: /);
    await stage.pass(60_000);
    expect(await copies()).toEqual(before);
  }, 60_000);
});

describe("a hub with copies of an earlier version", () => {
  test("keeps the id of its copies: none is deleted or created again", async () => {
    const hub = await aPlainHub("one", 1);
    const earlier = await stage.settled({ client: hub, workspaces: undefined, hubId: "kcp" });
    await stage.pass(30_000);
    const stopped = earlier.stop();
    await stage.pass(30_000);
    await stopped;
    // Sync records of earlier versions name no hub.
    const { items } = await hub.list<KubeObject>({ type: records });
    for (const { metadata } of items) {
      const body = { metadata: { annotations: { "tmc.kcp.io/hub-id": null } } };
      const { namespace, name = "" } = metadata;
      await hub.patch({ type: records, namespace, name }, { type: "merge", body });
    }
    const before = await copies();
    expect(before).toHaveLength(1);
    await stage.settled({ client: hub, workspaces: undefined, hubId: undefined });
    await stage.pass(60_000);
    const uids = (found: readonly KubeObject[]) => found.map(({ metadata }) => metadata.uid);
    expect(uids(await copies())).toEqual(uids(before));
    expect(Object((await hub.get<KubeObject>(hubRecordAddress)).data).id).toBe("kcp");
  }, 60_000);
});

test("a controller whose hub cannot be identified does not start", async () => {
  const hub = await aPlainHub("one", 1);
  const faults = stage.clusters.get("one")?.faults;
  faults?.inject({ match: { verb: "get", resource: "namespaces" }, effect: { kind: "status", code: 403 } });
  const controller = stage.controller({ client: hub, workspaces: undefined, hubId: undefined });
  await expect(controller.start()).rejects.toThrow(
    /^hub identity: HubIdentityUnknown: its uid cannot be read; .*--hub-id/,
  );
});
