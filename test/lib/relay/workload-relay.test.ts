import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { exportName, exportWorkspace } from "../../../lib/api/group.ts";
import { allWorkloadTypes } from "../../../lib/api/workload-kinds.ts";
import { createExportRelay } from "../../../lib/relay/export-relay.ts";
import type { RelayFailure, RelayListener } from "../../../lib/relay/listener.ts";
import { createRelay, type Relay, type RelayParts } from "../../../lib/relay/relay.ts";
import { newRecord, syncFinalizer } from "../../../lib/sync/ownership/record.ts";
import { createExportHub } from "../../../lib/upstream/export/hub.ts";
import { apiBindings } from "../../../lib/upstream/kcp-types.ts";
import { reconciledTypes, recordResource } from "../../../lib/upstream/watched-resources.ts";
import { createWorkloadCache, type WorkloadCache } from "../../../lib/upstream/workload-cache.ts";
import { withLastWrittenHash } from "../../../lib/upstream/workload-requests.ts";
import { aDeployment } from "../../contract/workload-hub.ts";
import {
  aPlacement,
  aRegistration,
  placements,
  registrations,
  startTenants,
  type Tenants,
} from "../upstream/tenants.ts";

const ends: (() => Promise<unknown>)[] = [];
const endAll = async (): Promise<void> => {
  for (const end of ends.splice(0).reverse()) await end();
};

const types = allWorkloadTypes();
const core = (plural: string, namespace?: string) => ({ type: { group: "", version: "v1", plural }, namespace });
const deployments = (namespace = "shop") => ({
  type: { group: "apps", version: "v1", plural: "deployments" },
  namespace,
});
const records = (namespace = "shop") => ({ type: recordResource.type, namespace });

const forms = ["direct", "export"] as const;
type Form = (typeof forms)[number];

/** Retries an assertion without advancing the clock. */
const soon = <T>(assertion: () => T | Promise<T>): Promise<T> => vi.waitFor(assertion, { timeout: 15_000 });

/** A relay that watches workloads, and the keys it sent: `0 deployments.v1.apps/shop/web`. */
function aRelay(form: Form, tenants: Tenants, options: Partial<RelayParts> = {}) {
  const sent: string[] = [];
  const failures: RelayFailure[] = [];
  const absent: string[] = [];
  const clock = createManualClock();
  const cache: WorkloadCache = createWorkloadCache({ types });
  const listener: RelayListener = {
    failed: (failure) => void failures.push(failure),
    absent: ({ what, error }) => void absent.push(`${what} ${error?.status ?? "there"}`),
    released: (cluster) => cache.drop(cluster),
  };
  const address = { path: exportWorkspace, name: exportName };
  const parts: RelayParts = {
    types: reconciledTypes,
    queue: {
      send: async (items) =>
        void sent.push(...items.map(({ key }) => `${tenants.clusters.indexOf(key.logicalCluster)} ${key.name}`)),
    },
    clock,
    random: () => 0.5,
    listener,
    workloads: { types, cache },
    ...options,
  };
  const openEndpoint = () => {
    throw new Error("there is one server");
  };
  const relay: Relay =
    form === "direct"
      ? createRelay({
          ...parts,
          workspaces: tenants.clusters.map((cluster) => ({ logicalCluster: cluster, client: tenants.at(cluster) })),
        })
      : createExportRelay({
          ...parts,
          provider: tenants.client,
          export: address,
          hub: createExportHub({ provider: tenants.client, export: address, openEndpoint, clock, random: () => 0.5 }),
        });
  ends.push(() => relay.stop(0));
  relay.start();
  return { relay, sent, failures, absent, clock, cache };
}

async function someTenants(paths: readonly string[] = ["root:one"]): Promise<Tenants> {
  const tenants = await startTenants(paths);
  ends.push(() => tenants.stop());
  return tenants;
}

const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
const plain = (kind: string, name: string) => ({ apiVersion: "v1", kind, metadata: { name } });
const aClaim = (name: string) => ({
  ...plain("PersistentVolumeClaim", name),
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
});
/** A Deployment with a ConfigMap, a Secret, a ServiceAccount and a PersistentVolumeClaim of its own name. */
const withDependencies = (name: string) =>
  aDeployment(
    name,
    {
      template: {
        metadata: { labels: { app: name } },
        spec: {
          serviceAccountName: name,
          containers: [{ name: "web", image: "nginx", envFrom: [{ secretRef: { name } }] }],
          volumes: [
            { name: "conf", configMap: { name } },
            { name: "disk", persistentVolumeClaim: { claimName: name } },
          ],
        },
      },
    },
    { namespace: undefined },
  );

/** Creates a namespace with a workload of its own name, its dependencies, and its sync record. */
async function createWorkload(client: KubeClient, name: string): Promise<void> {
  await client.create(core("namespaces"), namespace(name));
  await client.create(core("configmaps", name), plain("ConfigMap", name));
  await client.create(core("secrets", name), plain("Secret", name));
  await client.create(core("serviceaccounts", name), plain("ServiceAccount", name));
  await client.create(core("persistentvolumeclaims", name), aClaim(name));
  const workload = await client.create<KubeObject>(deployments(name), withDependencies(name));
  await client.create(records(name), withLastWrittenHash(newRecord(name, workload, "kcp")));
}

const label = (value: string) => ({ type: "merge", body: { metadata: { labels: { touched: value } } } }) as const;

describe.each(forms)("changes of a workload, %s relay", (form) => {
  let client: KubeClient;
  let sent: string[];
  let round = 0;
  beforeAll(async () => {
    const tenants = await someTenants();
    client = tenants.at(tenants.clusters[0] ?? "");
    await createWorkload(client, "shop");
    await createWorkload(client, "marker");
    const relay = aRelay(form, tenants);
    ({ sent } = relay);
    await relay.relay.whenListed();
    await soon(() => expect(sent.length).toBeGreaterThan(0));
    sent.length = 0;
  }, 60_000);
  afterAll(endAll);

  const web = "deployments.v1.apps/shop/shop";
  const inShop = (plural: string, name = "shop") => ({ ...core(plural, "shop"), name });
  const shopDeployment = { ...deployments(), name: "shop" };
  const shopRecord = { ...records(), name: "shop" };
  const claimed = (kind: string) => ({
    workloadSelector: { workloadTypes: [{ apiVersion: "v1", kind }] },
  });

  /** Changes an object of the same type that enqueues the marker workload: earlier events have been processed by then. */
  const marker: Record<string, (value: string) => Promise<unknown>> = {
    deployments: (value) => client.patch({ ...deployments("marker"), name: "marker" }, label(value)),
    workloadsyncs: (value) =>
      client.patch(
        { ...records("marker"), name: "marker" },
        { type: "merge", body: { spec: { placement: `other-${value}` } } },
      ),
    namespaces: (value) => client.patch({ ...core("namespaces"), name: "marker" }, label(value)),
    configmaps: (value) => client.patch({ ...core("configmaps", "marker"), name: "marker" }, label(value)),
    secrets: (value) => client.patch({ ...core("secrets", "marker"), name: "marker" }, label(value)),
    serviceaccounts: (value) => client.patch({ ...core("serviceaccounts", "marker"), name: "marker" }, label(value)),
    persistentvolumeclaims: (value) =>
      client.patch({ ...core("persistentvolumeclaims", "marker"), name: "marker" }, label(value)),
  };

  const merge = (body: object) => ({ type: "merge", body }) as const;
  const rows: readonly [what: string, of: string, act: () => Promise<unknown>, enqueued: readonly string[]][] = [
    [
      "its spec enqueues it",
      "deployments",
      () => client.patch(shopDeployment, merge({ spec: { replicas: 3 } })),
      [web],
    ],
    ["its labels enqueue it", "deployments", () => client.patch(shopDeployment, label("yes")), [web]],
    [
      "any annotation enqueues it",
      "deployments",
      () => client.patch(shopDeployment, merge({ metadata: { annotations: { any: "thing" } } })),
      [web],
    ],
    [
      "kubectl's last-applied-configuration does not enqueue it",
      "deployments",
      () =>
        client.patch(
          shopDeployment,
          merge({ metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" } } }),
        ),
      [],
    ],
    [
      "its status does not enqueue it",
      "deployments",
      () => client.patch(shopDeployment, merge({ status: { readyReplicas: 1 } }), { subresource: "status" }),
      [],
    ],
    [
      "adding TMC's finalizer does not enqueue it",
      "deployments",
      () => client.patch(shopDeployment, merge({ metadata: { finalizers: [syncFinalizer] } })),
      [],
    ],
    [
      "removing TMC's finalizer enqueues it",
      "deployments",
      () => client.patch(shopDeployment, merge({ metadata: { finalizers: [] } })),
      [web],
    ],
    [
      "a finalizer of another controller enqueues it",
      "deployments",
      () => client.patch(shopDeployment, merge({ metadata: { finalizers: ["some.one/else"] } })),
      [web],
    ],
    [
      "labels of its namespace enqueue all workloads in it",
      "namespaces",
      () => client.patch({ ...core("namespaces"), name: "shop" }, label("a")),
      [web, "persistentvolumeclaims.v1./shop/shop"],
    ],
    [
      "an annotation of its namespace does not enqueue it",
      "namespaces",
      () =>
        client.patch({ ...core("namespaces"), name: "shop" }, merge({ metadata: { annotations: { any: "thing" } } })),
      [],
    ],
    [
      "a change of a ConfigMap that it refers to enqueues it",
      "configmaps",
      () => client.patch(inShop("configmaps"), merge({ data: { a: "b" } })),
      [web],
    ],
    [
      "the deletion of a ConfigMap that it refers to enqueues it",
      "configmaps",
      () => client.delete(inShop("configmaps")),
      [web],
    ],
    [
      "the creation of a ConfigMap that it refers to enqueues it",
      "configmaps",
      () => client.create(core("configmaps", "shop"), plain("ConfigMap", "shop")),
      [web],
    ],
    [
      "a ConfigMap that it does not refer to does not enqueue it",
      "configmaps",
      () => client.create(core("configmaps", "shop"), plain("ConfigMap", "other")),
      [],
    ],
    [
      "a Secret that it refers to enqueues it",
      "secrets",
      () => client.patch(inShop("secrets"), merge({ stringData: { a: "b" } })),
      [web],
    ],
    [
      "its ServiceAccount enqueues it",
      "serviceaccounts",
      () => client.patch(inShop("serviceaccounts"), label("a")),
      [web],
    ],
    [
      "a PersistentVolumeClaim that it refers to enqueues it and itself",
      "persistentvolumeclaims",
      () => client.patch(inShop("persistentvolumeclaims"), label("a")),
      [web, "persistentvolumeclaims.v1./shop/shop"],
    ],
    [
      "the status of a PersistentVolumeClaim enqueues nothing",
      "persistentvolumeclaims",
      () =>
        client.patch(inShop("persistentvolumeclaims"), merge({ status: { phase: "Bound" } }), {
          subresource: "status",
        }),
      [],
    ],
    [
      "the status of its sync record does not enqueue it",
      "workloadsyncs",
      () => client.patch(shopRecord, merge({ status: { observedGeneration: 1 } }), { subresource: "status" }),
      [],
    ],
    [
      "TMC's own write to its sync record does not enqueue it",
      "workloadsyncs",
      async () => {
        const record = await client.get<ReturnType<typeof newRecord>>(shopRecord);
        const spec = { ...record.spec, clusters: ["east"], references: [{ kind: "Secret" as const, name: "pull" }] };
        const { spec: written, metadata } = withLastWrittenHash({ ...record, spec });
        await client.patch(shopRecord, merge({ spec: written, metadata: { annotations: metadata.annotations } }));
      },
      [],
    ],
    [
      "a dependency that only its sync record names enqueues it",
      "secrets",
      () => client.create(core("secrets", "shop"), plain("Secret", "pull")),
      [web],
    ],
    [
      "another writer's change of its sync record enqueues it",
      "workloadsyncs",
      () => client.patch(shopRecord, merge({ spec: { clusters: ["west"] } })),
      [web],
    ],
    ["the deletion request of its sync record enqueues it", "workloadsyncs", () => client.delete(shopRecord), [web]],
    [
      "the end of its sync record enqueues it",
      "workloadsyncs",
      () => client.patch(shopRecord, merge({ metadata: { finalizers: [] } })),
      [web],
    ],
    ["its deletion request enqueues it", "deployments", () => client.delete(shopDeployment), [web]],
    [
      "its end enqueues it",
      "deployments",
      () => client.patch(shopDeployment, merge({ metadata: { finalizers: [] } })),
      [web],
    ],
    [
      "a ConfigMap that no workload refers to any more enqueues nothing",
      "configmaps",
      () => client.patch(inShop("configmaps"), label("b")),
      [],
    ],
    [
      "a ConfigMap is a workload itself once a placement names the kind",
      "configmaps",
      async () => {
        await client.create(placements, aPlacement("maps", claimed("ConfigMap")));
        await soon(() => expect(sent).toContain("0 configmaps.v1./shop/shop"));
        sent.length = 0;
        await client.patch(inShop("configmaps"), label("c"));
      },
      ["configmaps.v1./shop/shop"],
    ],
    [
      "a Secret is no workload if placements name only ConfigMap",
      "secrets",
      () => client.patch(inShop("secrets"), label("c")),
      [],
    ],
  ];
  test.each(rows)("%s", async (_what, of, act, enqueued) => {
    await act();
    round += 1;
    await marker[of]?.(String(round));
    await soon(() => expect(sent.some((key) => key.includes("/marker/marker"))).toBe(true));
    // A namespace enqueues all its workloads, in any order.
    const keys = [...new Set(sent.filter((key) => key.includes("/shop/")).map((key) => key.slice(2)))];
    expect(keys.toSorted()).toEqual([...enqueued].toSorted());
    sent.length = 0;
  });
});

describe.each(forms)("%s relay before everything is listed", (form) => {
  afterEach(endAll);

  const missing: Record<string, Readonly<{ resource: string }>> = {
    ClusterRegistrations: { resource: "clusterregistrations" },
    namespaces: { resource: "namespaces" },
    CronJobs: { resource: "cronjobs" },
    Secrets: { resource: "secrets" },
  };
  test.each(Object.keys(missing))("sends no workload key while a list is missing: %s", async (what) => {
    const tenants = await someTenants();
    const [cluster = ""] = tenants.clusters;
    await createWorkload(tenants.at(cluster), "shop");
    await tenants.at(cluster).create(placements, aPlacement("all"));
    const { resource = "" } = missing[what] ?? {};
    const fault = tenants.kcp.faults.inject({
      match: { verb: "list", resource },
      effect: { kind: "status", code: 500 },
    });
    const { relay, sent, clock, failures, cache } = aRelay(form, tenants);
    await soon(() => expect(failures.length).toBeGreaterThan(0));
    if (resource !== "clusterregistrations") await soon(() => expect(sent).toEqual(["0 all"]));
    await soon(() => expect(cache.list(deployments().type, cluster)).toHaveLength(1));
    expect(sent.filter((key) => key.includes("/shop/"))).toEqual([]);
    expect(relay.unlisted()).toEqual([cluster]);

    fault.remove();
    await soon(() => {
      clock.advance(1_000);
      expect(sent).toContain("0 deployments.v1.apps/shop/shop");
    });
    expect(sent[0]).toBe("0 all");
    expect([relay.unlisted(), cache.isListed(cluster)]).toEqual([[], true]);
    // Once, although both the workload and its sync record enqueue it.
    expect(sent.filter((key) => key === "0 deployments.v1.apps/shop/shop")).toHaveLength(1);
  });

  test("sends only workloads without TMC's finalizer while sync records are not listed", async () => {
    const tenants = await someTenants();
    const [cluster = ""] = tenants.clusters;
    const client = tenants.at(cluster);
    await client.create(core("namespaces"), namespace("shop"));
    await client.create(deployments(), withDependencies("shop"));
    const alreadySynced = { ...aDeployment("synced"), metadata: { name: "synced", finalizers: [syncFinalizer] } };
    await client.create(deployments(), alreadySynced);
    const fault = tenants.kcp.faults.inject({
      match: { verb: "list", resource: "workloadsyncs" },
      effect: { kind: "status", code: 500 },
    });
    const { relay, sent, clock, failures, cache } = aRelay(form, tenants);
    await soon(() => expect(failures.length).toBeGreaterThan(0));
    await soon(() => expect(cache.list(deployments().type, cluster)).toHaveLength(2));
    await soon(() => expect(sent).toEqual(["0 deployments.v1.apps/shop/shop"]));
    expect(relay.unlisted()).toEqual([cluster]);

    fault.remove();
    await soon(() => {
      clock.advance(1_000);
      expect(sent).toContain("0 deployments.v1.apps/shop/synced");
    });
    expect([relay.unlisted(), cache.isListed(cluster)]).toEqual([[], true]);
  });

  test("sends the key of a deleted workload that has only a sync record", async () => {
    const tenants = await someTenants();
    const client = tenants.at(tenants.clusters[0] ?? "");
    await client.create(core("namespaces"), namespace("shop"));
    const gone = { ...aDeployment("gone"), metadata: { name: "gone", namespace: "shop", uid: "1" } };
    await client.create(
      records(),
      withLastWrittenHash({ ...newRecord("gone", gone, "kcp"), metadata: { name: "gone" } }),
    );
    const { sent } = aRelay(form, tenants);
    await soon(() => expect(sent).toEqual(["0 deployments.v1.apps/shop/gone"]));
  });
});

describe.each(forms)("%s relay with a type that is not served", (form) => {
  afterEach(endAll);

  test.each([404, 403])("treats the type as listed, reports no failure, and retries it after a %d", async (code) => {
    const tenants = await someTenants();
    const client = tenants.at(tenants.clusters[0] ?? "");
    await createWorkload(client, "shop");
    const match = { resource: "configmaps" };
    const fault = tenants.kcp.faults.inject({ match, effect: { kind: "status", code } });
    const { relay, sent, failures, absent, clock, cache } = aRelay(form, tenants);
    await relay.whenListed();
    await soon(() => expect(sent).toContain("0 deployments.v1.apps/shop/shop"));
    expect(absent).toEqual([`configmaps.v1. ${code}`]);
    const before = fault.hits;
    await soon(() => {
      clock.advance(20_000);
      expect(fault.hits).toBeGreaterThan(before + 2);
    });
    expect([failures, absent.length]).toEqual([[], 1]);
    expect(cache.isListed(tenants.clusters[0] ?? "")).toBe(true);

    fault.remove();
    sent.length = 0;
    await soon(() => {
      clock.advance(10_000);
      expect(absent).toEqual([`configmaps.v1. ${code}`, "configmaps.v1. there"]);
      expect(sent).toEqual(["0 deployments.v1.apps/shop/shop"]);
    });
  });
});

describe("workloads of export tenants", () => {
  afterEach(endAll);

  test("drops the cache of a released tenant, and lists it again when it binds again", async () => {
    const tenants = await someTenants(["root:one", "root:two"]);
    const [one = "", two = ""] = tenants.clusters;
    for (const cluster of [one, two]) await createWorkload(tenants.at(cluster), "shop");
    const { relay, sent, cache, clock } = aRelay("export", tenants);
    await relay.whenListed();
    await soon(() => expect(sent.filter((key) => key.includes("deployments")).toSorted()).toHaveLength(2));
    await tenants.at(one).delete({ type: apiBindings, name: "tmc-binding" });
    // The tenant stays until its objects are gone, because TMC has to remove its finalizers.
    await soon(() => expect(sent.filter((key) => key.startsWith("0 ")).length).toBeGreaterThan(2));
    expect(cache.logicalClusters()).toContain(one);
    const noFinalizers = { type: "merge", body: { metadata: { finalizers: [] } } } as const;
    await tenants.at(one).patch({ ...records(), name: "shop" }, noFinalizers);
    await soon(() => expect(cache.logicalClusters()).toEqual([two]));
    sent.length = 0;
    await tenants.at(two).patch({ ...deployments(), name: "shop" }, label("a"));
    await soon(() => expect(sent).toEqual(["1 deployments.v1.apps/shop/shop"]));

    await tenants.bind("root:one");
    await soon(() => {
      clock.advance(300);
      expect(cache.isListed(one)).toBe(true);
    });
  });

  test("a change of the accepted claims enqueues all workloads of the tenant, and of no other", async () => {
    const tenants = await someTenants(["root:one", "root:two"]);
    for (const cluster of tenants.clusters) await createWorkload(tenants.at(cluster), "shop");
    const { relay, sent } = aRelay("export", tenants);
    await relay.whenListed();
    await soon(() => expect(sent).toContain("1 deployments.v1.apps/shop/shop"));
    sent.length = 0;
    const binding = { type: apiBindings, name: "tmc-binding" };
    const client = tenants.at(tenants.clusters[0] ?? "");
    const { spec } = await client.get<{ spec: { permissionClaims: object[] } }>(binding);
    const permissionClaims = spec.permissionClaims.map((claim) => ({ ...claim, state: "Rejected" }));
    await client.patch(binding, { type: "merge", body: { spec: { permissionClaims } } });
    await soon(() => expect(sent).toContain("0 deployments.v1.apps/shop/shop"));
    expect(sent.filter((key) => key.startsWith("1 "))).toEqual([]);
  });
});

describe("number of watches", () => {
  afterEach(endAll);

  const watches = async (form: Form, count: number): Promise<number> => {
    const tenants = await someTenants(Array.from({ length: count }, (_, at) => `root:team-${at}`));
    for (const cluster of tenants.clusters) {
      const secretRef = { namespace: "default", name: "kubeconfig" };
      await tenants.at(cluster).create(registrations, aRegistration("east", { credentials: { secretRef } }));
    }
    const counted = tenants.kcp.faults.inject({ match: { verb: "watch" }, effect: { kind: "delay", ms: 0 } });
    const secrets = tenants.kcp.faults.inject({
      match: { verb: "watch", resource: "secrets" },
      effect: { kind: "delay", ms: 0 },
    });
    const { relay, cache } = aRelay(form, tenants);
    await relay.whenListed();
    await soon(() => expect(secrets.hits).toBeGreaterThan(0));
    await soon(() => expect(tenants.clusters.every((cluster) => cache.isListed(cluster))).toBe(true));
    await soon(() => expect(counted.hits).toBeGreaterThanOrEqual(form === "export" ? 19 : 17));
    expect(secrets.hits).toBe(form === "export" ? 1 : count);
    const { hits } = counted;
    await endAll();
    return hits;
  };

  test("an export relay opens 19 watches for any number of tenants", async () => {
    // The endpoint slice, bindings, two kinds and fifteen for workloads.
    expect(await watches("export", 1)).toBe(19);
    expect(await watches("export", 20)).toBe(19);
  }, 60_000);

  test("a direct relay opens 17 watches for one workspace", async () => {
    // Two kinds and fifteen for workloads.
    expect(await watches("direct", 1)).toBe(17);
  });

  test.each(forms)("a %s relay watches secrets once, for registrations and for workloads", async (form) => {
    const tenants = await someTenants();
    const client = tenants.at(tenants.clusters[0] ?? "");
    await client.create(core("namespaces"), namespace("shop"));
    const secretRef = { namespace: "shop", name: "kubeconfig" };
    await client.create(registrations, aRegistration("east", { credentials: { secretRef } }));
    const { relay, sent } = aRelay(form, tenants);
    await relay.whenListed();
    await soon(() => expect(sent).toEqual(["0 east"]));
    await client.create(core("secrets", "shop"), plain("Secret", "kubeconfig"));
    await soon(() => expect(sent).toEqual(["0 east", "0 east"]));
    await client.delete({ ...core("secrets", "shop"), name: "kubeconfig" });
    await soon(() => expect(sent).toEqual(["0 east", "0 east", "0 east"]));
  });
});
