import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, test } from "vitest";
import { createCloudCredentials } from "../../lib/credentials/cloud-credentials.ts";
import { createForwardFunction } from "../../lib/lambda/forward.ts";
import { formatHeartbeat } from "../../lib/lambda/messages.ts";
import { createProbeFunction } from "../../lib/lambda/probe.ts";
import { createReconcileFunction } from "../../lib/lambda/reconcile.ts";
import { createResyncFunction } from "../../lib/lambda/resync.ts";
import { type ObjectKey, type WorkloadKey, workloadKey } from "../../lib/model/key.ts";
import { createHealthChecks } from "../../lib/observe/health.ts";
import { createLog } from "../../lib/observe/log.ts";
import { createMetrics } from "../../lib/observe/metrics.ts";
import { createSqsQueue } from "../../lib/queue/sqs.ts";
import { createRelayService } from "../../lib/relay/service/relay-service.ts";
import { downstreamNamespace } from "../../lib/sync/ownership/namespace-map.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import { statusOf } from "../support/controller-environment.ts";
import { eventually } from "../support/eventually.ts";
import {
  aDeployment,
  contextOf,
  type FunctionsEnvironment,
  messageOf,
  startFunctionsEnvironment,
} from "../support/functions-environment.ts";
import { eventOf } from "./recording-sqs.ts";

const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const events: ResourceType = { group: "", version: "v1", plural: "events" };
const records: ResourceType = { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadsyncs" };
const inShop = { type: deployments, namespace: "shop" };

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** A tenant with two Ready clusters and a placement on both, reconciled by functions. */
async function aTenant(variables: Readonly<Record<string, string>> = {}) {
  const stage: FunctionsEnvironment = await startFunctionsEnvironment();
  ends.push(() => stage.stop());
  const { client, cluster, sqs, cloud } = stage;
  const functions = {
    reconcile: createReconcileFunction(stage.host(variables), cloud),
    resync: createResyncFunction(stage.host(variables), cloud),
    forward: createForwardFunction(stage.host(variables), cloud),
  };
  const on = (name: string): KubeClient => {
    const found = stage.clusters.get(name);
    if (found === undefined) throw new Error(`no cluster ${name}`);
    return createKubeClient({ endpoint: { server: found.url }, transport: found.transport(), name });
  };
  const namespace = downstreamNamespace({ hub: "kcp", logicalCluster: cluster, namespace: "shop" });
  /** Delivers messages to their functions, as Lambda does; delays are skipped. */
  const deliver = async (): Promise<number> => {
    const [work, delayed] = [sqs.take("work.fifo", 10), stage.takeDelayed(10)];
    if (work.length > 0)
      expect(await functions.reconcile(eventOf(work), contextOf())).toEqual({ batchItemFailures: [] });
    if (delayed.length > 0) await functions.forward(eventOf(delayed), contextOf());
    return work.length + delayed.length;
  };
  const tenant = {
    ...stage,
    ...functions,
    on,
    copy: async (name: string, of = "web"): Promise<KubeObject | undefined> =>
      (await on(name).list<KubeObject>({ type: deployments, namespace })).items.find(
        ({ metadata }) => metadata.name === of,
      ),
    namespacesOn: async (name: string) =>
      (await on(name).list<KubeObject>({ type: namespaces })).items
        .map(({ metadata }) => metadata.name ?? "")
        .filter((each) => each.startsWith("tmc-")),
    workload: (name = "web") => client.get<KubeObject>({ ...inShop, name }),
    key: (name = "web"): WorkloadKey => workloadKey(cluster, { type: deployments, namespace: "shop", name }),
    deliver,
    /** Delivers until nothing is missing. */
    until: (missing: () => Promise<string | undefined>) =>
      eventually(async () => {
        await deliver();
        return missing();
      }, 20_000),
    /** Delivers until there is nothing to deliver. */
    settle: () => eventually(async () => ((await deliver()) === 0 ? undefined : "messages"), 20_000),
  };
  await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  for (const name of ["east", "west"]) await client.create(registrations, aRegistration(name));
  await client.create(placements, aPlacement("shop", { strategy: "Spread", workloadSelector: {} }));
  const keys: readonly ObjectKey[] = [
    ...["east", "west"].map((name): ObjectKey => ({ logicalCluster: cluster, kind: "ClusterRegistration", name })),
    { logicalCluster: cluster, kind: "WorkloadPlacement", name: "shop" },
  ];
  for (const key of keys) await functions.reconcile(eventOf([messageOf(key)]), contextOf());
  await tenant.settle();
  return tenant;
}

type Tenant = Awaited<ReturnType<typeof aTenant>>;

/** A tenant with a Deployment that is ready on both clusters. */
async function running(): Promise<Tenant> {
  const tenant = await aTenant();
  await tenant.client.create(inShop, aDeployment("web"));
  await tenant.reconcile(eventOf([messageOf(tenant.key())]), contextOf());
  await tenant.until(async () => {
    const { readyReplicas } = statusOf(await tenant.workload());
    return readyReplicas === 4 ? undefined : `${String(readyReplicas)} replicas are ready`;
  });
  await tenant.settle();
  return tenant;
}

/** Starts a relay as in a separate process; it finds clusters as functions do. */
async function startRelay({ tenants, sqs, cloud, clock }: Tenant, { watchesClusters = false } = {}): Promise<void> {
  const { openTransport } = cloud;
  const urlOf = (queue: string): string => `https://sqs.eu-west-1.amazonaws.com/000000000000/${queue}`;
  const random = (): number => 0;
  const relay = createRelayService({
    client: tenants.client,
    workspaces: ["root:demo"],
    queue: createSqsQueue({ sqs: sqs.sqs, urls: { work: urlOf("work.fifo"), delay: "", deadLetters: "" } }),
    sync: true,
    targetClusters:
      watchesClusters && openTransport !== undefined
        ? {
            openTransport,
            findHubId: async () => "kcp",
            openCredentials: (hub, hubId) =>
              createCloudCredentials({ ...cloud, scope: { stage: "test", hubId }, hub, rules: {}, clock, random }),
          }
        : undefined,
    clock,
    random,
    log: createLog({ level: 0, write: () => {}, clock }),
    metrics: createMetrics(),
    health: createHealthChecks({ clock }),
  });
  ends.push(() => relay.stop(0));
  await relay.start();
}

test("functions and relay place a Deployment, sync it until it is ready, scale it and delete it", async () => {
  const tenant = await aTenant();
  const { client, until, copy } = tenant;
  await startRelay(tenant);
  const untilReady = (replicas: number) =>
    until(async () => {
      const status = statusOf(await tenant.workload());
      return status.readyReplicas === replicas && status.updatedReplicas === replicas
        ? undefined
        : JSON.stringify(status);
    });

  await client.create(inShop, aDeployment("web"));
  await untilReady(4);
  for (const name of ["east", "west"]) expect(await copy(name)).toMatchObject({ spec: { replicas: 2 } });
  expect((await client.list({ ...inShop, type: records })).items).toMatchObject([
    { spec: { clusters: ["east", "west"] }, status: { conditions: [{ type: "Ready", status: "True" }] } },
  ]);

  await client.patch({ ...inShop, name: "web" }, { type: "merge", body: { spec: { replicas: 3 } } });
  await untilReady(6);
  expect(statusOf(await tenant.workload())).toMatchObject({ observedGeneration: 2 });

  await client.delete({ ...inShop, name: "web" });
  await until(async () => {
    const left = [
      ...(await client.list(inShop)).items,
      ...(await client.list({ ...inShop, type: records })).items,
      ...(await tenant.namespacesOn("east")),
      ...(await tenant.namespacesOn("west")),
    ];
    return left.length === 0 ? undefined : JSON.stringify(left);
  });
});

describe("sync of a workload by functions", () => {
  test("a workload that is not ready is requeued after seconds until it is ready", async () => {
    const tenant = await aTenant();
    await tenant.client.create(inShop, aDeployment("web"));
    await tenant.reconcile(eventOf([messageOf(tenant.key())]), contextOf());
    expect(await tenant.copy("east")).toBeDefined();
    const later = tenant.sqs.in("delay");
    // The requeue of the workload, and the placement, which reports the workload.
    expect(later.map(({ body }) => JSON.parse(body ?? "").reason).toSorted()).toEqual(["fan-out", "requeue"]);
    for (const { delaySeconds } of later) expect(delaySeconds).toBeLessThanOrEqual(3);
    await tenant.until(async () => {
      const { readyReplicas } = statusOf(await tenant.workload());
      return readyReplicas === 4 ? undefined : `${String(readyReplicas)} replicas are ready`;
    });
    await tenant.settle();
  });

  test("an unchanged workload costs six reads, no write and no requeue", async () => {
    const tenant = await running();
    const { faults } = tenant.tenants.kcp;
    const counted = (verb: string) => faults.inject({ match: { verb }, effect: { kind: "delay", ms: 0 } });
    const [reads, writes] = [["get", "list"].map(counted), ["create", "update", "patch", "delete"].map(counted)];
    const sum = (all: readonly { hits: number }[]): number => all.reduce((total, { hits }) => total + hits, 0);
    await tenant.reconcile(eventOf([messageOf(tenant.key(), { reason: "resync" })]), contextOf());
    // Workload, sync record and namespace, and the lists of placements, registrations and autoscalers.
    expect([sum(reads), sum(writes)]).toEqual([6, 0]);
    expect(tenant.sqs.in("delay")).toEqual([]);
    expect(tenant.sqs.in("work.fifo")).toEqual([]);
  });

  test("the workloads of a batch are synced while one cluster is unreachable, and to that cluster when it is back", async () => {
    const tenant = await aTenant();
    const dead = tenant.clusters.get("west")?.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
    const names = ["one", "two", "three"];
    for (const name of names) await tenant.client.create(inShop, aDeployment(name));
    const batch = eventOf(names.map((name) => messageOf(tenant.key(name))));
    expect(await tenant.reconcile(batch, contextOf())).toEqual({ batchItemFailures: [] });
    for (const name of names) expect(await tenant.copy("east", name)).toMatchObject({ spec: { replicas: 2 } });
    dead?.remove();
    await tenant.until(async () => {
      const missing = [];
      for (const name of names) if ((await tenant.copy("west", name)) === undefined) missing.push(name);
      return missing.length === 0 ? undefined : missing.join(", ");
    });
  });

  test("a resync reverts drift", async () => {
    const tenant = await running();
    const { metadata } = (await tenant.copy("east")) ?? { metadata: { namespace: "" } };
    const place = { type: deployments, namespace: metadata.namespace ?? "", name: "web" };
    await tenant.on("east").patch(place, { type: "merge", body: { spec: { replicas: 9 } } });
    // Two clusters, a placement and the Deployment: once, although it is both selected and in a sync record.
    expect(await tenant.resync({}, contextOf())).toEqual({ keys: 4, left: 0, isContinued: false });
    await tenant.until(async () => {
      const { replicas } = ((await tenant.copy("east"))?.spec ?? {}) as { replicas?: number };
      return replicas === 2 ? undefined : `${replicas} replicas`;
    });
    await tenant.settle();
  });

  test("a workload is enqueued when a probe finds its cluster unreachable", async () => {
    const tenant = await running();
    tenant.clusters.get("west")?.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
    const { cluster } = tenant;
    const body = formatHeartbeat({ clusters: [{ logicalCluster: cluster, name: "west" }], delaySeconds: 0 });
    for (let round = 1; round <= 3; round++) {
      const now = (): number => tenant.clock.now() + round * 60_000;
      const probe = createProbeFunction(tenant.host({}, { clock: { ...tenant.clock, now } }), tenant.cloud);
      await probe(eventOf([{ body, groupId: undefined, sentMs: now() }]), contextOf());
    }
    expect(tenant.sqs.in("work.fifo").map(({ body }) => JSON.parse(body) as unknown)).toContainEqual(
      expect.objectContaining({ kind: "Workload", name: "deployments.v1.apps/shop/web", reason: "fan-out" }),
    );
    await tenant.until(async () => {
      const { readyReplicas } = statusOf(await tenant.workload());
      return readyReplicas === 2 ? undefined : `${String(readyReplicas)} replicas are ready`;
    });
  });

  test("Events are written before the function returns, and their failure does not fail it", async () => {
    const tenant = await aTenant();
    const slow = tenant.tenants.kcp.faults.inject({
      match: { resource: "events" },
      effect: { kind: "delay", ms: 300 },
    });
    await tenant.client.create(inShop, aDeployment("web"));
    await tenant.reconcile(eventOf([messageOf(tenant.key())]), contextOf());
    const recorded = (await tenant.client.list<KubeObject>({ type: events, namespace: "shop" })).items;
    expect(recorded.map(({ message }) => message).toSorted()).toEqual(["written to east", "written to west"]);
    slow.remove();

    tenant.tenants.kcp.faults.inject({ match: { resource: "events" }, effect: { kind: "status", code: 403 } });
    await tenant.client.create(inShop, aDeployment("quiet"));
    const answer = await tenant.reconcile(eventOf([messageOf(tenant.key("quiet"))]), contextOf());
    expect(answer).toEqual({ batchItemFailures: [] });
    expect(await tenant.copy("east", "quiet")).toBeDefined();
  });
});

test("a relay that watches clusters enqueues changed and deleted copies at once", async () => {
  const tenant = await running();
  await startRelay(tenant, { watchesClusters: true });
  const { metadata } = (await tenant.copy("east")) ?? { metadata: { namespace: "" } };
  const place = { type: deployments, namespace: metadata.namespace ?? "", name: "web" };
  await tenant.on("east").patch(place, { type: "merge", body: { spec: { replicas: 9 } } });
  await tenant.until(async () => {
    const { replicas } = ((await tenant.copy("east"))?.spec ?? {}) as { replicas?: number };
    return replicas === 2 ? undefined : `${replicas} replicas`;
  });
  await tenant.on("west").delete(place);
  await tenant.until(async () => {
    const uids = (await tenant.copy("west"))?.metadata.uid;
    return uids === undefined ? "west has no copy" : undefined;
  });
  await tenant.until(async () => {
    const { readyReplicas } = statusOf(await tenant.workload());
    return readyReplicas === 4 ? undefined : `${String(readyReplicas)} replicas are ready`;
  });
});

test("TMC_SYNC=false leaves workloads unchanged", async () => {
  const tenant = await aTenant({ TMC_SYNC: "false" });
  await tenant.client.create(inShop, aDeployment("web"));
  await tenant.reconcile(eventOf([messageOf(tenant.key())]), contextOf());
  expect(await tenant.resync({}, contextOf())).toEqual({ keys: 3, left: 0, isContinued: false });
  await tenant.settle();
  expect(await tenant.copy("east")).toBeUndefined();
  expect((await tenant.workload()).metadata.finalizers).toBeUndefined();
});
