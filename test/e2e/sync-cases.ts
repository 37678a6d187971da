import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import { findCondition } from "../../lib/model/condition.ts";
import { locatorOf } from "../../lib/sync/ownership/namespace-map.ts";
import { ownerOf, syncedLabel } from "../../lib/sync/ownership/owner.ts";
import { eventually } from "../support/eventually.ts";
import { type ClusterName, clusterNames, type Environment } from "./environment.ts";
import { startWriteLogs, untilAllReady } from "./quiescence.ts";
import { syncContentCases } from "./sync-content-cases.ts";
import type { SyncBench } from "./sync-environment.ts";
import { syncLeavingCases } from "./sync-eviction-cases.ts";
import { syncOthersCases } from "./sync-foreign-changes-cases.ts";
import { syncSuccessorCases } from "./sync-successor-cases.ts";
import { type Deployment, imageOf, workTypes } from "./tenant-work.ts";
import { formatWrite, type StoredWrite } from "./write-log.ts";

/**
 * The promises of sync, in whatever form the controller runs: what is applied in the workspace is on the chosen clusters,
 * stays so, and says how it is there. They build on one another: a case finds the clusters that the first has registered.
 */
export function syncCases(bench: SyncBench): void {
  const { begin, waitMs } = bench;

  it("runs the sample on the selected clusters and reports its status in the workspace", async () => {
    const { world, tenant, work } = await begin();
    for (const name of clusterNames) await tenant.register(name, { location: `${name}-1` }, { region: name });
    for (const name of clusterNames) await tenant.untilCluster(name, "True ClusterReady");
    for (const name of clusterNames) await makeStrangers(world, name);

    await work.applyExample("shop.yaml");
    // Three replicas over two clusters that weigh the same: the first by name gets the odd one.
    const web = await work.untilRuns("shop", "web", { "us-east": 2, "us-west": 1 });
    expect(web.status).toMatchObject({ replicas: 3, readyReplicas: 3, observedGeneration: web.metadata.generation });
    for (const name of clusterNames) {
      const copy = await work.copy<Deployment>(name, "Deployment", "shop", "web");
      expect(imageOf(copy)).toBe(imageOf(web));
      expect(await work.copy(name, "Service", "shop", "web")).toMatchObject({ spec: { ports: [{ port: 80 }] } });
      expect(await work.copy(name, "ConfigMap", "shop", "web")).toMatchObject({
        data: { GREETING: "Welcome to the shop" },
      });
    }
    const record = await work.record("shop", "web");
    expect(record?.spec).toMatchObject({ placement: "shop", clusters: ["us-east", "us-west"] });
    expect(findCondition(record?.status?.conditions, "Ready")).toMatchObject({ status: "True" });
  });

  it("gives each tenant namespace its own downstream namespace, and leaves other objects unchanged", async () => {
    const { world, work } = await begin();
    for (const name of clusterNames) {
      const client = world.clusterClient(name);
      const namespaces = (await client.listAll<KubeObject>({ type: workTypes.Namespace })).items;
      const ours = namespaces.filter(({ metadata }) => metadata.labels?.[syncedLabel] !== undefined);
      expect(ours.map(({ metadata }) => metadata.name)).toEqual([work.namespaceOn("shop")]);
      expect(ours.map(locatorOf)).toEqual([{ hub: "kcp", logicalCluster: world.tenantCluster, namespace: "shop" }]);
    }
    await expectStrangersAsTheyWere(world);
  });

  it("writes nothing at rest, and only the changed object after a change", async () => {
    const { world, form, tenant, work } = await begin();
    await untilAllReady(tenant, { placement: "shop", workloads: 2 }, waitMs);
    const atRest = await startWriteLogs(world);
    await form.resynced(2);
    expect((await atRest()).map(formatWrite)).toEqual([]);

    const ofScale = await startWriteLogs(world);
    await work.merge("Deployment", "shop", "web", { spec: { replicas: 4 } });
    await work.untilRuns("shop", "web", { "us-east": 2, "us-west": 2 });
    await form.resynced(2);
    const written = await ofScale();
    // Only where the number has changed, and once.
    expect(written.filter(isOurApply).map(formatWrite)).toHaveLength(1);
    expect(written.map(({ object }) => object.kind)).not.toContain("Service");
    expect(written.map(({ object }) => object.kind)).not.toContain("ConfigMap");

    const ofImage = await startWriteLogs(world);
    const image = "nginx:1.30";
    const web = await work.find<Deployment>("Deployment", "shop", "web");
    await work.apply(withImage(web, image));
    await eventually(async () => {
      for (const name of clusterNames) {
        const has = imageOf(await work.copy<Deployment>(name, "Deployment", "shop", "web"));
        if (has !== image) return `${name} has ${has}`;
      }
      return undefined;
    }, waitMs);
    const after = await work.untilRuns("shop", "web", { "us-east": 2, "us-west": 2 });
    await form.resynced(2);
    expect((await ofImage()).filter(isOurApply).map(formatWrite)).toHaveLength(2);
    expect(after.status?.observedGeneration).toBe(after.metadata.generation);
  });

  it("deletes the copies and dependencies of a deleted workload", async () => {
    const { world, work } = await begin();
    await work.remove("Deployment", "shop", "web");
    await work.remove("Service", "shop", "web");
    await work.untilCleared("shop");
    // What nobody selected is its owner's own.
    expect(await work.find("ConfigMap", "shop", "web")).toBeDefined();
    await work.remove("WorkloadPlacement", undefined, "shop");
    await expectStrangersAsTheyWere(world);
  });

  syncContentCases(bench);
  syncOthersCases(bench);
  syncLeavingCases(bench);
  syncSuccessorCases(bench);

  it("leaves no object on any cluster after all workloads are deleted, and never changed a foreign object", async () => {
    const { world, tenant } = await begin();
    expect((await tenant.placements()).map(({ metadata }) => metadata.name)).toEqual([]);
    for (const name of clusterNames) {
      const client = world.clusterClient(name);
      for (const type of Object.values(workTypes).filter(({ group }) => group !== "tmc.kcp.io")) {
        const { items } = await client.listAll<KubeObject>({ type }, { labelSelector: syncedLabel });
        expect(items.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`)).toEqual([]);
      }
    }
    await expectStrangersAsTheyWere(world);
  });
}

const stranger = { type: workTypes.ConfigMap, namespace: "default", name: "of-somebody-else" };

/** Creates an object on a cluster that TMC does not own. */
async function makeStrangers(world: Environment, name: ClusterName): Promise<void> {
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: stranger.name }, data: { mine: "yes" } };
  await world.clusterClient(name).create(stranger, body);
  await world.clusterClient(name).create({ ...stranger, namespace: "kube-system" }, body);
}

/** Nothing that was there before, and nothing outside of the tenant's namespaces, bears a trace of TMC. */
async function expectStrangersAsTheyWere(world: Environment): Promise<void> {
  for (const name of clusterNames) {
    const client = world.clusterClient(name);
    for (const namespace of ["default", "kube-system"]) {
      expect(await client.get({ ...stranger, namespace })).toMatchObject({ data: { mine: "yes" } });
    }
    for (const kind of ["Namespace", "ConfigMap", "Secret", "ServiceAccount", "Deployment", "Service"] as const) {
      const { items } = await client.listAll<KubeObject>({ type: workTypes[kind] });
      const touched = items.filter(({ metadata }) => {
        const isOurs = (metadata.namespace ?? metadata.name ?? "").startsWith("tmc-");
        const isWritten = metadata.managedFields?.some(({ manager }) => manager === "tmc") === true;
        return !isOurs && (isWritten || metadata.labels?.[syncedLabel] !== undefined);
      });
      expect(touched.map(({ metadata }) => `${name} ${kind} ${metadata.namespace}/${metadata.name}`)).toEqual([]);
    }
  }
}

/** The latest generation of a copy, once: what our own writes raise, and a cluster's controllers do not. */
function isOurApply({ object }: StoredWrite, at: number, all: readonly StoredWrite[]): boolean {
  const origin = ownerOf(object);
  if (origin === undefined) return false;
  const { uid, generation } = object.metadata;
  const isSame = ({ object: { metadata } }: StoredWrite) => metadata.uid === uid && metadata.generation === generation;
  return all.findIndex(isSame) === at && !all.slice(0, at).some(isSame);
}

/** What its owner applies to change the image: the whole Deployment, without what servers add to it. */
function withImage(deployment: Deployment | undefined, image: string): KubeObject {
  if (deployment === undefined) throw new Error("there is no such Deployment");
  const { apiVersion, kind, metadata, spec } = deployment;
  const [container] = spec.template.spec.containers;
  const template = { ...spec.template, spec: { ...spec.template.spec, containers: [{ ...container, image }] } };
  const { name, namespace, labels } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { ...(name && { name }), ...(namespace && { namespace }), ...(labels && { labels }) },
    spec: { ...spec, template },
  };
}
