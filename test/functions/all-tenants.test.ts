import type { FaultMatch } from "@tmc/embedded/server/faults.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createHealthFunction } from "../../lib/lambda/health.ts";
import { createHeartbeatFunction } from "../../lib/lambda/heartbeat.ts";
import { createReconcileFunction } from "../../lib/lambda/reconcile.ts";
import { createResyncFunction } from "../../lib/lambda/resync.ts";
import { type WorkKey, workloadKey } from "../../lib/model/key.ts";
import { downstreamNamespace } from "../../lib/sync/ownership/namespace-map.ts";
import { apiBindings } from "../../lib/upstream/kcp-types.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import { readyOf } from "../support/controller-environment.ts";
import {
  aDeployment,
  contextOf,
  type FunctionsEnvironment,
  messageOf,
  startFunctionsEnvironment,
} from "../support/functions-environment.ts";
import { eventOf } from "./recording-sqs.ts";

const teams = Array.from({ length: 5 }, (_, at) => `root:team-${at}`);
const allTenants = { TMC_WORKSPACES: "", TMC_API_EXPORT: "root:tmc:tmc.kcp.io" };
let stage: FunctionsEnvironment;
beforeEach(async () => {
  stage = await startFunctionsEnvironment(teams);
  for (const cluster of stage.tenants.clusters) {
    await stage.tenants.at(cluster).create(registrations, aRegistration("east"));
    await stage.tenants.at(cluster).create(placements, aPlacement("web"));
  }
});
afterEach(() => stage.stop());

const host = () => stage.host(allTenants);
const counted = (match: FaultMatch) => stage.tenants.kcp.faults.inject({ match, effect: { kind: "delay", ms: 0 } });

describe("functions for all tenants of an export", () => {
  test("heartbeat, resync and health list each kind once, and make no request for a single tenant", async () => {
    const lists = counted({ verb: "list" });
    const ofTenants = stage.tenants.clusters.map((cluster) => counted({ logicalCluster: cluster }));
    expect(await createHeartbeatFunction(host(), stage.cloud)({}, contextOf())).toMatchObject({ clusters: 5, due: 5 });
    const [body] = stage.sqs.in("heartbeat").map((message) => JSON.parse(message.body) as Record<string, unknown>);
    expect(body?.clusters).toEqual(
      expect.arrayContaining(stage.tenants.clusters.map((cluster) => ({ logicalCluster: cluster, name: "east" }))),
    );
    // The endpoints at the start and during the invocation, and the registrations.
    expect(lists.hits).toBe(3);
    expect(await createResyncFunction(host(), stage.cloud)({}, contextOf())).toEqual({
      keys: 10,
      left: 0,
      isContinued: false,
    });
    expect(await createHealthFunction(host(), stage.cloud)({}, contextOf())).toMatchObject({
      ok: true,
      clusters: { ok: true, total: 5 },
      placements: { ok: true, total: 5 },
    });
    expect(ofTenants.map(({ hits }) => hits)).toEqual([0, 0, 0, 0, 0]);
  });

  test("reconcile works only in the logical cluster of the key, through the virtual workspace", async () => {
    const [one = "", ...others] = stage.tenants.clusters;
    const ofOthers = others.map((cluster) => counted({ logicalCluster: cluster }));
    const handler = createReconcileFunction(host(), stage.cloud);
    const key = { logicalCluster: one, kind: "ClusterRegistration", name: "east" } as const;
    expect(await handler(eventOf([messageOf(key)]), contextOf())).toEqual({ batchItemFailures: [] });
    expect(readyOf(await stage.tenants.at(one).get({ ...registrations, name: "east" }))).toBe("True ClusterReady");
    expect(ofOthers.map(({ hits }) => hits)).toEqual([0, 0, 0, 0]);
  });

  test("a tenant's workload is synced to the tenant's clusters through the virtual workspace, and included in a resync", async () => {
    const [one = "", ...others] = stage.tenants.clusters;
    const ofOthers = others.map((cluster) => counted({ logicalCluster: cluster }));
    const handler = createReconcileFunction(host(), stage.cloud);
    const client = stage.tenants.at(one);
    const shop = { type: { group: "apps", version: "v1", plural: "deployments" }, namespace: "shop" };
    await client.create(
      { type: { group: "", version: "v1", plural: "namespaces" } },
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
    );
    await client.patch(
      { ...placements, name: "web" },
      { type: "merge", body: { spec: { workloadSelector: { namespaces: ["shop"] } } } },
    );
    await client.create(shop, aDeployment("web"));
    const keys: readonly WorkKey[] = [
      { logicalCluster: one, kind: "ClusterRegistration", name: "east" },
      { logicalCluster: one, kind: "WorkloadPlacement", name: "web" },
      workloadKey(one, { ...shop, name: "web" }),
    ];
    for (const key of keys) {
      expect(await handler(eventOf([messageOf(key)]), contextOf())).toEqual({ batchItemFailures: [] });
    }
    const namespace = downstreamNamespace({ hub: "kcp", logicalCluster: one, namespace: "shop" });
    const east = stage.clusters.get("east");
    if (east === undefined) throw new Error("no cluster east");
    const onEast = createKubeClient({ endpoint: { server: east.url }, transport: east.transport(), name: "east" });
    expect(await onEast.get({ ...shop, namespace, name: "web" })).toMatchObject({ spec: { replicas: 2 } });
    expect(await createResyncFunction(host(), stage.cloud)({}, contextOf())).toEqual({
      keys: 11,
      left: 0,
      isContinued: false,
    });
    expect(ofOthers.map(({ hits }) => hits)).toEqual([0, 0, 0, 0]);
  });

  test("a key of an unbound tenant ends without a retry, a dead letter or another message", async () => {
    const [one = ""] = stage.tenants.clusters;
    const handler = createReconcileFunction(host(), stage.cloud);
    await stage.tenants.at(one).delete({ type: apiBindings, name: "tmc-binding" });
    stage.tenants.kcp.settle();
    for (const kind of ["ClusterRegistration", "WorkloadPlacement"] as const) {
      const key = { logicalCluster: one, kind, name: "east" };
      expect(await handler(eventOf([messageOf(key)]), contextOf())).toEqual({ batchItemFailures: [] });
    }
    expect(["work.fifo", "delay", "dead.fifo"].flatMap((queue) => stage.sqs.in(queue))).toEqual([]);
  });

  test.each([
    ["is unreachable", 503],
    ["rejects TMC's credentials", 401],
  ])("a key is retried if kcp %s when a function starts", async (_, code) => {
    const [one = ""] = stage.tenants.clusters;
    const handler = createReconcileFunction(host(), stage.cloud);
    const key = { logicalCluster: one, kind: "ClusterRegistration", name: "east" } as const;
    const failure = stage.tenants.kcp.faults.inject({ effect: { kind: "status", code } });
    expect(await handler(eventOf([messageOf(key)]), contextOf())).toEqual({ batchItemFailures: [] });
    expect(stage.sqs.in("delay").map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([{ reason: "retry" }]);
    failure.remove();
    expect(await handler(eventOf([messageOf(key)]), contextOf())).toEqual({ batchItemFailures: [] });
    expect(readyOf(await stage.tenants.at(one).get({ ...registrations, name: "east" }))).toBe("True ClusterReady");
  });

  test("heartbeat fails if nothing can be read, both for an export and for named workspaces", async () => {
    const planners = [stage.host(), host()].map((each) => createHeartbeatFunction(each, stage.cloud));
    for (const planner of planners) await planner({}, contextOf());
    stage.tenants.kcp.faults.inject({
      match: { verb: "list", resource: "clusterregistrations" },
      effect: { kind: "status", code: 503 },
    });
    const [named, exported] = planners.map((planner) => planner({}, contextOf()));
    await expect(named).rejects.toThrow("no workspace could be read");
    await expect(exported).rejects.toThrow("503");
  });

  test("heartbeat and resync send nothing without tenants", async () => {
    for (const cluster of stage.tenants.clusters) {
      await stage.tenants.at(cluster).delete({ type: apiBindings, name: "tmc-binding" });
    }
    stage.tenants.kcp.settle();
    expect(await createHeartbeatFunction(host(), stage.cloud)({}, contextOf())).toMatchObject({ clusters: 0 });
    expect(await createResyncFunction(host(), stage.cloud)({}, contextOf())).toEqual({
      keys: 0,
      left: 0,
      isContinued: false,
    });
  });

  test("a missing workspace of an export is named in one line", async () => {
    const wrong = stage.host({ ...allTenants, TMC_API_EXPORT: "root:nowhere:tmc.kcp.io" });
    await expect(createHeartbeatFunction(wrong, stage.cloud)({}, contextOf())).rejects.toThrow(
      'export "root:nowhere:tmc.kcp.io": there is no such workspace, or we have no access to it',
    );
  });
});
