import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { exportName, exportWorkspace } from "../../../lib/api/group.ts";
import { workloadKindsWith } from "../../../lib/api/workload-kinds.ts";
import { createExportRelay } from "../../../lib/relay/export-relay.ts";
import type { RelayListener, RelayTrouble } from "../../../lib/relay/listener.ts";
import { createRelay, type Relay, type RelayParts } from "../../../lib/relay/relay.ts";
import { newRecord, syncFinalizer } from "../../../lib/sync/ownership/record.ts";
import { createExportHub } from "../../../lib/upstream/export/hub.ts";
import { apiBindings } from "../../../lib/upstream/kcp-types.ts";
import { reconciledTypes } from "../../../lib/upstream/reconciled-types.ts";
import { recordLane } from "../../../lib/upstream/watched-resources.ts";
import { createWorkloadCache, type WorkloadCache } from "../../../lib/upstream/workload-cache.ts";
import { markedRecord } from "../../../lib/upstream/workload-requests.ts";
import { aDeployment } from "../../contract/workload-hub.ts";
import { createManualClock } from "../../support/manual-clock.ts";
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

const types = workloadKindsWith();
const core = (plural: string, namespace?: string) => ({ type: { group: "", version: "v1", plural }, namespace });
const deployments = (namespace = "shop") => ({
  type: { group: "apps", version: "v1", plural: "deployments" },
  namespace,
});
const records = (namespace = "shop") => ({ type: recordLane.type, namespace });

const forms = ["direct", "export"] as const;
type Form = (typeof forms)[number];

/** Waits for what follows without any time that passes. */
const soon = <T>(look: () => T | Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 15_000 });

/** A relay that watches workloads, and what it sent: `0 deployments.v1.apps/shop/web`. */
function aRelay(form: Form, tenants: Tenants, options: Partial<RelayParts> = {}) {
  const sent: string[] = [];
  const troubles: RelayTrouble[] = [];
  const absent: string[] = [];
  const clock = createManualClock();
  const cache: WorkloadCache = createWorkloadCache({ types });
  const listener: RelayListener = {
    trouble: (trouble) => void troubles.push(trouble),
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
          clusters: tenants.clusters.map((cluster) => ({ logicalCluster: cluster, client: tenants.at(cluster) })),
        })
      : createExportRelay({
          ...parts,
          provider: tenants.client,
          export: address,
          hub: createExportHub({ provider: tenants.client, export: address, openEndpoint, clock, random: () => 0.5 }),
        });
  ends.push(() => relay.stop(0));
  relay.start();
  return { relay, sent, troubles, absent, clock, cache };
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
/** A Deployment that needs a ConfigMap, a Secret, a ServiceAccount and a claim of its own name. */
const needy = (name: string) =>
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

/** Makes a namespace with a workload of its own name, all that it needs, and TMC's record of it. */
async function furnish(client: KubeClient, name: string): Promise<void> {
  await client.create(core("namespaces"), namespace(name));
  await client.create(core("configmaps", name), plain("ConfigMap", name));
  await client.create(core("secrets", name), plain("Secret", name));
  await client.create(core("serviceaccounts", name), plain("ServiceAccount", name));
  await client.create(core("persistentvolumeclaims", name), aClaim(name));
  const workload = await client.create<KubeObject>(deployments(name), needy(name));
  await client.create(records(name), markedRecord(newRecord(name, workload)));
}

const label = (value: string) => ({ type: "merge", body: { metadata: { labels: { touched: value } } } }) as const;

describe.each(forms)("what wakes a workload, %s", (form) => {
  let client: KubeClient;
  let sent: string[];
  let round = 0;
  beforeAll(async () => {
    const tenants = await someTenants();
    client = tenants.at(tenants.clusters[0] ?? "");
    await furnish(client, "shop");
    await furnish(client, "marker");
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

  /** Changes something of the same type that is known to wake the marker: whatever came before has been heard by then. */
  const marker: Record<string, (value: string) => Promise<unknown>> = {
    deployments: (value) => client.patch({ ...deployments("marker"), name: "marker" }, label(value)),
    workloadsyncs: (value) =>
      client.patch(
        { ...records("marker"), name: "marker" },
        { type: "merge", body: { spec: { placement: `somebody-${value}` } } },
      ),
    namespaces: (value) => client.patch({ ...core("namespaces"), name: "marker" }, label(value)),
    configmaps: (value) => client.patch({ ...core("configmaps", "marker"), name: "marker" }, label(value)),
    secrets: (value) => client.patch({ ...core("secrets", "marker"), name: "marker" }, label(value)),
    serviceaccounts: (value) => client.patch({ ...core("serviceaccounts", "marker"), name: "marker" }, label(value)),
    persistentvolumeclaims: (value) =>
      client.patch({ ...core("persistentvolumeclaims", "marker"), name: "marker" }, label(value)),
  };

  const merge = (body: object) => ({ type: "merge", body }) as const;
  const rows: readonly [what: string, of: string, act: () => Promise<unknown>, wakes: readonly string[]][] = [
    ["its spec", "deployments", () => client.patch(shopDeployment, merge({ spec: { replicas: 3 } })), [web]],
    ["its labels", "deployments", () => client.patch(shopDeployment, label("yes")), [web]],
    [
      "any annotation",
      "deployments",
      () => client.patch(shopDeployment, merge({ metadata: { annotations: { any: "thing" } } })),
      [web],
    ],
    [
      "not what kubectl notes about itself",
      "deployments",
      () =>
        client.patch(
          shopDeployment,
          merge({ metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" } } }),
        ),
      [],
    ],
    [
      "not its status",
      "deployments",
      () => client.patch(shopDeployment, merge({ status: { readyReplicas: 1 } }), { subresource: "status" }),
      [],
    ],
    [
      "not TMC's own finalizer, when it is put on",
      "deployments",
      () => client.patch(shopDeployment, merge({ metadata: { finalizers: [syncFinalizer] } })),
      [],
    ],
    [
      "TMC's own finalizer, when somebody takes it off",
      "deployments",
      () => client.patch(shopDeployment, merge({ metadata: { finalizers: [] } })),
      [web],
    ],
    [
      "somebody else's finalizer",
      "deployments",
      () => client.patch(shopDeployment, merge({ metadata: { finalizers: ["some.one/else"] } })),
      [web],
    ],
    [
      "the labels of its namespace",
      "namespaces",
      () => client.patch({ ...core("namespaces"), name: "shop" }, label("a")),
      [web, "persistentvolumeclaims.v1./shop/shop"],
    ],
    [
      "not an annotation of its namespace",
      "namespaces",
      () =>
        client.patch({ ...core("namespaces"), name: "shop" }, merge({ metadata: { annotations: { any: "thing" } } })),
      [],
    ],
    [
      "a ConfigMap that it refers to",
      "configmaps",
      () => client.patch(inShop("configmaps"), merge({ data: { a: "b" } })),
      [web],
    ],
    ["one that goes", "configmaps", () => client.delete(inShop("configmaps")), [web]],
    [
      "one that comes",
      "configmaps",
      () => client.create(core("configmaps", "shop"), plain("ConfigMap", "shop")),
      [web],
    ],
    [
      "not one that it does not refer to",
      "configmaps",
      () => client.create(core("configmaps", "shop"), plain("ConfigMap", "other")),
      [],
    ],
    [
      "a Secret that it refers to",
      "secrets",
      () => client.patch(inShop("secrets"), merge({ stringData: { a: "b" } })),
      [web],
    ],
    ["its ServiceAccount", "serviceaccounts", () => client.patch(inShop("serviceaccounts"), label("a")), [web]],
    [
      "a claim that it refers to, which is a workload too",
      "persistentvolumeclaims",
      () => client.patch(inShop("persistentvolumeclaims"), label("a")),
      [web, "persistentvolumeclaims.v1./shop/shop"],
    ],
    [
      "not the status of that claim",
      "persistentvolumeclaims",
      () =>
        client.patch(inShop("persistentvolumeclaims"), merge({ status: { phase: "Bound" } }), {
          subresource: "status",
        }),
      [],
    ],
    [
      "not the status of its record",
      "workloadsyncs",
      () => client.patch(shopRecord, merge({ status: { observedGeneration: 1 } }), { subresource: "status" }),
      [],
    ],
    [
      "not what TMC itself writes into its record",
      "workloadsyncs",
      async () => {
        const record = await client.get<ReturnType<typeof newRecord>>(shopRecord);
        const spec = { ...record.spec, clusters: ["east"], references: [{ kind: "Secret" as const, name: "pull" }] };
        const { spec: said, metadata } = markedRecord({ ...record, spec });
        await client.patch(shopRecord, merge({ spec: said, metadata: { annotations: metadata.annotations } }));
      },
      [],
    ],
    [
      "what its record says comes along with it",
      "secrets",
      () => client.create(core("secrets", "shop"), plain("Secret", "pull")),
      [web],
    ],
    [
      "what somebody else writes into its record",
      "workloadsyncs",
      () => client.patch(shopRecord, merge({ spec: { clusters: ["west"] } })),
      [web],
    ],
    ["that somebody deletes its record", "workloadsyncs", () => client.delete(shopRecord), [web]],
    [
      "that its record has gone",
      "workloadsyncs",
      () => client.patch(shopRecord, merge({ metadata: { finalizers: [] } })),
      [web],
    ],
    ["that it is being deleted", "deployments", () => client.delete(shopDeployment), [web]],
    [
      "that it has gone",
      "deployments",
      () => client.patch(shopDeployment, merge({ metadata: { finalizers: [] } })),
      [web],
    ],
    [
      "not a ConfigMap that nobody refers to any more",
      "configmaps",
      () => client.patch(inShop("configmaps"), label("b")),
      [],
    ],
    [
      "a ConfigMap is a workload by itself from when a placement names the kind",
      "configmaps",
      async () => {
        await client.create(placements, aPlacement("maps", claimed("ConfigMap")));
        await soon(() => expect(sent).toContain("0 configmaps.v1./shop/shop"));
        sent.length = 0;
        await client.patch(inShop("configmaps"), label("c"));
      },
      ["configmaps.v1./shop/shop"],
    ],
    ["and no Secret is by that", "secrets", () => client.patch(inShop("secrets"), label("c")), []],
  ];
  test.each(rows)("%s", async (_what, of, act, wakes) => {
    await act();
    round += 1;
    await marker[of]?.(String(round));
    await soon(() => expect(sent.some((key) => key.includes("/marker/marker"))).toBe(true));
    // A namespace tells all that is in it, in any order.
    const heard = [...new Set(sent.filter((key) => key.includes("/shop/")).map((key) => key.slice(2)))];
    expect(heard.toSorted()).toEqual([...wakes].toSorted());
    sent.length = 0;
  });
});

describe.each(forms)("before everything is listed, %s", (form) => {
  afterEach(endAll);

  const held: Record<string, Readonly<{ resource: string }>> = {
    "one of our kinds": { resource: "clusterregistrations" },
    namespaces: { resource: "namespaces" },
    "another type of workload": { resource: "cronjobs" },
    "what comes along": { resource: "secrets" },
  };
  test.each(Object.keys(held))("no workload is told while this is missing: %s", async (what) => {
    const tenants = await someTenants();
    const [cluster = ""] = tenants.clusters;
    await furnish(tenants.at(cluster), "shop");
    await tenants.at(cluster).create(placements, aPlacement("all"));
    const { resource = "" } = held[what] ?? {};
    const refusal = tenants.kcp.faults.inject({
      match: { verb: "list", resource },
      effect: { kind: "status", code: 500 },
    });
    const { relay, sent, clock, troubles, cache } = aRelay(form, tenants);
    await soon(() => expect(troubles.length).toBeGreaterThan(0));
    if (resource !== "clusterregistrations") await soon(() => expect(sent).toEqual(["0 all"]));
    await soon(() => expect(cache.list(deployments().type, cluster)).toHaveLength(1));
    expect(sent.filter((key) => key.includes("/shop/"))).toEqual([]);
    expect(relay.unlisted()).toEqual([cluster]);

    refusal.remove();
    await soon(() => {
      clock.advance(1_000);
      expect(sent).toContain("0 deployments.v1.apps/shop/shop");
    });
    expect(sent[0]).toBe("0 all");
    expect([relay.unlisted(), cache.isListed(cluster)]).toEqual([[], true]);
    // Once, although the workload and its record both tell it.
    expect(sent.filter((key) => key === "0 deployments.v1.apps/shop/shop")).toHaveLength(1);
  });

  test("while records are missing only what TMC has not begun with is told", async () => {
    const tenants = await someTenants();
    const [cluster = ""] = tenants.clusters;
    const client = tenants.at(cluster);
    await client.create(core("namespaces"), namespace("shop"));
    await client.create(deployments(), needy("shop"));
    const begun = { ...aDeployment("begun"), metadata: { name: "begun", finalizers: [syncFinalizer] } };
    await client.create(deployments(), begun);
    const refusal = tenants.kcp.faults.inject({
      match: { verb: "list", resource: "workloadsyncs" },
      effect: { kind: "status", code: 500 },
    });
    const { relay, sent, clock, troubles, cache } = aRelay(form, tenants);
    await soon(() => expect(troubles.length).toBeGreaterThan(0));
    await soon(() => expect(cache.list(deployments().type, cluster)).toHaveLength(2));
    await soon(() => expect(sent).toEqual(["0 deployments.v1.apps/shop/shop"]));
    expect(relay.unlisted()).toEqual([cluster]);

    refusal.remove();
    await soon(() => {
      clock.advance(1_000);
      expect(sent).toContain("0 deployments.v1.apps/shop/begun");
    });
    expect([relay.unlisted(), cache.isListed(cluster)]).toEqual([[], true]);
  });

  test("what only a record is left of is told as well", async () => {
    const tenants = await someTenants();
    const client = tenants.at(tenants.clusters[0] ?? "");
    await client.create(core("namespaces"), namespace("shop"));
    const gone = { ...aDeployment("gone"), metadata: { name: "gone", namespace: "shop", uid: "1" } };
    await client.create(records(), markedRecord({ ...newRecord("gone", gone), metadata: { name: "gone" } }));
    const { sent } = aRelay(form, tenants);
    await soon(() => expect(sent).toEqual(["0 deployments.v1.apps/shop/gone"]));
  });
});

describe.each(forms)("a type that is not there, %s", (form) => {
  afterEach(endAll);

  test.each([404, 403])("counts as listed, is no trouble, and is asked for again: %d", async (code) => {
    const tenants = await someTenants();
    const client = tenants.at(tenants.clusters[0] ?? "");
    await furnish(client, "shop");
    const match = { resource: "configmaps" };
    const refusal = tenants.kcp.faults.inject({ match, effect: { kind: "status", code } });
    const { relay, sent, troubles, absent, clock, cache } = aRelay(form, tenants);
    await relay.whenListed();
    await soon(() => expect(sent).toContain("0 deployments.v1.apps/shop/shop"));
    expect(absent).toEqual([`configmaps.v1. ${code}`]);
    const before = refusal.hits;
    await soon(() => {
      clock.advance(20_000);
      expect(refusal.hits).toBeGreaterThan(before + 2);
    });
    expect([troubles, absent.length]).toEqual([[], 1]);
    expect(cache.isListed(tenants.clusters[0] ?? "")).toBe(true);

    refusal.remove();
    sent.length = 0;
    await soon(() => {
      clock.advance(10_000);
      expect(absent).toEqual([`configmaps.v1. ${code}`, "configmaps.v1. there"]);
      expect(sent).toEqual(["0 deployments.v1.apps/shop/shop"]);
    });
  });
});

describe("tenants of an export", () => {
  afterEach(endAll);

  test("one that is let go is forgotten, and comes back as a new one", async () => {
    const tenants = await someTenants(["root:one", "root:two"]);
    const [one = "", two = ""] = tenants.clusters;
    for (const cluster of [one, two]) await furnish(tenants.at(cluster), "shop");
    const { relay, sent, cache, clock } = aRelay("export", tenants);
    await relay.whenListed();
    await soon(() => expect(sent.filter((key) => key.includes("deployments")).toSorted()).toHaveLength(2));
    await tenants.at(one).delete({ type: apiBindings, name: "tmc-binding" });
    // Until then it is looked after: what TMC holds back is TMC's to let go.
    await soon(() => expect(sent.filter((key) => key.startsWith("0 ")).length).toBeGreaterThan(2));
    expect(cache.clusters()).toContain(one);
    const noFinalizers = { type: "merge", body: { metadata: { finalizers: [] } } } as const;
    await tenants.at(one).patch({ ...records(), name: "shop" }, noFinalizers);
    await soon(() => expect(cache.clusters()).toEqual([two]));
    sent.length = 0;
    await tenants.at(two).patch({ ...deployments(), name: "shop" }, label("a"));
    await soon(() => expect(sent).toEqual(["1 deployments.v1.apps/shop/shop"]));

    await tenants.bind("root:one");
    await soon(() => {
      clock.advance(300);
      expect(cache.isListed(one)).toBe(true);
    });
  });

  test("what a binding accepts anew has all workloads of its tenant looked at, and no other's", async () => {
    const tenants = await someTenants(["root:one", "root:two"]);
    for (const cluster of tenants.clusters) await furnish(tenants.at(cluster), "shop");
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

describe("watches", () => {
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

  test("of all tenants of an export are as many as of one: the slice, bindings, two kinds and fifteen for workloads", async () => {
    expect(await watches("export", 1)).toBe(19);
    expect(await watches("export", 20)).toBe(19);
  }, 60_000);

  test("of a workspace that is reached directly are two, and fifteen for workloads", async () => {
    expect(await watches("direct", 1)).toBe(17);
  });

  test.each(forms)("secrets are watched once, for registrations and for workloads: %s", async (form) => {
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
