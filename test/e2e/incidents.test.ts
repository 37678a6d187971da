import type { EmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { FaultMatch } from "@tmc/embedded/server/faults.ts";
import type { Collection, KubeClient, ListOptions } from "@tmc/kube/client.ts";
import type { KubeList, KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Transport } from "@tmc/kube/transport/transport.ts";
import { afterEach, describe, expect, test } from "vitest";
import type { WorkloadSync } from "../../lib/api/workload-sync.ts";
import type { Controller } from "../../lib/controller/controller.ts";
import type { ControllerOptions } from "../../lib/controller/parts.ts";
import { type CredentialSource, outcomeOf } from "../../lib/credentials/credentials.ts";
import { downstreamNamespace } from "../../lib/sync/ownership/namespace-map.ts";
import { syncedLabel } from "../../lib/sync/ownership/owner.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import { type ControllerEnvironment, startControllerEnvironment, statusOf } from "../support/controller-environment.ts";
import { aDeployment, type Deployment, present, recordNameOf, workTypes } from "./tenant-work.ts";

// Incidents in which users of similar systems lost workloads. Each test reproduces one with the real controller and is named
// after the behavior that prevents it.

/** A test environment with a namespace `shop`, in which the tests act as the tenant. */
type Shop = ControllerEnvironment &
  Readonly<{
    on(cluster: string): KubeClient;
    server(cluster: string): EmbeddedCluster;
    create(...names: readonly string[]): Promise<void>;
    place(spec?: object): Promise<void>;
    /** Patches the spec of the placement. */
    replace(spec: object): Promise<void>;
    /** Returns `name uid` of every copy on a cluster. */
    copies(cluster: string): Promise<readonly string[]>;
    copy(cluster: string, name: string): Promise<Deployment | undefined>;
    workload(name: string): Promise<Deployment | undefined>;
    record(name: string): Promise<WorkloadSync | undefined>;
    /** Returns state and reason of a cluster in the sync record, such as `Held DeletionsHeld`. */
    state(name: string, cluster: string): Promise<string>;
  }>;

const stages: ControllerEnvironment[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.stop();
});

async function openShop(options?: Parameters<typeof startControllerEnvironment>[0]): Promise<Shop> {
  const stage = await startControllerEnvironment(options);
  stages.push(stage);
  const { client, cluster, clusters } = stage;
  const server = (name: string): EmbeddedCluster => {
    const found = clusters.get(name);
    if (found === undefined) throw new Error(`no cluster ${name}`);
    return found;
  };
  const on = (name: string): KubeClient =>
    createKubeClient({ endpoint: { server: server(name).url }, transport: server(name).transport(), name });
  const namespace = downstreamNamespace({ hub: "kcp", logicalCluster: cluster, namespace: "shop" });
  await client.create(
    { type: workTypes.Namespace },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels: { team: "shop" } } },
  );
  for (const name of clusters.keys()) {
    await client.create(registrations, aRegistration(name, {}, { labels: { name } }));
  }
  const record = (name: string): Promise<WorkloadSync | undefined> =>
    present(client.get({ type: workTypes.WorkloadSync, namespace: "shop", name: recordNameOf(name) }));
  return {
    ...stage,
    on,
    server,
    create: async (...names) => {
      for (const name of names) {
        await client.create(
          { type: workTypes.Deployment, namespace: "shop" },
          aDeployment("shop", name, { replicas: 2 }),
        );
      }
    },
    place: async (spec = {}) => {
      await client.create(placements, aPlacement("shop", { strategy: "Spread", workloadSelector: {}, ...spec }));
    },
    replace: async (spec) => {
      await client.patch({ ...placements, name: "shop" }, { type: "merge", body: { spec } });
    },
    copies: async (name) => {
      const { items } = await on(name).list<KubeObject>({ type: workTypes.Deployment }, { labelSelector: syncedLabel });
      return items.map(({ metadata }) => `${metadata.name ?? ""} ${metadata.uid ?? ""}`).toSorted();
    },
    copy: (on_, name) => present(on(on_).get<Deployment>({ type: workTypes.Deployment, namespace, name })),
    workload: (name) => present(client.get<Deployment>({ type: workTypes.Deployment, namespace: "shop", name })),
    record,
    state: async (name, on_) => {
      const entry = (await record(name))?.status?.clusters?.find((each) => each.name === on_);
      return entry === undefined ? "none" : `${entry.state}${entry.reason === undefined ? "" : ` ${entry.reason}`}`;
    },
  };
}

/** Opens a shop whose workloads are ready on the clusters that fit. */
async function runningShop(
  names: readonly string[],
  spec: object = {},
  options: Partial<ControllerOptions> = {},
): Promise<Shop> {
  const shop = await openShop();
  await shop.place(spec);
  await shop.settled(options);
  await shop.create(...names);
  await shop.pass(10_000);
  for (const name of names) expect((await shop.workload(name))?.status?.readyReplicas, name).toBeGreaterThan(0);
  return shop;
}

/**
 * Opens a shop in which one placement has placed two workloads on both clusters. A second placement selects the same workloads
 * for the cluster west only, and would take precedence if the sync records did not name the first one.
 */
async function shopOfTwo(): Promise<Readonly<{ shop: Shop; controller: Controller }>> {
  const shop = await openShop();
  await shop.place({ workloadSelector: { namespaceSelector: { matchLabels: { team: "shop" } } } });
  const controller = await shop.settled();
  await shop.create("web", "api");
  await shop.pass(10_000);
  const byLabel = { labelSelector: { matchExpressions: [{ key: "app", operator: "Exists" }] } };
  const only = { strategy: "Spread", workloadSelector: byLabel, clusterNames: ["west"] };
  await shop.client.create(placements, aPlacement("then", only));
  await shop.pass(10_000);
  for (const name of ["east", "west"]) expect(await shop.copies(name), name).toHaveLength(2);
  return { shop, controller };
}

describe("eviction", () => {
  test("an eviction keeps the only copy of a workload if no other cluster fits", async () => {
    const shop = await runningShop(["web"], { locationSelector: { matchLabels: { name: "east" } } });
    const before = await shop.copies("east");
    expect(before).toHaveLength(1);
    const drain = { key: "tmc.kcp.io/drain", effect: "NoExecute" };
    await shop.client.patch(
      { ...registrations, name: "east" },
      { type: "merge", body: { spec: { unschedulable: true, taints: [drain] } } },
    );
    await shop.pass(600_000, 10_000);
    expect(statusOf(await shop.placement("shop")).selectedClusters ?? []).toEqual([]);
    expect(await shop.copies("east")).toEqual(before);
    expect(await shop.state("web", "east")).toBe("Ready LastCopy");
    expect((await shop.workload("web"))?.status).toMatchObject({ readyReplicas: 2 });
    // When the drain ends, the copy is reported as before.
    await shop.client.patch(
      { ...registrations, name: "east" },
      { type: "merge", body: { spec: { unschedulable: false, taints: [] } } },
    );
    await shop.pass(10_000);
    expect(await shop.state("web", "east")).toBe("Ready");
    expect(await shop.copies("east")).toEqual(before);
  });

  test("an eviction keeps a copy until the workload is ready on its new cluster", async () => {
    const shop = await runningShop(["web"], { locationSelector: { matchLabels: { name: "east" } } });
    const before = await shop.copies("east");
    shop.server("west").makeFull();
    await shop.replace({ locationSelector: { matchLabels: { name: "west" } } });
    await shop.pass(600_000, 10_000);
    expect(await shop.copies("west")).toHaveLength(1);
    expect(await shop.copies("east")).toEqual(before);
    expect(await shop.state("web", "east")).toBe("Evicting WaitingForReplacement");
    shop.server("west").recover();
    await shop.pass(20_000);
    expect(await shop.copies("east")).toEqual([]);
    expect((await shop.workload("web"))?.status).toMatchObject({ readyReplicas: 2 });
  });
});

describe("upstream outage", () => {
  const parts: Readonly<Record<string, FaultMatch>> = {
    "all resources": {},
    "only placements": { resource: "workloadplacements" },
    "only registrations": { resource: "clusterregistrations" },
    "only workloads": { resource: "deployments" },
    "only sync records": { resource: "workloadsyncs" },
  };
  test.each(Object.entries(parts))(
    "an upstream outage of %s deletes no copies, neither during the outage nor after it",
    async (_, match) => {
      const { shop } = await shopOfTwo();
      const before = await shop.copies("east");
      const selections = async () => statusOf(await shop.placement("shop")).history;
      const selectedBefore = await selections();
      const { faults } = shop.tenants.kcp;
      const cut = faults.inject({ match, effect: { kind: "partition", requests: "refuse" } });
      faults.cutWatches(match);
      await shop.pass(60_000, 5_000);
      // A copy and a cluster change meanwhile, so that the controller reads from upstream and fails to write there.
      const { namespace } = (await shop.copy("east", "web"))?.metadata ?? {};
      await shop
        .on("east")
        .patch(
          { type: workTypes.Deployment, namespace, name: "web" },
          { type: "merge", body: { spec: { replicas: 0 } } },
          { fieldManager: "other" },
        );
      shop.server("west").makeUnreachable("refuse");
      await shop.pass(150_000, 15_000);
      shop.server("west").recover();
      await shop.pass(750_000, 15_000);
      expect(await shop.copies("east")).toEqual(before);
      cut.remove();
      await shop.pass(120_000, 5_000);
      expect(await shop.copies("east")).toEqual(before);
      expect(await selections()).toEqual(selectedBefore);
      expect(await shop.state("web", "east")).toBe("Ready");
      // The workload is still synchronized.
      await shop.client.patch(
        { type: workTypes.Deployment, namespace: "shop", name: "web" },
        { type: "merge", body: { spec: { replicas: 3 } } },
      );
      await shop.pass(20_000);
      expect((await shop.copy("east", "web"))?.status).toMatchObject({ readyReplicas: 3 });
    },
  );

  test("a workload that disappears upstream without an observed deletion keeps its copies", async () => {
    const shop = await runningShop(["web"]);
    const before = await shop.copies("east");
    // As after a restore from an old backup: the object does not exist, and no deletion was observed.
    const address = { type: workTypes.Deployment, namespace: "shop", name: "web" };
    await shop.client.patch(address, { type: "merge", body: { metadata: { finalizers: null } } });
    await shop.client.delete(address);
    await shop.pass(600_000, 10_000);
    expect(await shop.workload("web")).toBeUndefined();
    expect(await shop.copies("east")).toEqual(before);
    expect(await shop.state("web", "east")).toBe("Held WorkloadVanished");
  });
});

describe("incomplete lists", () => {
  const all = (): boolean => true;
  type Row = Readonly<{ plural: string; hidden: (name: string) => boolean; expectedState?: string }>;
  const rows: Readonly<Record<string, Row>> = {
    deployments: { plural: "deployments", hidden: all },
    "sync records": { plural: "workloadsyncs", hidden: all },
    placements: { plural: "workloadplacements", hidden: all },
    "one of the placements": { plural: "workloadplacements", hidden: (name) => name === "shop" },
    registrations: { plural: "clusterregistrations", hidden: all, expectedState: "Stale ClusterNotReady" },
    "one of the registrations": {
      plural: "clusterregistrations",
      hidden: (name) => name === "east",
      expectedState: "Stale ClusterNotReady",
    },
    namespaces: { plural: "namespaces", hidden: all },
  };
  test.each(Object.entries(rows))(
    "a list at start that lacks %s deletes no copies",
    async (_, { expectedState = "Ready", ...hiding }) => {
      const { shop, controller: first } = await shopOfTwo();
      const before = { east: await shop.copies("east"), west: await shop.copies("west") };
      await stopped(shop, first);

      const blind = blindClient(shop.tenants.client, hiding);
      const second = shop.controller({ client: blind.client });
      await second.start();
      await shop.pass(120_000, 5_000);
      expect(blind.lists).toBeGreaterThan(0);
      expect({ east: await shop.copies("east"), west: await shop.copies("west") }).toEqual(before);
      expect(await shop.state("web", "east")).toBe(expectedState);
      await stopped(shop, second);

      await shop.settled();
      await shop.pass(10_000);
      expect({ east: await shop.copies("east"), west: await shop.copies("west") }).toEqual(before);
      expect(await shop.state("web", "east")).toBe("Ready");
    },
  );

  test("an empty list of sync records deletes no dependency that another workload uses", async () => {
    const shop = await openShop();
    await shop.place();
    const first = await shop.settled();
    const key = { apiVersion: "v1", kind: "Secret", metadata: { name: "key", namespace: "shop" }, data: { a: "Yg==" } };
    await shop.client.create({ type: workTypes.Secret, namespace: "shop" }, key);
    const container = { envFrom: [{ secretRef: { name: "key" } }] };
    for (const name of ["web", "api"]) {
      const work = aDeployment("shop", name, { container });
      await shop.client.create({ type: workTypes.Deployment, namespace: "shop" }, work);
    }
    await shop.pass(10_000);
    expect(await shop.copies("east")).toHaveLength(2);
    await stopped(shop, first);

    const blind = blindClient(shop.tenants.client, { plural: "workloadsyncs", hidden: all });
    await shop.controller({ client: blind.client }).start();
    await shop.pass(60_000, 5_000);
    const removed = shop.server("east").faults.inject({
      match: { verb: "delete", resource: "secrets" },
      effect: { kind: "delay", ms: 0 },
    });
    await shop.client.delete({ type: workTypes.Deployment, namespace: "shop", name: "api" });
    // Each reconcile fails to create the sync record, which exists after all, and is retried later.
    await shop.pass(180_000, 2_000);
    expect(await shop.copies("east")).toEqual([expect.stringMatching(/^web /)]);
    expect(removed.hits).toBe(0);
    // The dependency is deleted with the last workload that uses it.
    await shop.client.delete({ type: workTypes.Deployment, namespace: "shop", name: "web" });
    await shop.pass(180_000, 2_000);
    expect(await shop.copies("east")).toEqual([]);
    expect(removed.hits).toBe(1);
  });

  test("a stale list deletes no copies", async () => {
    const shop = await openShop();
    await shop.place();
    const first = await shop.settled();
    await shop.create("web", "api");
    await shop.pass(10_000);
    const before = await shop.copies("east");
    await stopped(shop, first);
    shop.tenants.kcp.faults.inject({
      match: { verb: "list" },
      effect: { kind: "stale-read", revisionsBack: 1_000_000 },
    });
    await shop.controller().start();
    await elapse(shop, 60_000);
    expect(await shop.copies("east")).toEqual(before);
    shop.tenants.kcp.faults.clear();
    await shop.pass(120_000, 5_000);
    expect(await shop.copies("east")).toEqual(before);
    expect(await shop.state("web", "east")).toBe("Ready");
  });

  test.each(["workloadplacements", "workloadsyncs", "namespaces"])(
    "a failed list of %s at start deletes no copies",
    async (resource) => {
      const { shop, controller: first } = await shopOfTwo();
      const before = await shop.copies("east");
      await stopped(shop, first);
      const { faults } = shop.tenants.kcp;
      const failing = faults.inject({ match: { verb: "list", resource }, effect: { kind: "status", code: 500 } });
      await shop.controller().start();
      await shop.pass(120_000, 5_000);
      expect(failing.hits).toBeGreaterThan(0);
      expect(await shop.copies("east")).toEqual(before);
      faults.clear();
      await shop.pass(120_000, 5_000);
      expect(await shop.copies("east")).toEqual(before);
      expect(await shop.state("web", "east")).toBe("Ready");
    },
  );

  test("an empty list of downstream copies deletes no copies and forgets none", async () => {
    const shop = await openShop();
    await shop.place();
    const first = await shop.settled();
    await shop.create("web", "api");
    await shop.pass(10_000);
    const before = await shop.copies("east");
    await stopped(shop, first);
    const second = shop.controller({
      openTransport: (_endpoint, { key }) =>
        lyingTransport(shop.server(key.name).transport(), "/apis/apps/v1/deployments"),
    });
    await second.start();
    await shop.pass(60_000, 5_000);
    expect(await shop.copies("east")).toEqual(before);
    expect(await shop.state("web", "east")).toBe("Ready");
    // The controller reads a copy that the list lacks before it treats the copy as deleted.
    await shop.client.delete({ type: workTypes.Deployment, namespace: "shop", name: "api" });
    await shop.pass(30_000);
    expect(await shop.copies("east")).toEqual(before.filter((each) => each.startsWith("web ")));
  });

  test("the deletion of a placement deletes its copies", async () => {
    const shop = await runningShop(["web"]);
    await shop.client.delete({ ...placements, name: "shop" });
    await shop.pass(30_000);
    expect(await shop.copies("east")).toEqual([]);
    expect(await shop.copies("west")).toEqual([]);
    expect(await shop.workload("web")).toBeDefined();
  });
});

test("a short outage of a cluster moves no workloads", async () => {
  const shop = await runningShop(["web"], { strategy: "RoundRobin", preferredClusters: ["east"] });
  const before = await shop.copies("east");
  expect(before).toHaveLength(1);
  for (let glitch = 0; glitch < 3; glitch++) {
    shop.server("east").makeUnreachable("refuse");
    await shop.pass(150_000, 5_000);
    expect(await shop.copies("west")).toEqual([]);
    shop.server("east").recover();
    await shop.pass(120_000, 5_000);
    expect(await shop.copies("west")).toEqual([]);
    expect(await shop.copies("east")).toEqual(before);
  }
  expect(await shop.state("web", "east")).toBe("Ready");
});

test("a cluster is watched again after its credentials were rotated", async () => {
  let [current, remembered] = ["token-of-old", "token-of-old"];
  const shop = await openShop({ users: { "token-of-old": "old", "token-of-new": "new" } });
  const operatorCredentials: CredentialSource = {
    find: async ({ key }) => {
      const token = remembered;
      return outcomeOf(
        { server: shop.server(key.name).url, token: async () => token },
        { providedBy: "operator", nowMs: shop.clock.now() },
      );
    },
    // The credentials are cached until the cluster rejects them.
    invalidate: () => {
      remembered = current;
    },
  };
  await shop.place();
  await shop.settled({
    // Without probes and resyncs, only the watch itself can notice that its credentials are rejected.
    settings: { heartbeatSeconds: 3_600, resyncSeconds: 3_600 },
    operatorCredentials,
    openTransport: ({ token }, { key }) => {
      const send = async (request: Parameters<ReturnType<EmbeddedCluster["transport"]>["send"]>[0]) =>
        shop
          .server(key.name)
          .transport((await token?.()) ?? "none")
          .send(request);
      return { send, close: async () => {} };
    },
  });
  await shop.create("web");
  await shop.pass(10_000);
  expect(await shop.state("web", "east")).toBe("Ready");

  current = "token-of-new";
  for (const name of ["east", "west"]) {
    const { faults } = shop.server(name);
    faults.inject({ match: { user: "old" }, effect: { kind: "status", code: 401 } });
    faults.cutWatches({ user: "old" });
  }
  await shop.pass(10_000);
  expect(await shop.state("web", "east")).toBe("Ready");
  const copy = await shop.copy("east", "web");
  await shop.on("east").delete({ type: workTypes.Deployment, namespace: copy?.metadata.namespace, name: "web" });
  await shop.pass(5_000);
  const again = await shop.copy("east", "web");
  expect(again?.metadata.uid).not.toBe(copy?.metadata.uid);
  expect(again?.status).toMatchObject({ readyReplicas: 2 });
});

describe("downstream controllers", () => {
  test("replicas that a downstream autoscaler sets are not reverted", async () => {
    const shop = await openShop();
    await shop.place();
    await shop.settled();
    const scaler = {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "web", namespace: "shop" },
      spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" }, maxReplicas: 9 },
    };
    await shop.client.create({ type: workTypes.HorizontalPodAutoscaler, namespace: "shop" }, scaler);
    await shop.create("web");
    await shop.pass(10_000);
    const { namespace } = (await shop.copy("east", "web"))?.metadata ?? {};
    const at = { type: workTypes.Deployment, namespace, name: "web" };
    for (const replicas of [5, 3]) {
      await shop.on("east").patch(at, { type: "merge", body: { spec: { replicas } } }, { fieldManager: "scaler" });
      await shop.pass(60_000, 5_000);
      expect((await shop.copy("east", "web"))?.spec.replicas).toBe(replicas);
    }
    await shop.client.patch(
      { type: workTypes.Deployment, namespace: "shop", name: "web" },
      { type: "merge", body: { spec: { replicas: 1, minReadySeconds: 1 } } },
    );
    await shop.pass(20_000);
    expect((await shop.copy("east", "web"))?.spec).toMatchObject({ replicas: 3, minReadySeconds: 1 });
    expect((await shop.copy("west", "web"))?.spec).toMatchObject({ replicas: 2, minReadySeconds: 1 });
  });

  test("fields that a downstream controller adds to a copy are not reverted", async () => {
    const shop = await runningShop(["web"]);
    const before = await shop.copy("east", "web");
    const at = { type: workTypes.Deployment, namespace: before?.metadata.namespace, name: "web" };
    const sidecar = { name: "proxy", image: "proxy:1" };
    const body = {
      ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", annotations: { injected: "yes" } } },
      spec: { template: { spec: { containers: [sidecar] } } },
    };
    await shop.on("east").patch(at, { type: "apply", body }, { fieldManager: "injector" });
    const written = shop.server("east").faults.inject({
      match: { verb: "patch", resource: "deployments" },
      effect: { kind: "delay", ms: 0 },
    });
    await shop.pass(10_000);
    const changed = await shop.copy("east", "web");
    expect(changed?.spec.template.spec.containers).toContainEqual(expect.objectContaining(sidecar));
    await shop.pass(120_000, 5_000);
    expect((await shop.copy("east", "web"))?.metadata.generation).toBe(changed?.metadata.generation);
    expect(written.hits).toBe(0);
  });
});

describe("tenants on one cluster", () => {
  test("workloads of two tenants with equal names are kept apart and run only on selected clusters", async () => {
    const shop = await openShop({ workspaces: ["root:one", "root:two"] });
    const [, two = ""] = shop.tenants.clusters;
    const other = shop.tenants.at(two);
    await other.create(
      { type: workTypes.Namespace },
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
    );
    await other.create(registrations, aRegistration("east"));
    await shop.place({ strategy: "RoundRobin", clusterNames: ["east"] });
    await other.create(placements, aPlacement("shop", { workloadSelector: {} }));
    await shop.settled();
    await shop.create("web");
    await other.create(
      { type: workTypes.Deployment, namespace: "shop" },
      aDeployment("shop", "web", { image: "other:1", replicas: 1 }),
    );
    await shop.pass(20_000);
    expect(await shop.copies("east")).toHaveLength(2);
    expect((await shop.copy("east", "web"))?.spec).toMatchObject({ replicas: 2 });
    const namespacesOf = async (name: string): Promise<readonly string[]> => {
      const { items } = await shop.on(name).list<KubeObject>({ type: workTypes.Namespace });
      return items.map(({ metadata }) => metadata.name ?? "").filter((each) => each.startsWith("tmc-"));
    };
    expect(await namespacesOf("east")).toHaveLength(2);
    expect(await namespacesOf("west")).toEqual([]);

    const mine = await shop.copy("east", "web");
    await other.delete({ type: workTypes.Deployment, namespace: "shop", name: "web" });
    await shop.pass(30_000);
    expect(await shop.copies("east")).toEqual([`web ${mine?.metadata.uid}`]);
    expect(await namespacesOf("east")).toEqual([mine?.metadata.namespace]);
  });
});

test("a cluster that hangs does not delay other clusters and receives only health probes", async () => {
  const shop = await runningShop(["web"]);
  shop.server("west").makeUnreachable("hang");
  await elapse(shop, 180_000);
  expect(await shop.state("web", "west")).toBe("Stale ClusterNotReady");
  const asked = shop.server("west").faults.inject({ effect: { kind: "delay", ms: 0 } });
  for (let at = 0; at < 5; at++) await shop.create(`more-${at}`);
  await elapse(shop, 5_000);
  for (let at = 0; at < 5; at++) expect(await shop.state(`more-${at}`, "east")).toBe("Ready");
  await shop.client.patch(
    { type: workTypes.Deployment, namespace: "shop", name: "web" },
    { type: "merge", body: { spec: { replicas: 3 } } },
  );
  await elapse(shop, 5_000);
  expect((await shop.copy("east", "web"))?.status).toMatchObject({ readyReplicas: 3 });
  await elapse(shop, 600_000);
  // One probe per half minute, with one or two requests each.
  expect(asked.hits).toBeLessThan(50);
});

describe("unreachable clusters", () => {
  test("an unreachable cluster does not count in the status, and its entry has the time of the last observation", async () => {
    const shop = await runningShop(["web"], {
      tolerations: [{ key: "tmc.kcp.io/not-ready", operator: "Exists", effect: "NoExecute" }],
    });
    expect((await shop.workload("web"))?.status).toMatchObject({ readyReplicas: 4 });
    const seen = (await shop.record("web"))?.status?.clusters?.find(({ name }) => name === "west")?.lastObservedTime;
    shop.server("west").makeUnreachable("refuse");
    await shop.pass(300_000, 5_000);
    expect((await shop.workload("web"))?.status).toMatchObject({ readyReplicas: 2 });
    const entry = (await shop.record("web"))?.status?.clusters?.find(({ name }) => name === "west");
    expect(entry).toMatchObject({ state: "Stale", reason: "ClusterNotReady", lastObservedTime: seen });
    expect(entry).not.toHaveProperty("readyReplicas");
    expect(entry?.message).toMatch(/the last heartbeat of the cluster was at 20/);
    shop.server("west").recover();
    await shop.pass(120_000, 5_000);
    expect((await shop.workload("web"))?.status).toMatchObject({ readyReplicas: 4 });
  });

  test("a drained cluster is removed from the status of its workloads", async () => {
    const shop = await runningShop(["web"]);
    const drain = { key: "tmc.kcp.io/drain", effect: "NoExecute" };
    await shop.client.patch(
      { ...registrations, name: "west" },
      { type: "merge", body: { spec: { unschedulable: true, taints: [drain] } } },
    );
    await shop.pass(30_000);
    expect(await shop.copies("west")).toEqual([]);
    expect((await shop.workload("web"))?.status).toMatchObject({ replicas: 2, readyReplicas: 2 });
    expect(await shop.state("web", "west")).toBe("none");
  });
});

describe("placement decisions", () => {
  test("a placement is decided again when a cluster gets a taint", async () => {
    // Without a resync, only the change of the cluster enqueues the placement.
    const options = { settings: { resyncSeconds: 3_600 } };
    const shop = await runningShop(["web"], { strategy: "RoundRobin", preferredClusters: ["east"] }, options);
    expect(await shop.copies("west")).toEqual([]);
    await shop.client.patch(
      { ...registrations, name: "east" },
      { type: "merge", body: { spec: { taints: [{ key: "maintenance", effect: "NoExecute" }] } } },
    );
    await shop.pass(20_000);
    expect(statusOf(await shop.placement("shop")).selectedClusters).toEqual(["west"]);
    expect(await shop.copies("west")).toHaveLength(1);
    expect(await shop.copies("east")).toEqual([]);
  });

  test("a placement is decided again when a cluster becomes unreachable and its toleration ends", async () => {
    const shop = await runningShop(["web"], { strategy: "RoundRobin", preferredClusters: ["east"] });
    shop.server("east").makeUnreachable("refuse");
    await shop.pass(200_000, 5_000);
    expect(await shop.copies("west")).toEqual([]);
    await shop.pass(300_000, 5_000);
    expect(statusOf(await shop.placement("shop")).selectedClusters).toEqual(["west"]);
    expect(await shop.copies("west")).toHaveLength(1);
    shop.server("east").recover();
    await shop.pass(180_000, 5_000);
    expect(await shop.copies("east")).toEqual([]);
  });
});

/** Stops a controller while the clock advances. */
async function stopped({ clock }: Shop, controller: Readonly<{ stop(): Promise<void> }>): Promise<void> {
  const turning = setInterval(() => clock.advance(100), 1);
  await controller.stop();
  clearInterval(turning);
}

/** Advances the clock without waiting for requests that hang. */
async function elapse({ clock }: Shop, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    clock.advance(1_000);
    for (let turn = 0; turn < 40; turn++) {
      clock.advance(0);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Returns a client whose lists of one type lack the hidden objects. */
function blindClient(
  client: KubeClient,
  { plural, hidden }: Readonly<{ plural: string; hidden: (name: string) => boolean }>,
): Readonly<{ client: KubeClient; lists: number }> {
  let lists = 0;
  const blinded = (list: KubeClient["list"]): KubeClient["list"] =>
    async function answer<T>(collection: Collection, options?: ListOptions): Promise<KubeList<T>> {
      const whole = await list<T & KubeObject>(collection, options);
      if (collection.type.plural !== plural) return whole;
      lists += 1;
      return { ...whole, items: whole.items.filter(({ metadata }) => !hidden(metadata.name ?? "")) };
    };
  const wrap = (seeing: KubeClient): KubeClient => ({
    ...seeing,
    list: blinded(seeing.list),
    listAll: blinded(seeing.listAll),
    metadata: {
      ...seeing.metadata,
      list: blinded(seeing.metadata.list),
      listAll: blinded(seeing.metadata.listAll),
    },
    at: (path) => wrap(seeing.at(path)),
  });
  return {
    client: wrap(client),
    get lists() {
      return lists;
    },
  };
}

/** Returns a transport to a cluster whose lists of one type are empty. */
function lyingTransport(transport: Transport, path: string): Transport {
  return {
    ...transport,
    send: async (request) => {
      const response = await transport.send(request);
      if (request.method !== "GET" || request.stream === true || request.path.split("?")[0] !== path) return response;
      const list: unknown = JSON.parse(await response.text());
      const text = async (): Promise<string> => JSON.stringify({ ...Object(list), items: [] });
      return { ...response, text };
    },
  };
}
