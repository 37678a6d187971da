import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { afterEach, describe, expect, test } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { type ControllerEnvironment, startControllerEnvironment } from "../../support/controller-environment.ts";
import { aPlacement, aRegistration, placements, registrations } from "../upstream/tenants.ts";

const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const services: ResourceType = { group: "", version: "v1", plural: "services" };
const many = 300;

const stages: ControllerEnvironment[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.stop();
});

/** A workspace with two clusters and without placements. */
async function running(): Promise<ControllerEnvironment> {
  const stage = await startControllerEnvironment();
  stages.push(stage);
  const { client } = stage;
  await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  for (const name of ["east", "west"]) await client.create(registrations, aRegistration(name));
  return stage;
}

const aService = (name: string) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "shop" },
  spec: { ports: [{ port: 80 }], selector: { app: name } },
});

const statusOf = async ({ placement }: ControllerEnvironment, name: string) =>
  ((await placement(name)) as KubeObject & WorkloadPlacement).status; // the server has validated it by the schema

/** Counts the writes of placements from now on. */
const countWrites = ({ tenants }: ControllerEnvironment): (() => number) => {
  const injected = tenants.kcp.faults.inject({
    match: { verb: "patch", resource: "workloadplacements" },
    effect: { kind: "delay", ms: 0 },
  });
  return () => injected.hits;
};

describe("status.placedWorkloads of a placement", () => {
  test("placedWorkloads is written a few times for hundreds of new workloads, and never without a change", {
    timeout: 60_000,
  }, async () => {
    const stage = await running();
    const { client, pass, count } = stage;
    await client.create(placements, aPlacement("shop", { strategy: "Spread", workloadSelector: {} }));
    // No rate limit: the clock does not advance while a call waits for one.
    const callRate = { perSecond: 1_000_000, burst: 1_000_000 };
    await stage.settled({ settings: { syncSettings: { callRate } } });
    const writes = countWrites(stage);
    for (let at = 0; at < many; at += 1) {
      await client.create({ type: services, namespace: "shop" }, aService(`s-${at}`));
    }
    await pass(30_000);
    const status = await statusOf(stage, "shop");
    const listed = status?.placedWorkloads ?? [];
    expect(listed[0]).toMatchObject({ kind: "Service", namespace: "shop", state: "Ready", clusters: ["east", "west"] });
    expect(listed.length + (status?.placedWorkloadsOmitted?.count ?? 0)).toBe(many);
    expect(JSON.stringify(status).length).toBeLessThan(100_000);
    expect(writes()).toBeGreaterThan(0);
    // At most one write in five seconds.
    expect(writes()).toBeLessThanOrEqual(7);

    const all = count();
    // Includes a resync, and ends before the next heartbeat is written.
    await pass(25_000);
    expect(all()).toBe(0);
  });

  test("placedWorkloads omits a deleted workload", async () => {
    const stage = await running();
    const { client, pass } = stage;
    await client.create(placements, aPlacement("shop", { strategy: "Spread", workloadSelector: {} }));
    await stage.settled();
    await client.create({ type: services, namespace: "shop" }, aService("web"));
    await pass(10_000);
    expect((await statusOf(stage, "shop"))?.placedWorkloads).toMatchObject([{ name: "web", state: "Ready" }]);
    await client.delete({ type: services, namespace: "shop", name: "web" });
    await pass(40_000);
    expect((await statusOf(stage, "shop"))?.placedWorkloads).toBeUndefined();
  });

  test("a placement without workloads is written once for its decision", async () => {
    const stage = await running();
    const { client, pass } = stage;
    await stage.settled();
    const writes = countWrites(stage);
    for (let at = 0; at < 20; at += 1) await client.create(placements, aPlacement(`p-${at}`, {}));
    await pass(5_000);
    expect((await statusOf(stage, "p-0"))?.history).toMatchObject([{ reason: "FirstDecision" }]);
    expect(writes()).toBe(20);
  });

  test("a placement that governs no workload says so, until it governs one", async () => {
    const stage = await running();
    const { client, pass } = stage;
    const namespaces = ["shop"];
    await client.create(placements, aPlacement("shop", { workloadSelector: { namespaces } }));
    await client.create(placements, aPlacement("inert", {}));
    await stage.settled();
    await pass(5_000);
    const selectionOf = async (name: string) =>
      (await statusOf(stage, name))?.conditions?.find(({ type }) => type === "WorkloadsSelected");
    expect(await selectionOf("inert")).toMatchObject({
      status: "False",
      reason: "NothingSelected",
      message: "it has no workloadSelector, and selects nothing",
    });
    expect(await selectionOf("shop")).toMatchObject({ status: "False", reason: "NothingSelected" });

    await client.create({ type: services, namespace: "shop" }, aService("web"));
    await pass(10_000);
    expect(await selectionOf("shop")).toBeUndefined();
    // A later placement with the same selector governs nothing.
    await client.create(placements, aPlacement("second", { workloadSelector: { namespaces } }));
    await pass(40_000);
    expect(await selectionOf("second")).toMatchObject({ reason: "NothingSelected" });
    const writes = countWrites(stage);
    await pass(25_000);
    expect(writes()).toBe(0);

    await client.delete({ type: services, namespace: "shop", name: "web" });
    await pass(40_000);
    expect(await selectionOf("shop")).toMatchObject({ reason: "NothingSelected" });
  });

  test("a placement of whose workloads another placement governs each says so before the next resync", async () => {
    const stage = await running();
    const { client, pass } = stage;
    await client.create(placements, aPlacement("shop", { workloadSelector: { namespaces: ["shop"] } }));
    await stage.settled({ settings: { resyncSeconds: 3_600 } });
    await client.create({ type: services, namespace: "shop" }, aService("web"));
    await pass(5_000);
    await client.create(placements, aPlacement("second", { workloadSelector: { namespaces: ["shop"] } }));
    await pass(60_000);
    const { conditions } = (await statusOf(stage, "second")) ?? {};
    expect(conditions?.find(({ type }) => type === "WorkloadsSelected")).toMatchObject({ reason: "NothingSelected" });
  });
});
