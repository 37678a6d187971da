import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createReconcileFunction } from "../../lib/lambda/reconcile.ts";
import type { WorkloadKey } from "../../lib/model/key.ts";
import { locatorOf } from "../../lib/sync/ownership/namespace-map.ts";
import { hubRecordAddress } from "../../lib/upstream/hub-record.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import {
  aDeployment,
  clusterToken,
  contextOf,
  type FunctionsEnvironment,
  messageOf,
  saidIn,
  startFunctionsEnvironment,
} from "../support/functions-environment.ts";
import { eventOf } from "./recording-sqs.ts";

const namespaces = { type: { group: "", version: "v1", plural: "namespaces" } };
const deployments = { type: { group: "apps", version: "v1", plural: "deployments" }, namespace: "shop" };

let stage: FunctionsEnvironment;
beforeEach(async () => {
  stage = await startFunctionsEnvironment();
});
afterEach(() => stage.stop());

const registrationKey = () => ({ logicalCluster: stage.cluster, kind: "ClusterRegistration" as const, name: "east" });
const invoke = (host: ReturnType<FunctionsEnvironment["host"]>, keys: readonly Parameters<typeof messageOf>[0][]) =>
  createReconcileFunction(host, stage.cloud)(eventOf(keys.map((key) => messageOf(key))), contextOf());

describe("the id of the hub in functions", () => {
  test("the environment sets it, and nothing is read or stored for it", async () => {
    await stage.client.create(registrations, aRegistration("east"));
    const reads = stage.tenants.kcp.faults.inject({
      match: { resource: "configmaps" },
      effect: { kind: "delay", ms: 0 },
    });
    await invoke(stage.host(), [registrationKey()]);
    expect(reads.hits).toBe(0);
    expect(stage.secrets.reads()).toBeGreaterThan(1);
  });

  test("without it the functions store one, and use it for namespaces and secrets", async () => {
    const client = stage.client;
    await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
    await client.create(registrations, aRegistration("east"));
    await client.create(placements, aPlacement("web", { workloadSelector: {} }));
    await client.create(deployments, aDeployment("web"));
    const host = () => stage.host({ TMC_HUB_ID: "" });
    await invoke(host(), [registrationKey()]);
    const id = String(Object((await client.get<KubeObject>(hubRecordAddress)).data).id);
    const { message } = Object(
      Object(Object((await client.get<KubeObject>({ ...registrations, name: "east" })).status).conditions)[0],
    );
    const secret = `tmc/test/${id}/${stage.cluster}/east`;
    expect(message).toContain(`secret ${secret} does not exist`);

    stage.secrets.secrets.set(secret, JSON.stringify({ server: "https://east.example.com", token: clusterToken }));
    const { logicalCluster } = registrationKey();
    const workload: WorkloadKey = { logicalCluster, kind: "Workload", name: "deployments.v1.apps/shop/web" };
    await invoke(host(), [registrationKey()]);
    await invoke(host(), [{ logicalCluster, kind: "WorkloadPlacement", name: "web" }]);
    await invoke(host(), [workload]);
    const east = stage.clusters.get("east");
    if (east === undefined) throw new Error("there is no east");
    const endpoint = { server: east.url, token: async () => clusterToken };
    const { items } = await createKubeClient({ endpoint, transport: east.transport() }).list<KubeObject>(namespaces);
    const locators = items.map(locatorOf).filter((each) => each !== undefined);
    expect(locators).toEqual([{ hub: id, logicalCluster, namespace: "shop" }]);
  });

  test("a function that meets a restored copy of its hub fails at every start, and writes nothing", async () => {
    await stage.client.create(registrations, aRegistration("east"));
    await invoke(stage.host({ TMC_HUB_ID: "" }), []);
    const before = await stage.client.get<KubeObject>({ ...registrations, name: "east" });
    const { secrets } = stage.secrets;
    secrets.set("tmc/kcp", (secrets.get("tmc/kcp") ?? "").replace("kcp.example.com", "staging.example.com"));
    const host = stage.host({ TMC_HUB_ID: "" });
    await expect(invoke(host, [registrationKey()])).rejects.toThrow("HubIdentityChanged");
    expect(await stage.client.get({ ...registrations, name: "east" })).toEqual(before);
    expect(saidIn(host)).toContain("invocation failed");
  });

  test("a function whose upstream is unreachable starts, and its keys are retried", async () => {
    await stage.client.create(registrations, aRegistration("east"));
    const outage = stage.tenants.kcp.faults.inject({ effect: { kind: "status", code: 503 } });
    const host = stage.host({ TMC_HUB_ID: "" });
    const handler = createReconcileFunction(host, stage.cloud);
    await handler(eventOf([messageOf(registrationKey())]), contextOf());
    expect(saidIn(host)).toContain("hub identity cannot be read yet");
    expect(stage.sqs.in("delay")).toHaveLength(1);
    outage.remove();
    await handler(eventOf([messageOf(registrationKey())]), contextOf());
    expect((await stage.client.get<KubeObject>({ ...registrations, name: "east" })).status).toBeDefined();
  });
});
