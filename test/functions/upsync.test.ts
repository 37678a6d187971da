import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, expect, test } from "vitest";
import { createForward } from "../../lib/lambda/forward.ts";
import { formatHeartbeat } from "../../lib/lambda/heartbeat-message.ts";
import { createProbe } from "../../lib/lambda/probe.ts";
import { createReconcile } from "../../lib/lambda/reconcile.ts";
import { createResyncer } from "../../lib/lambda/resync.ts";
import type { Condition } from "../../lib/model/condition.ts";
import { type ObjectKey, type WorkloadKey, workloadKey } from "../../lib/model/key.ts";
import { downstreamNamespace } from "../../lib/sync/ownership/namespace-map.ts";
import { upsyncOriginOf } from "../../lib/sync/ownership/upsync-origin.ts";
import { statusOf } from "../lib/controller/stage.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import { eventually } from "../support/eventually.ts";
import { eventOf } from "./recording-sqs.ts";
import { startClusterRelay } from "./relay.ts";
import { aDeployment, contextOf, messageOf, setCloudStage } from "./stage.ts";

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
  const stage = await setCloudStage();
  ends.push(() => stage.stop());
  const { client, cluster, sqs, cloud } = stage;
  const [reconcile, forward] = [createReconcile(stage.host(), cloud), createForward(stage.host(), cloud)];
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
  /** Takes messages to their functions, as Lambda does; waits count as over. */
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
    /** Every key is looked at once, as happens each half hour. */
    resync: async () => {
      const answer = await createResyncer(stage.host(), cloud)({}, contextOf());
      await settle();
      return answer;
    },
    reconcile: (...keys: readonly (ObjectKey | WorkloadKey)[]) =>
      reconcile(eventOf(keys.map((key) => messageOf(key))), contextOf()),
    /** Probes a cluster some minutes from now. */
    probe: async (name: string, minutes: number) => {
      const now = (): number => stage.clock.now() + minutes * 60_000;
      const probe = createProbe(stage.host({}, { clock: { ...stage.clock, now } }), cloud);
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

/** The same with a Deployment that was born on east and is ready there and on west. */
async function withBirth(): Promise<Tenant> {
  const tenant = await aTenant();
  await tenant.east.create(inShop, aDeployment("web"));
  await tenant.resync();
  await untilReady(tenant, 4);
  await tenant.settle();
  return tenant;
}

/** The same with many that were born on east and are placed nowhere. */
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

test("what is born on a cluster is found by a resync, is in the workspace and on the other cluster, and never back", async () => {
  const tenant = await aTenant();
  expect(await tenant.condition("UpsyncReady")).toBe("True Upsynced");
  const born = await tenant.east.create<KubeObject>(inShop, aDeployment("web"));
  // Two clusters and a placement: nobody knows of it yet.
  expect(await tenant.resync()).toEqual({ keys: 3, sent: 3 });
  await untilReady(tenant, 4);
  const known = await tenant.upstream();
  expect(known && upsyncOriginOf(known, tenant.cluster)).toMatchObject({
    registration: "east",
    uid: born.metadata.uid,
  });
  expect(await tenant.copy("west")).toMatchObject({ spec: { replicas: 2 } });
  expect(await tenant.copy("east")).toBeUndefined();
  expect((await tenant.east.get<KubeObject>({ ...inShop, name: "web" })).metadata.uid).toBe(born.metadata.uid);
});

test("a change of the origin reaches the others with a resync", async () => {
  const tenant = await withBirth();
  await tenant.east.patch({ ...inShop, name: "web" }, { type: "merge", body: { spec: { replicas: 3 } } });
  await tenant.resync();
  await untilReady(tenant, 6);
  expect(await tenant.copy("west")).toMatchObject({ spec: { replicas: 3 } });
});

test("what was born and is placed nowhere is looked at by a resync too", async () => {
  const tenant = await aTenant();
  await tenant.client.delete({ ...placements, name: "shop" });
  await tenant.east.create(inShop, aDeployment("web"));
  await tenant.resync();
  await untilReady(tenant, 2);
  await tenant.settle();
  expect((await tenant.client.list({ type: records, namespace: "shop" })).items).toEqual([]);
  await tenant.east.patch({ ...inShop, name: "web" }, { type: "merge", body: { spec: { replicas: 1 } } });
  // Two clusters, and what was born there.
  expect(await tenant.resync()).toEqual({ keys: 3, sent: 3 });
  expect(await tenant.upstream()).toMatchObject({ spec: { replicas: 1 } });
});

test("an opt-in is followed at once, and a namespace that is missing is told", async () => {
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

test("a probe of a cluster that opts in asks for nothing that is born there", async () => {
  const tenant = await withBirth();
  const asked = tenant.clusters
    .get("east")
    ?.faults.inject({ match: { resource: "deployments" }, effect: { kind: "delay", ms: 0 } });
  await tenant.probe("east", 2);
  await tenant.settle();
  expect(asked?.hits).toBe(0);
});

test("what is at rest is asked for once on its origin and is not written", async () => {
  const tenant = await withBirth();
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

test("nobody is asked for a name that no cluster opts in to", async () => {
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

test("an origin that cannot be reached loses nothing; its end counts once it can be", async () => {
  const tenant = await withBirth();
  const cut = tenant.clusters.get("east")?.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
  await tenant.reconcile(tenant.key(), tenant.registration("east"));
  expect(await tenant.upstream()).toBeDefined();
  tenant.sqs.take("work.fifo");
  for (const minutes of [2, 4, 6]) await tenant.probe("east", minutes);
  const told = tenant.sqs.in("work.fifo").map(({ body }) => JSON.parse(body) as unknown);
  for (const key of [tenant.key(), tenant.registration("east")]) {
    expect(told).toContainEqual(expect.objectContaining({ ...key, reason: "fan-out" }));
  }
  // It is not heard from, and does not count any more; nobody takes it for gone.
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

test("the end of an origin is the end of its copies", async () => {
  const tenant = await withBirth();
  await tenant.east.delete({ ...inShop, name: "web" });
  await tenant.resync();
  await tenant.until(async () => {
    const left = [await tenant.upstream(), await tenant.copy("west")].filter((each) => each !== undefined);
    return left.length === 0 ? undefined : `${left.length} are left`;
  });
});

test("many ends are held, whichever process finds each of them, until somebody has confirmed them", async () => {
  const { tenant, names } = await withUnplaced(24);
  const known = async (): Promise<number> => (await tenant.client.list(inShop)).items.length;
  expect(await known()).toBe(24);
  // One by one, each found by a function that has just started.
  for (const name of names.slice(0, 14)) {
    await tenant.east.delete({ ...inShop, name });
    const fresh = createReconcile(tenant.host(), tenant.cloud);
    await fresh(eventOf([messageOf(tenant.key(name))]), contextOf());
  }
  expect(await known()).toBe(14);
  await tenant.settle();
  expect(await tenant.condition("UpsyncHeld")).toBe("True DeletionsHeld");
  // All at once, and side by side.
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

test("many ends that were confirmed are a list for each batch of them, and do not wake their registration one by one", async () => {
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
  const woken = tenant.sqs.take("work.fifo");
  expect(woken).toHaveLength(24);
  const fresh = createReconcile(tenant.host(), tenant.cloud);
  for (let at = 0; at < 24; at += 4) await fresh(eventOf(woken.slice(at, at + 4)), contextOf());
  expect((await tenant.client.list(inShop)).items).toEqual([]);
  expect(lists?.hits).toBe(6);
  // Nothing waits but the look that the registration wanted when they began to go.
  expect(tenant.sqs.in("work.fifo")).toEqual([]);
  const waiting = tenant.sqs.in("delay").map((sent) => JSON.parse(sent.body) as unknown);
  expect(waiting).toEqual([expect.objectContaining({ ...tenant.registration("east"), reason: "requeue" })]);
  await tenant.settle();
  expect(lists?.hits).toBe(7);
  expect(await tenant.condition("UpsyncHeld")).toBe("False NoDeletionsHeld");
});

test("ten that end side by side may go, though each is noted down before it does", async () => {
  const { tenant, names } = await withUnplaced(10);
  for (const name of names) await tenant.east.delete({ ...inShop, name });
  const processes = [0, 1].map(() => createReconcile(tenant.host(), tenant.cloud));
  await Promise.all(
    processes.map((work, index) =>
      work(eventOf(names.slice(index * 5, index * 5 + 5).map((name) => messageOf(tenant.key(name)))), contextOf()),
    ),
  );
  await tenant.until(async () => {
    const { items } = await tenant.client.list<KubeObject>(inShop);
    return items.length === 0 ? undefined : `${items.length} are left`;
  });
});

test("a relay that watches the clusters tells at once what is born, changes and ends there", async () => {
  const tenant = await aTenant();
  ends.push(await startClusterRelay(tenant));
  // Whatever a relay tells at its start is done with: from then on nobody else looks.
  await eventually(async () => (tenant.sqs.in("work.fifo").length > 0 ? undefined : "the relay has told nothing"));
  await tenant.settle();
  await tenant.east.create(inShop, aDeployment("web"));
  await untilReady(tenant, 4);
  await tenant.east.patch({ ...inShop, name: "web" }, { type: "merge", body: { spec: { replicas: 3 } } });
  await untilReady(tenant, 6);
  await tenant.east.delete({ ...inShop, name: "web" });
  await tenant.until(async () => {
    const left = [await tenant.upstream(), await tenant.copy("west")].filter((each) => each !== undefined);
    return left.length === 0 ? undefined : `${left.length} are left`;
  });
});
