import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, expect, test } from "vitest";
import { createForwardFunction } from "../../lib/lambda/forward.ts";
import { formatHeartbeat } from "../../lib/lambda/messages.ts";
import { createProbeFunction } from "../../lib/lambda/probe.ts";
import { createReconcileFunction } from "../../lib/lambda/reconcile.ts";
import { createResyncFunction } from "../../lib/lambda/resync.ts";
import type { Condition } from "../../lib/model/condition.ts";
import { type ObjectKey, type WorkloadKey, workloadKey } from "../../lib/model/key.ts";
import { downstreamNamespace, namespaceManifest } from "../../lib/sync/ownership/namespace-map.ts";
import { ownershipMetadata } from "../../lib/sync/ownership/owner.ts";
import { upsyncOriginOf } from "../../lib/sync/ownership/upsync-origin.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import { statusOf } from "../support/controller-environment.ts";
import { eventually } from "../support/eventually.ts";
import { aDeployment, contextOf, messageOf, startFunctionsEnvironment } from "../support/functions-environment.ts";
import { eventOf } from "./recording-sqs.ts";
import { startClusterRelay } from "./relay.ts";

const deployments: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const records: ResourceType = { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadsyncs" };
const inShop = { type: deployments, namespace: "shop" };
const confirmation = "tmc.kcp.io/confirm-upsync-deletions";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** A tenant whose cluster "east" opts in to Deployments of the namespace shop, with a placement on both clusters. */
async function aTenant() {
  const stage = await startFunctionsEnvironment();
  ends.push(() => stage.stop());
  const { client, cluster, sqs, cloud } = stage;
  const [reconcile, forward] = [
    createReconcileFunction(stage.host(), cloud),
    createForwardFunction(stage.host(), cloud),
  ];
  const on = (name: string): KubeClient => {
    const found = stage.clusters.get(name);
    if (found === undefined) throw new Error(`no cluster ${name}`);
    return createKubeClient({ endpoint: { server: found.url }, transport: found.transport(), name });
  };
  const namespace = downstreamNamespace({ hub: "kcp", logicalCluster: cluster, namespace: "shop" });
  const find = async (at: KubeClient, where: string, name: string): Promise<KubeObject | undefined> =>
    (await at.list<KubeObject>({ type: deployments, namespace: where })).items.find(
      ({ metadata }) => metadata.name === name,
    );
  /** Delivers messages to their functions, as Lambda does; delays are skipped. */
  const deliver = async (): Promise<number> => {
    const [work, delayed] = [sqs.take("work.fifo", 10), stage.takeDelayed(10)];
    if (work.length > 0) expect(await reconcile(eventOf(work), contextOf())).toEqual({ batchItemFailures: [] });
    if (delayed.length > 0) await forward(eventOf(delayed), contextOf());
    return work.length + delayed.length;
  };
  const settle = () => eventually(async () => ((await deliver()) === 0 ? undefined : "messages"), 20_000);
  const registration = (name: string): ObjectKey => ({ logicalCluster: cluster, kind: "ClusterRegistration", name });
  const tenant = {
    ...stage,
    east: on("east"),
    west: on("west"),
    deliver,
    settle,
    until: (missing: () => Promise<string | undefined>) =>
      eventually(async () => {
        await deliver();
        return missing();
      }, 20_000),
    key: (name = "web"): WorkloadKey => workloadKey(cluster, { type: deployments, namespace: "shop", name }),
    upstream: (name = "web") => find(client, "shop", name),
    copy: (name: string, of = "web") => find(on(name), namespace, of),
    /** Reconciles every key once, as the resync does each half hour. */
    resync: async () => {
      const answer = await createResyncFunction(stage.host(), cloud)({}, contextOf());
      await settle();
      return answer;
    },
    reconcile: (...keys: readonly (ObjectKey | WorkloadKey)[]) =>
      reconcile(eventOf(keys.map((key) => messageOf(key))), contextOf()),
    /** Probes a cluster some minutes from now. */
    probe: async (name: string, minutes: number) => {
      const now = (): number => stage.clock.now() + minutes * 60_000;
      const probe = createProbeFunction(stage.host({}, { clock: { ...stage.clock, now } }), cloud);
      const body = formatHeartbeat({ clusters: [{ logicalCluster: cluster, name }], delaySeconds: 0 });
      await probe(eventOf([{ body, groupId: undefined, sentMs: now() }]), contextOf());
    },
    condition: async (type: string): Promise<string> => {
      const { conditions = [] } = statusOf(await client.get<KubeObject>({ ...registrations, name: "east" }));
      const found = (conditions as readonly Condition[]).find((each) => each.type === type);
      return found === undefined ? "none" : `${found.status} ${found.reason}`;
    },
    registration,
  };
  const shop = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
  for (const each of [client, tenant.east, tenant.west]) await each.create({ type: namespaces }, shop);
  const upsync = [{ apiVersion: "apps/v1", kind: "Deployment", namespaces: ["shop"] }];
  await client.create(registrations, aRegistration("east", { upsync }));
  await client.create(registrations, aRegistration("west"));
  await client.create(placements, aPlacement("shop", { strategy: "Spread", workloadSelector: {} }));
  for (const key of [registration("east"), registration("west")]) await tenant.reconcile(key);
  await tenant.reconcile({ logicalCluster: cluster, kind: "WorkloadPlacement", name: "shop" });
  await settle();
  return tenant;
}

type Tenant = Awaited<ReturnType<typeof aTenant>>;

/** A tenant with an upsynced Deployment from east that is ready there and on west. */
async function withUpsynced(...others: readonly string[]): Promise<Tenant> {
  const tenant = await aTenant();
  for (const name of ["web", ...others]) await tenant.east.create(inShop, aDeployment(name));
  await tenant.resync();
  await untilReady(tenant, 4);
  await tenant.settle();
  return tenant;
}

/** A tenant with many upsynced Deployments from east and without placements. */
async function withUnplaced(count: number) {
  const tenant = await aTenant();
  await tenant.client.delete({ ...placements, name: "shop" });
  const names = Array.from({ length: count }, (_, index) => `w${index}`);
  for (const name of names) await tenant.east.create(inShop, aDeployment(name));
  await tenant.resync();
  return { tenant, names };
}

const untilReady = (tenant: Tenant, replicas: number): Promise<void> =>
  tenant.until(async () => {
    const upstream = await tenant.upstream();
    const { readyReplicas } = upstream === undefined ? {} : statusOf(upstream);
    return readyReplicas === replicas ? undefined : `${String(readyReplicas)} replicas are ready`;
  });

test("a resync upsyncs a new object of a cluster and syncs it to the other cluster, but not back to its origin", async () => {
  const tenant = await aTenant();
  expect(await tenant.condition("UpsyncReady")).toBe("True Upsynced");
  const origin = await tenant.east.create<KubeObject>(inShop, aDeployment("web"));
  // Two clusters and a placement: the new object is not upsynced yet.
  expect(await tenant.resync()).toEqual({ keys: 3, left: 0, isContinued: false });
  await untilReady(tenant, 4);
  const known = await tenant.upstream();
  expect(known && upsyncOriginOf(known, tenant.cluster)).toMatchObject({
    registration: "east",
    uid: origin.metadata.uid,
  });
  expect(await tenant.copy("west")).toMatchObject({ spec: { replicas: 2 } });
  expect(await tenant.copy("east")).toBeUndefined();
  expect((await tenant.east.get<KubeObject>({ ...inShop, name: "web" })).metadata.uid).toBe(origin.metadata.uid);
});

test("a resync reports a copy whose workload and sync record are gone, and does not delete it", async () => {
  const tenant = await aTenant();
  const locator = { hub: "kcp", logicalCluster: tenant.cluster, namespace: "shop" };
  const owner = { ...locator, registration: "west", apiVersion: "apps/v1", kind: "Deployment", name: "old" };
  const namespace = downstreamNamespace(locator);
  await tenant.west.create({ type: namespaces }, namespaceManifest(locator));
  const copy = aDeployment("old");
  const metadata = { ...copy.metadata, namespace, ...ownershipMetadata(owner) };
  await tenant.west.create({ type: deployments, namespace }, { ...copy, metadata });
  await tenant.resync();
  const { orphanedCopies } = statusOf(await tenant.client.get<KubeObject>({ ...registrations, name: "west" }));
  expect(orphanedCopies).toMatchObject({ count: 1, names: ["Deployment shop/old"] });
  expect(await tenant.copy("west", "old")).toBeDefined();
});

test("a resync syncs a change of the origin to the other clusters", async () => {
  const tenant = await withUpsynced();
  await tenant.east.patch({ ...inShop, name: "web" }, { type: "merge", body: { spec: { replicas: 3 } } });
  await tenant.resync();
  await untilReady(tenant, 6);
  expect(await tenant.copy("west")).toMatchObject({ spec: { replicas: 3 } });
});

test("a resync includes upsynced objects that no placement selects", async () => {
  const tenant = await aTenant();
  await tenant.client.delete({ ...placements, name: "shop" });
  await tenant.east.create(inShop, aDeployment("web"));
  await tenant.resync();
  await untilReady(tenant, 2);
  await tenant.settle();
  expect((await tenant.client.list({ type: records, namespace: "shop" })).items).toEqual([]);
  await tenant.east.patch({ ...inShop, name: "web" }, { type: "merge", body: { spec: { replicas: 1 } } });
  // Two clusters and the upsynced object.
  expect(await tenant.resync()).toEqual({ keys: 3, left: 0, isContinued: false });
  expect(await tenant.upstream()).toMatchObject({ spec: { replicas: 1 } });
});

test("an opt-in is reconciled at once, and a missing namespace is reported", async () => {
  const tenant = await aTenant();
  const { client, east } = tenant;
  const bank = { apiVersion: "v1", kind: "Namespace", metadata: { name: "bank" } };
  await east.create({ type: namespaces }, bank);
  const inBank = { type: deployments, namespace: "bank" };
  await east.create(inBank, { ...aDeployment("web"), metadata: { name: "web" } });
  const upsync = [{ apiVersion: "apps/v1", kind: "Deployment", namespaces: ["shop", "bank"] }];
  await client.patch({ ...registrations, name: "east" }, { type: "merge", body: { spec: { upsync } } });
  await tenant.reconcile(tenant.registration("east"));
  await tenant.settle();
  expect(await tenant.condition("UpsyncReady")).toBe("False NamespaceMissing");
  await client.create({ type: namespaces }, bank);
  await tenant.reconcile(tenant.registration("east"));
  await tenant.settle();
  expect((await client.list(inBank)).items).toHaveLength(1);
});

test("a probe of a cluster with upsync does not read its objects", async () => {
  const tenant = await withUpsynced();
  const asked = tenant.clusters
    .get("east")
    ?.faults.inject({ match: { resource: "deployments" }, effect: { kind: "delay", ms: 0 } });
  await tenant.probe("east", 2);
  await tenant.settle();
  expect(asked?.hits).toBe(0);
});

test("an unchanged upsynced object costs one read of its origin and no write", async () => {
  const tenant = await withUpsynced();
  const asked = tenant.clusters
    .get("east")
    ?.faults.inject({ match: { resource: "deployments" }, effect: { kind: "delay", ms: 0 } });
  const writes = ["create", "update", "patch", "delete"].map((verb) =>
    tenant.tenants.kcp.faults.inject({ match: { verb }, effect: { kind: "delay", ms: 0 } }),
  );
  await tenant.reconcile(tenant.key());
  expect(asked?.hits).toBe(1);
  expect(writes.map(({ hits }) => hits)).toEqual([0, 0, 0, 0]);
  expect(tenant.sqs.in("delay")).toEqual([]);
});

test("only clusters that opt in to a namespace are asked for an object in it", async () => {
  const tenant = await aTenant();
  const west = tenant.clusters.get("west");
  const east = tenant.clusters.get("east");
  const asked = [east, west].map((each) =>
    each?.faults.inject({ match: { verb: "get", resource: "deployments" }, effect: { kind: "delay", ms: 0 } }),
  );
  const elsewhere = workloadKey(tenant.cluster, { type: deployments, namespace: "bank", name: "web" });
  await tenant.reconcile(elsewhere);
  expect(asked.map((each) => each?.hits)).toEqual([0, 0]);
  await tenant.reconcile(tenant.key("none"));
  expect(asked.map((each) => each?.hits)).toEqual([1, 0]);
});

test("upsync deletes nothing while the origin's cluster is unreachable, and follows the deletion afterwards", async () => {
  const tenant = await withUpsynced("rest");
  const cut = tenant.clusters.get("east")?.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
  await tenant.reconcile(tenant.key(), tenant.registration("east"));
  expect(await tenant.upstream()).toBeDefined();
  tenant.sqs.take("work.fifo");
  for (const minutes of [2, 4, 6]) await tenant.probe("east", minutes);
  const enqueued = tenant.sqs.in("work.fifo").map(({ body }) => JSON.parse(body) as unknown);
  for (const key of [tenant.key(), tenant.registration("east")]) {
    expect(enqueued).toContainEqual(expect.objectContaining({ ...key, reason: "fan-out" }));
  }
  // Its status no longer counts, but it is not treated as deleted.
  await untilReady(tenant, 2);
  await tenant.reconcile(tenant.key(), tenant.registration("east"));
  expect(await tenant.upstream()).toBeDefined();
  expect(await tenant.copy("west")).toBeDefined();
  cut?.remove();
  await tenant.east.delete({ ...inShop, name: "web" });
  for (const minutes of [8, 10, 12]) await tenant.probe("east", minutes);
  await tenant.until(async () => {
    const left = [await tenant.upstream(), await tenant.copy("west")].filter((each) => each !== undefined);
    return left.length === 0 ? undefined : `${left.length} are left`;
  });
});

test("a resync deletes the upsynced object and its copies after the origin was deleted", async () => {
  const tenant = await withUpsynced("rest");
  await tenant.east.delete({ ...inShop, name: "web" });
  await tenant.resync();
  await tenant.until(async () => {
    const left = [await tenant.upstream(), await tenant.copy("west")].filter((each) => each !== undefined);
    return left.length === 0 ? undefined : `${left.length} are left`;
  });
});

test("the deletion of all upsynced objects of a cluster is held until it is confirmed, however few they are", async () => {
  const tenant = await withUpsynced();
  await tenant.east.delete({ ...inShop, name: "web" });
  await tenant.resync();
  await tenant.settle();
  expect(await tenant.condition("UpsyncHeld")).toBe("True DeletionsHeld");
  expect(await tenant.upstream()).toBeDefined();
  expect(await tenant.copy("west")).toBeDefined();
  const body = { metadata: { annotations: { [confirmation]: "1" } } };
  await tenant.client.patch({ ...registrations, name: "east" }, { type: "merge", body });
  await tenant.reconcile(tenant.registration("east"));
  await tenant.until(async () => ((await tenant.upstream()) === undefined ? undefined : "it is left"));
});

test("many deletions of origins are held until they are confirmed, whichever process observes them", async () => {
  const { tenant, names } = await withUnplaced(24);
  const known = async (): Promise<number> => (await tenant.client.list(inShop)).items.length;
  expect(await known()).toBe(24);
  // One by one, each observed by a newly started function.
  for (const name of names.slice(0, 14)) {
    await tenant.east.delete({ ...inShop, name });
    const fresh = createReconcileFunction(tenant.host(), tenant.cloud);
    await fresh(eventOf([messageOf(tenant.key(name))]), contextOf());
  }
  expect(await known()).toBe(14);
  await tenant.settle();
  expect(await tenant.condition("UpsyncHeld")).toBe("True DeletionsHeld");
  // All at once and concurrently.
  for (const name of names.slice(14)) await tenant.east.delete({ ...inShop, name });
  await tenant.resync();
  expect(await known()).toBe(14);
  const body = { metadata: { annotations: { [confirmation]: "14" } } };
  await tenant.client.patch({ ...registrations, name: "east" }, { type: "merge", body });
  await tenant.reconcile(tenant.registration("east"));
  await tenant.until(async () => ((await known()) === 0 ? undefined : `${await known()} are left`));
  await tenant.settle();
  expect(await tenant.condition("UpsyncHeld")).toBe("False NoDeletionsHeld");
});

test("confirmed deletions cost one list per batch, and do not enqueue the registration one by one", async () => {
  const { tenant, names } = await withUnplaced(24);
  for (const name of names) await tenant.east.delete({ ...inShop, name });
  await tenant.resync();
  expect(await tenant.condition("UpsyncHeld")).toBe("True DeletionsHeld");
  const body = { metadata: { annotations: { [confirmation]: "24" } } };
  await tenant.client.patch({ ...registrations, name: "east" }, { type: "merge", body });
  await tenant.reconcile(tenant.registration("east"));
  expect(await tenant.condition("UpsyncHeld")).toBe("False DeletionsConfirmed");

  const lists = tenant.clusters
    .get("east")
    ?.faults.inject({ match: { verb: "list", resource: "deployments" }, effect: { kind: "delay", ms: 0 } });
  const enqueued = tenant.sqs.take("work.fifo");
  expect(enqueued).toHaveLength(24);
  const fresh = createReconcileFunction(tenant.host(), tenant.cloud);
  for (let at = 0; at < 24; at += 4) await fresh(eventOf(enqueued.slice(at, at + 4)), contextOf());
  expect((await tenant.client.list(inShop)).items).toEqual([]);
  expect(lists?.hits).toBe(6);
  // Only the requeue of the registration from the first deletion is left.
  expect(tenant.sqs.in("work.fifo")).toEqual([]);
  const waiting = tenant.sqs.in("delay").map((sent) => JSON.parse(sent.body) as unknown);
  expect(waiting).toEqual([expect.objectContaining({ ...tenant.registration("east"), reason: "requeue" })]);
  await tenant.settle();
  expect(lists?.hits).toBe(7);
  expect(await tenant.condition("UpsyncHeld")).toBe("False NoDeletionsHeld");
});

test("ten concurrent deletions need no confirmation, although each is recorded in the deletion log first", async () => {
  const { tenant, names: all } = await withUnplaced(11);
  const names = all.slice(1);
  for (const name of names) await tenant.east.delete({ ...inShop, name });
  const processes = [0, 1].map(() => createReconcileFunction(tenant.host(), tenant.cloud));
  await Promise.all(
    processes.map((work, index) =>
      work(eventOf(names.slice(index * 5, index * 5 + 5).map((name) => messageOf(tenant.key(name)))), contextOf()),
    ),
  );
  await tenant.until(async () => {
    const { items } = await tenant.client.list<KubeObject>(inShop);
    return items.length === 1 ? undefined : `${items.length} are left`;
  });
});

test("a relay that watches clusters enqueues new, changed and deleted upsync origins at once", async () => {
  const tenant = await aTenant();
  ends.push(await startClusterRelay(tenant));
  // The keys that a relay sends at its start are processed first, so that later reconciles come from its watches.
  await eventually(async () => (tenant.sqs.in("work.fifo").length > 0 ? undefined : "the relay has sent nothing"));
  await tenant.settle();
  for (const name of ["web", "rest"]) await tenant.east.create(inShop, aDeployment(name));
  await untilReady(tenant, 4);
  await tenant.east.patch({ ...inShop, name: "web" }, { type: "merge", body: { spec: { replicas: 3 } } });
  await untilReady(tenant, 6);
  await tenant.east.delete({ ...inShop, name: "web" });
  await tenant.until(async () => {
    const left = [await tenant.upstream(), await tenant.copy("west")].filter((each) => each !== undefined);
    return left.length === 0 ? undefined : `${left.length} are left`;
  });
});
