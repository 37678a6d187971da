import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../../../lib/api/workload-placement.ts";
import { resourceTypes } from "../../../../lib/cli/workspace.ts";
import { reconcileRequestedAnnotation } from "../../../../lib/relay/event-to-key/fingerprint.ts";
import { volumeMessage } from "../../../../lib/sync/eviction/volumes.ts";
import { downstreamNamespace, namespaceManifest } from "../../../../lib/sync/ownership/namespace-map.ts";
import { eventually } from "../../../support/eventually.ts";
import { aDeployment, deployments, type PlacedWorkspace, secrets, startPlacedWorkspace } from "../placed.ts";
import { tmc } from "../support.ts";

let workspace: PlacedWorkspace;
const seen = "2026-01-01T00:00:00Z";
const readyOn = (name: string, count: number) => ({
  name,
  state: "Ready" as const,
  desiredReplicas: count,
  readyReplicas: count,
  generation: 1,
  appliedHash: "before",
  lastObservedTime: seen,
});
const ready = (status: "True" | "False", reason: string, message: string) => ({
  type: "Ready",
  status,
  reason,
  message,
});

beforeAll(async () => {
  workspace = await startPlacedWorkspace();
  const { client, clock, create, recorded, select } = workspace;
  const place = (name: string, spec: object) =>
    client.create(
      { type: resourceTypes.placements },
      { apiVersion: "tmc.kcp.io/v1alpha1", kind: "WorkloadPlacement", metadata: { name }, spec },
    );
  await place("shop", { strategy: "Spread", workloadSelector: { labelSelector: { matchLabels: { tier: "front" } } } });
  await place("keys", { workloadSelector: { workloadTypes: [{ apiVersion: "v1", kind: "Secret" }] } });
  await select("shop", "east", "west");
  await select("keys", "east");
  const front = (object: KubeObject): KubeObject => ({
    ...object,
    metadata: { ...object.metadata, labels: { ...object.metadata.labels, tier: "front" } },
  });
  await recorded(deployments, await create(deployments, front(aDeployment("web", 3))), {
    copies: [
      readyOn("east", 3),
      {
        ...readyOn("west", 3),
        state: "Applied",
        reason: "Progressing",
        message: "1 of 3 replicas are ready",
        readyReplicas: 1,
      },
    ],
    conditions: [ready("False", "NotReady", "ready on 1 of 2 clusters: west Progressing")],
    references: [{ kind: "ConfigMap", name: "settings" }],
  });
  await recorded(deployments, await create(deployments, front(aDeployment("api", 2))), {
    copies: [readyOn("east", 2), readyOn("west", 2)],
    conditions: [ready("True", "Ready", "ready on 2 of 2 clusters")],
  });
  await recorded(deployments, await create(deployments, aDeployment("old", 1)), {
    placement: "gone",
    copies: [{ name: "east", state: "Held", reason: "DeletionsHeld", message: "12 of 12 copies would leave at once" }],
    conditions: [
      ready("False", "NotPlaced", "still on east"),
      { type: "DeletionsHeld", status: "True", reason: "DeletionsHeld", message: "east: 12 of 12 copies" },
    ],
  });
  await create(deployments, aDeployment("idle", 1));
  await create(secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: "keys",
      namespace: "shop",
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": '{"data":{"password":"aHVudGVyMg=="}}' },
    },
    data: { password: "aHVudGVyMg==" },
  });
  clock.shown += 90_000;
});
afterAll(() => workspace.stop());

/** Commands with their exact output and exit code. */
const printed: Record<string, Readonly<{ code?: number; out?: string; err?: string }>> = {
  "workload list -n shop": {
    out: `
NAME                   PLACEMENT   CLUSTERS   READY   STATUS      AGE
deployment.apps/api    shop        2/2        4/4     Ready       90s
deployment.apps/idle   <none>      0/0        -       NotPlaced   90s
deployment.apps/old    gone        0/0        -       Held        90s
deployment.apps/web    shop        1/2        4/6     Applied     90s
secret/keys            keys        0/1        -       Pending     90s
`,
  },
  "workload list deploy -A -o wide": {
    out: `
NAMESPACE   NAME                   PLACEMENT   CLUSTERS   READY   STATUS      AGE   COPIES               MESSAGE
shop        deployment.apps/api    shop        2/2        4/4     Ready       90s   east 2/2, west 2/2   ready on 2 of 2 clusters
shop        deployment.apps/idle   <none>      0/0        -       NotPlaced   90s   <none>               no placement selects it
shop        deployment.apps/old    gone        0/0        -       Held        90s   east Held            no placement selects it; still on east
shop        deployment.apps/web    shop        1/2        4/6     Applied     90s   east 3/3, west 1/3   ready on 1 of 2 clusters: west Progressing
`,
  },
  "workload list deploy -n shop -l app!=web,app!=old": {
    out: `
NAME                   PLACEMENT   CLUSTERS   READY   STATUS      AGE
deployment.apps/api    shop        2/2        4/4     Ready       90s
deployment.apps/idle   <none>      0/0        -       NotPlaced   90s
`,
  },
  "workload list sts -n shop": { err: "No workloads found in namespace shop.\n" },
  "workload list cm -n shop": { err: "No workloads found in namespace shop.\n" },
  "workload list -n shop -A": { code: 2, err: "tmc: --all-namespaces and --namespace exclude each other\n" },
  "workload list dploy -A": {
    code: 2,
    err: 'tmc: "dploy": unknown workload type (did you mean deploy?); specify a custom resource by its full name, such as databases.v1.example.com\n',
  },
  "workload status deploy/web -n shop": {
    code: 1,
    out: `
Name:                   deployment.apps/web
Namespace:              shop
Status:                 NotReady: ready on 1 of 2 clusters: west Progressing
Replicas:               4 ready of 6 desired
Generation:             1
Downstream namespace:   tmc-shop-HASH
Placement:              shop (Spread selected east, west)
Dependencies:           ConfigMap/settings

CLUSTER   STATE     DESIRED   READY   WRITTEN   AGE   MESSAGE
east      Ready     3         3       1         90s   -
west      Applied   3         1       1         90s   1 of 3 replicas are ready

To see it on its clusters, if your kubeconfig has a context for each of them:
  kubectl --context east -n tmc-shop-HASH get deployment.apps/web
  kubectl --context west -n tmc-shop-HASH get deployment.apps/web
`,
    err: "tmc: deployment.apps/web is not ready: ready on 1 of 2 clusters: west Progressing\n",
  },
  "workload status deploy api -n shop -o wide": {
    out: `
Name:                   deployment.apps/api
Namespace:              shop
Status:                 Ready: ready on 2 of 2 clusters
Replicas:               4 ready of 4 desired
Generation:             1
Downstream namespace:   tmc-shop-HASH
Placement:              shop (Spread selected east, west)

CLUSTER   STATE   DESIRED   READY   WRITTEN   AGE   HEARTBEAT   REASON   MESSAGE
east      Ready   2         2       1         90s   90s ago     -        -
west      Ready   2         2       1         90s   90s ago     -        -

To see it on its clusters, if your kubeconfig has a context for each of them:
  kubectl --context east -n tmc-shop-HASH get deployment.apps/api
  kubectl --context west -n tmc-shop-HASH get deployment.apps/api
`,
  },
  "workload status deployment.apps/old -n shop": {
    code: 1,
    out: `
Name:                   deployment.apps/old
Namespace:              shop
Status:                 NotReady: NotPlaced: no placement selects it; still on east
Generation:             1
Downstream namespace:   tmc-shop-HASH
Placement:              <none>
Conditions:             DeletionsHeld: east: 12 of 12 copies

CLUSTER   STATE   DESIRED   READY   WRITTEN   AGE   MESSAGE
east      Held    -         -       -         -     12 of 12 copies would leave at once

To see it on its clusters, if your kubeconfig has a context for each of them:
  kubectl --context east -n tmc-shop-HASH get deployment.apps/old
`,
    err: "tmc: deployment.apps/old is not ready: no placement selects it; still on east\n",
  },
  "workload status deploy/wib -n shop": {
    code: 1,
    err: 'tmc: deployment.apps "wib": not found in namespace shop (did you mean web?)\n',
  },
  "workload status deploy -n shop": {
    code: 2,
    err: 'tmc: "deploy": name is required; expected kind/name, such as deploy/web\n',
  },
  confirm: {
    out: `
NAMESPACE   HELD                  CLUSTER   MESSAGE
shop        deployment.apps/old   east      12 of 12 copies would leave at once
`,
    err: "Nothing was confirmed. Specify held objects, or --all; tmc workload list -A shows all held workloads.\n",
  },
  "confirm --cluster west": { err: "No deletions are held.\n" },
  "confirm deploy/web -n shop": { code: 1, err: 'tmc: deployments "web": no deletions are held\n' },
  "confirm deploy/old --all": { code: 2, err: "tmc: --all cannot be combined with names\n" },
  "confirm cluster/east": { code: 1, err: 'tmc: cluster "east": no deletions of upsynced objects are held\n' },
  "confirm failure/east": { code: 1, err: 'tmc: cluster "east": no evictions are held\n' },
  "confirm cluster/south": { code: 1, err: 'tmc: cluster "south": not registered; registered clusters: east, west\n' },
  "explain --workload deploy/web -n shop": {
    out: `
deployment.apps/web: placement shop governs it and selects east, west

PLACEMENT   SELECTS   GOVERNS   MESSAGE
shop        yes       yes       the only placement that selects it
keys        no        no        workloadTypes does not contain apps/v1 Deployment
`,
  },
  "explain --workload deploy/old -n shop": {
    out: `
deployment.apps/old: no placement selects it

PLACEMENT   SELECTS   GOVERNS   MESSAGE
keys        no        no        workloadTypes does not contain apps/v1 Deployment
shop        no        no        labelSelector does not match the labels of the workload
`,
  },
  "diff deploy/web -n shop --cluster nowhere": {
    code: 2,
    err: 'tmc: cluster "nowhere": not registered; registered clusters: east, west\n',
  },
  "diff secret/keys -n shop --cluster west": {
    code: 2,
    err: "tmc: keys on west: not placed on this cluster; placement keys selects east\n",
  },
  "diff deploy/idle -n shop": { code: 2, err: "tmc: idle: no placement selects the workload\n" },
  "diff deploy/web -n shop --cluster-kubeconfig a": {
    code: 2,
    err: "tmc: --cluster-kubeconfig requires --cluster\n",
  },
  "diff deploy/old -n shop --cluster east": {
    code: 2,
    err: "tmc: old on east: no placement selects the workload\n",
  },
};

describe("output of workload commands", () => {
  it.each(Object.entries(printed))(
    "tmc %s prints the expected text",
    async (command, { code = 0, out = "", err = "" }) => {
      const outcome = await workspace.run(command);
      expect({ ...outcome, out: plain(outcome.out) }).toEqual({ code, out: out.replace(/^\n/, ""), err });
    },
  );

  it.each(["workload list -n shop", "workload status deploy/web -n shop"])(
    "tmc %s prints the same document as json and yaml",
    async (command) => {
      const [json, yaml] = await Promise.all([
        workspace.run(`${command} -o json`),
        workspace.run(`${command} -o yaml`),
      ]);
      expect(JSON.parse(json.out)).toEqual(load(yaml.out));
      expect(json.out).not.toContain("managedFields");
    },
  );

  it("tmc workload status -o json prints all details", async () => {
    const { out } = await workspace.run("workload status deploy/web -n shop -o json");
    expect(JSON.parse(out)).toMatchObject({
      workload: { apiVersion: "apps/v1", kind: "Deployment", namespace: "shop", name: "web", generation: 1 },
      ready: false,
      placement: "shop",
      replicas: { desired: 6, ready: 4 },
      clusters: [
        { name: "east", state: "Ready", target: true, message: null },
        { name: "west", state: "Applied", target: true, message: "1 of 3 replicas are ready" },
      ],
    });
  });

  it("tmc workload status prints commands with the kubeconfigs of tmc local, if its kcp is selected", async () => {
    const { run, kubeconfig } = workspace;
    const directory = await mkdtemp(join(tmpdir(), "tmc-status-"));
    const local = join(directory, ".tmc");
    await mkdir(local);
    await copyFile(kubeconfig, join(local, "kcp.kubeconfig"));
    await copyFile(kubeconfig, join(local, "east.kubeconfig"));
    const command = "workload status deploy/web -n shop -o json";
    const commandsWith = async (paths: string) => {
      const { clusters } = JSON.parse((await run(command, { directory, env: { KUBECONFIG: paths } })).out);
      return clusters.map((each: { command: string }) => plain(each.command));
    };
    const here = await commandsWith(join(local, "kcp.kubeconfig"));
    const elsewhere = await commandsWith(kubeconfig);
    await copyFile(kubeconfig, join(local, "west.kubeconfig"));
    const env = { KUBECONFIG: join(local, "kcp.kubeconfig") };
    const { out } = await run("workload status deploy/web -n shop", { directory, env });
    await rm(directory, { recursive: true });
    const west = "kubectl --context west -n tmc-shop-HASH get deployment.apps/web";
    expect(here).toEqual(["kubectl --kubeconfig .tmc/east.kubeconfig -n tmc-shop-HASH get deployment.apps/web", west]);
    expect(out).toContain("\nTo see it on its clusters:\n  kubectl --kubeconfig .tmc/east.kubeconfig ");
    expect(elsewhere).toEqual(["kubectl --context east -n tmc-shop-HASH get deployment.apps/web", west]);
  });

  it("tmc workload status shows a copy as stale when its cluster is not Ready any more", async () => {
    const { client, run } = workspace;
    const address = { type: resourceTypes.registrations, name: "west" };
    const condition = (status: string) => ({
      status: {
        conditions: [{ type: "Ready", status, reason: "R", message: "it times out", lastTransitionTime: seen }],
      },
    });
    await client.patch(address, { type: "merge", body: condition("False") }, { subresource: "status" });
    const { code, out } = await run("workload status deploy/api -n shop");
    const list = await run("workload list -n shop");
    await client.patch(address, { type: "merge", body: condition("True") }, { subresource: "status" });
    expect(code).toBe(1);
    expect(list.out).toMatch(/^deployment.apps\/api +shop +1\/2 +2\/4 +Stale/m);
    expect(out).toContain("Status:                 NotReady: ClusterNotReady: clusters that are not Ready: west\n");
    expect(out).toContain(
      "west      Stale   2         2       1         90s   the cluster is not Ready: it times out\n",
    );
    expect(out).toContain("Replicas:               2 ready of 4 desired; west is not Ready, last heard from 90s ago\n");
  });

  it("tmc workload status --watch waits until the workload is ready, and prints what is missing", async () => {
    const { client, runUntil, becomes, record } = workspace;
    const before = await record(deployments, "web");
    if (before === undefined) throw new Error("no record");
    const address = { type: resourceTypes.syncRecords, namespace: "shop", name: before.metadata.name ?? "" };
    const say = (conditions: readonly object[]) =>
      client.patch(address, { type: "merge", body: { status: { conditions } } }, { subresource: "status" });
    const { code, out, err } = await runUntil("workload status deploy/web -n shop --watch", "waiting", async () => {
      await becomes(deployments, "web", [readyOn("east", 3), readyOn("west", 3)]);
      await say([{ ...ready("True", "Ready", "ready on 2 of 2 clusters"), lastTransitionTime: seen }]);
    });
    expect(code).toBe(0);
    expect(err).toBe("waiting for deployment.apps/web: ready on 1 of 2 clusters: west Progressing\n");
    expect(out).toContain("Status:                 Ready: ready on 2 of 2 clusters\n");
    await becomes(deployments, "web", before.status?.clusters ?? []);
    await say(before.status?.conditions ?? []);
  });
});

describe("completion of names", () => {
  it.each<[string, string]>([
    ["__names clusters cluster drain e", "east\nwest\n"],
    ["__names placements placement describe", "keys\nshop\n"],
    [
      "__names workloads diff -n shop",
      "deployment.apps/api\ndeployment.apps/idle\ndeployment.apps/old\ndeployment.apps/web\nsecret/keys\n",
    ],
    ["__names workloads diff -n shop deploy/w", "deploy/api\ndeploy/idle\ndeploy/old\ndeploy/web\n"],
    ["__names workloads workload status deploy w -n shop", "api\nidle\nold\nweb\n"],
    ["__names workloads workload status secret w --namespace=shop", "keys\n"],
    ["__names nothing", ""],
  ])("tmc %s prints names", async (command, out) => {
    expect(await workspace.run(command)).toEqual({ code: 0, out, err: "" });
  });
});

describe("tmc reconcile", () => {
  it.each(["reconcile deploy api -n shop", "reconcile deployment.apps/api -n shop"])(
    "tmc %s requests a sync of the workload by an annotation",
    async (command) => {
      const { client, clock, run } = workspace;
      const address = { type: deployments, namespace: "shop", name: "api" };
      const annotate = (value: string | null) =>
        client.patch(address, {
          type: "merge",
          body: { metadata: { annotations: { [reconcileRequestedAnnotation]: value } } },
        });
      await annotate(null);
      expect(await run(command)).toEqual({ code: 0, out: "deployment.apps/api reconcile requested\n", err: "" });
      const { metadata } = await client.get<KubeObject>(address);
      expect(metadata.annotations?.[reconcileRequestedAnnotation]).toBe(new Date(clock.now()).toISOString());
      await annotate(null);
    },
  );
});

describe("custom resources", () => {
  const databases = { group: "example.com", version: "v1", plural: "databases" };
  const spec = {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "databases", singular: "database", kind: "Database", listKind: "DatabaseList" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  };

  it("tmc workload names the placement of a custom resource that the controller does not sync", async () => {
    const { client, run, create, select } = workspace;
    const crds = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };
    const metadata = { name: "databases.example.com" };
    await client.create(
      { type: crds },
      { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata, spec },
    );
    const selector = { workloadTypes: [{ apiVersion: "example.com/v1", kind: "Database" }] };
    await client.create(
      { type: resourceTypes.placements },
      {
        apiVersion: "tmc.kcp.io/v1alpha1",
        kind: "WorkloadPlacement",
        metadata: { name: "data" },
        spec: { workloadSelector: selector },
      },
    );
    await select("data", "east");
    await eventually(() =>
      client.list({ type: databases }).then(
        () => undefined,
        (error: unknown) => `databases: ${String(error)}`,
      ),
    );
    await create(databases, {
      apiVersion: "example.com/v1",
      kind: "Database",
      metadata: { name: "main", namespace: "shop" },
    });
    const [status, list] = [
      await run("workload status databases.v1.example.com/main -n shop"),
      await run("workload list databases.v1.example.com -n shop"),
    ];
    await client.delete({ type: resourceTypes.placements, name: "data" });
    const { err: unplaced } = await run("workload status databases.v1.example.com/main -n shop");
    expect(status.err).toBe(
      "tmc: database.example.com/main is not ready: placement data selects it, but no controller has reconciled it yet\n",
    );
    expect(list.out).toMatch(/^database.example.com\/main +data +0\/1 +- +Pending/m);
    expect(unplaced).toBe("tmc: database.example.com/main is not ready: no placement selects it\n");
  });
});

describe("tmc workload list --watch", () => {
  it("prints a row that changes, and a name that is gone, until it is interrupted", async () => {
    const { client, run, create } = workspace;
    await create(deployments, aDeployment("brief", 1));
    const interrupt = Promise.withResolvers<void>();
    const [listed, changed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const onPrint = (text: string): void => {
      listed.resolve();
      if (text.includes("Deleting")) changed.resolve();
      if (text.includes("is gone")) interrupt.resolve();
    };
    const ended = run("workload list deploy -n shop -w -l app=brief", { onPrint, interrupted: interrupt.promise });
    await listed.promise;
    const address = { type: deployments, namespace: "shop", name: "brief" };
    const finalize = (finalizers: readonly string[]) =>
      client.patch(address, { type: "merge", body: { metadata: { finalizers } } });
    await finalize(["example.com/wait"]);
    await client.delete(address);
    await changed.promise;
    await finalize([]);
    expect(await ended).toEqual({
      code: 0,
      out: `NAME                    PLACEMENT   CLUSTERS   READY   STATUS      AGE
deployment.apps/brief   <none>      0/0        -       NotPlaced   0s
deployment.apps/brief   <none>      0/0        -       Deleting    0s
`,
      err: "deployment.apps/brief is gone\n",
    });
    expect(await run("workload list -w -o json")).toEqual({
      code: 2,
      out: "",
      err: "tmc: --watch prints a table and excludes --output json\n",
    });
  });
});

describe("tmc explain of a workload that is held by its volumes", () => {
  it.each(["explain shop", "explain --workload deploy/web -n shop"])(
    "tmc %s names the workload, the claim, and what allows the move",
    async (command) => {
      const { client, run, record } = workspace;
      const before = await record(deployments, "web");
      const address = { type: resourceTypes.syncRecords, namespace: "shop", name: before?.metadata.name ?? "" };
      const say = (conditions: readonly object[]) =>
        client.patch(address, { type: "merge", body: { status: { conditions } } }, { subresource: "status" });
      const held = {
        type: "EvictionHeld",
        status: "True",
        reason: "VolumeNotMovable",
        message: `east: ${volumeMessage(["data"])}`,
        lastTransitionTime: seen,
      };
      expect((await run(command)).out).not.toContain("is held by its volumes");
      await say([...(before?.status?.conditions ?? []), held]);
      const { out } = await run(command);
      await say(before?.status?.conditions ?? []);
      expect(out).toContain(
        "deployment.apps/web in shop is held by its volumes: east: the placement selects other clusters, but the data of " +
          'PersistentVolumeClaim data is here; "volumes: Recreate" in the placement moves the workload without its data; ' +
          "sharedStorageClasses moves it with its data if all clusters can use volumes of that storage class\n",
      );
    },
  );
});

/** Replaces the parts of the output that differ between workspaces. */
const plain = (text: string): string =>
  text
    .replaceAll(/"logicalCluster":"[a-z0-9]+"/g, '"logicalCluster":"LC"')
    .replaceAll(/tmc-shop-[a-z0-9]{25}/g, "tmc-shop-HASH")
    .replaceAll(/synced: [a-z0-9]+/g, "synced: HASH")
    .replaceAll(/\*\*\* [0-9a-f]{12}/g, "*** DIGEST");

describe("tmc diff", () => {
  it("tmc diff prints the whole manifest as new without access to the cluster", async () => {
    const { code, out, err } = await workspace.run("diff deploy/web -n shop --cluster east");
    expect({ code, err }).toEqual({ code: 1, err: "" });
    expect(plain(out)).toBe(`--- /dev/null
+++ east: deployment.apps/web
@@ -0,0 +1,24 @@
+apiVersion: apps/v1
+kind: Deployment
+metadata:
+  annotations:
+    tmc.kcp.io/owner: '{"hub":"kcp","logicalCluster":"LC","namespace":"shop","registration":"east","apiVersion":"apps/v1","kind":"Deployment","name":"web"}'
+  labels:
+    app: web
+    tier: front
+    tmc.kcp.io/synced: HASH
+  name: web
+  namespace: tmc-shop-HASH
+spec:
+  replicas: 3
+  selector:
+    matchLabels:
+      app: web
+  template:
+    metadata:
+      labels:
+        app: web
+    spec:
+      containers:
+        - image: nginx:1.27
+          name: web
`);
  });

  it("tmc diff without --cluster compares all clusters of the workload", async () => {
    const { run } = workspace;
    const [all, east, west] = [
      await run("diff deploy/web -n shop"),
      await run("diff deploy/web -n shop --cluster east"),
      await run("diff deploy/web -n shop --cluster west"),
    ];
    expect(west.out).toContain("+++ west: deployment.apps/web\n");
    expect(all).toEqual({ code: 1, out: east.out + west.out, err: "" });
    const { items } = load((await run("diff deploy/web -n shop -o yaml")).out) as { items: readonly unknown[] };
    expect(items).toEqual([
      load((await run("diff deploy/web -n shop --cluster east -o yaml")).out),
      load((await run("diff deploy/web -n shop --cluster west -o yaml")).out),
    ]);
  });

  it("tmc diff -o yaml prints the manifest", async () => {
    const { code, out } = await workspace.run("diff deploy/web -n shop --cluster east -o yaml");
    expect(code).toBe(0);
    expect(load(out)).toMatchObject({ kind: "Deployment", metadata: { name: "web" }, spec: { replicas: 3 } });
  });

  it("tmc diff --cluster-kubeconfig prints only the differences from the object on the cluster", async () => {
    const { client, clusterKubeconfigs, on, run } = workspace;
    const there = on("east");
    const { metadata } = await client.get<KubeObject>({ type: deployments, namespace: "shop", name: "web" });
    const locator = { hub: "kcp", logicalCluster: metadata.annotations?.["kcp.io/cluster"] ?? "", namespace: "shop" };
    const namespace = downstreamNamespace(locator);
    await there.create(
      { type: { group: "", version: "v1", plural: "namespaces" } },
      namespaceManifest(locator) as unknown as KubeObject,
    );
    const manifest = load((await run("diff deploy/web -n shop --cluster east -o yaml")).out) as KubeObject;
    await there.patch(
      { type: deployments, namespace, name: "web" },
      { type: "apply", body: manifest, force: true },
      { fieldManager: "tmc" },
    );
    const command = `diff deploy/web -n shop --cluster east --cluster-kubeconfig ${clusterKubeconfigs.get("east")}`;
    expect(await run(command)).toEqual({ code: 0, out: "", err: "" });
    await there.patch(
      { type: deployments, namespace, name: "web" },
      { type: "merge", body: { spec: { replicas: 1 } } },
    );
    const { code, out } = await run(command);
    expect(code).toBe(1);
    expect(out.split("\n").filter((line) => /^[-+] /.test(line))).toEqual(["-  replicas: 1", "+  replicas: 3"]);
  });

  it("tmc diff and tmc workload list never print the values of a Secret", async () => {
    const { run, client, clusterKubeconfigs, on } = workspace;
    const there = on("east");
    const { metadata } = await client.get<KubeObject>({ type: secrets, namespace: "shop", name: "keys" });
    const locator = { hub: "kcp", logicalCluster: metadata.annotations?.["kcp.io/cluster"] ?? "", namespace: "shop" };
    await there.create(
      { type: secrets, namespace: downstreamNamespace(locator) },
      { apiVersion: "v1", kind: "Secret", metadata: { name: "keys" }, data: { password: "c2VzYW1l", other: "eA==" } },
    );
    const commands = [
      "diff secret/keys -n shop --cluster east",
      "diff secret/keys -n shop --cluster east -o yaml",
      "diff secret/keys -n shop --cluster east -o json",
      `diff secret/keys -n shop --cluster east --cluster-kubeconfig ${clusterKubeconfigs.get("east")}`,
      "workload list -A -o yaml",
    ];
    for (const command of commands) {
      const { out, err } = await run(command);
      expect(out + err).not.toMatch(/aHVudGVyMg|hunter2|c2VzYW1l|sesame|eA==/);
    }
    const { out, err } = await run(commands[3] ?? "");
    expect(err).toBe(
      "secret/keys on east: an object of that name exists but is not a copy of this workload: it was not created by TMC\n",
    );
    expect(plain(out)).toContain("-  password: '*** DIGEST'\n+  password: '*** DIGEST'\n");
  });

  it("tmc diff --hub-id sets the hub in the owner annotation", async () => {
    const { out } = await workspace.run("diff deploy/web -n shop --cluster east --hub-id other");
    expect(plain(out)).toContain('{"hub":"other","logicalCluster":"LC"');
  });
});

describe("tmc confirm", () => {
  it("tmc confirm asks for confirmation, and changes nothing after a no or without a terminal", async () => {
    const { run, client } = workspace;
    expect(await run("confirm deploy/old -n shop", { answer: false })).toMatchObject({
      code: 0,
      err: "tmc: canceled, nothing was changed\n",
    });
    expect(await run("confirm --all")).toMatchObject({
      code: 2,
      err: "tmc: cannot ask for confirmation without a terminal; use --yes to skip the question\n",
    });
    const { metadata } = await client.get<KubeObject>({ type: deployments, namespace: "shop", name: "old" });
    expect(metadata.annotations?.["tmc.kcp.io/confirm-deletions"]).toBeUndefined();
  });

  it("tmc confirm writes the confirmed hold, and removes it when the copies are deleted", async () => {
    const { run, runUntil, client, becomes } = workspace;
    const annotation = async () => {
      const { metadata } = await client.get<KubeObject>({ type: deployments, namespace: "shop", name: "old" });
      return metadata.annotations?.["tmc.kcp.io/confirm-deletions"];
    };
    expect((await run("confirm deploy/old -n shop --yes --no-wait")).out).toContain(
      "deployment.apps/old in shop: confirmed deletion from east\n",
    );
    expect(await annotation()).toBe("east@2026-01-01T00:00:00Z");
    const ended = await runUntil("confirm --all --cluster east --yes", "confirmed deletion from east", () =>
      becomes(deployments, "old", []),
    );
    expect(ended).toEqual({
      code: 0,
      out: `NAMESPACE   HELD                  CLUSTER   MESSAGE
shop        deployment.apps/old   east      12 of 12 copies would leave at once
deployment.apps/old in shop: confirmed deletion from east
deployment.apps/old in shop: deleted from east
`,
      err: "",
    });
    expect(await annotation()).toBeUndefined();
  });

  it("tmc confirm lists held evictions, and confirms the failure of a named cluster only", async () => {
    const { run, client } = workspace;
    const registration = { type: resourceTypes.registrations, name: "west" };
    const annotation = async () =>
      (await client.get<KubeObject>(registration)).metadata.annotations?.["tmc.kcp.io/confirm-failure"];
    const { status } = await client.get<ClusterRegistration>(registration);
    const since = status?.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime;
    const address = { type: resourceTypes.placements, name: "shop" };
    const before = await client.get<WorkloadPlacement>(address);
    const writeDecisions = (decisions: unknown) =>
      client.patch(address, { type: "merge", body: { status: { decisions } } }, { subresource: "status" });
    await writeDecisions([{ cluster: "west", selected: true, reason: "KeptMassFailure", message: "kept" }]);
    const shown = `NAMESPACE   HELD           CLUSTER   MESSAGE
<none>      failure/west   west      1 placement stays on the cluster: most clusters stopped responding at once
`;
    expect((await run("confirm --cluster west")).out).toBe(shown);
    expect((await run("confirm --all --cluster west --yes")).err).toBe("No deletions are held.\n");
    expect(await annotation()).toBeUndefined();
    expect(await run("confirm failure/west --yes")).toMatchObject({
      code: 0,
      out: `${shown}failure/west: confirmed; its placements move to other clusters that fit\n`,
    });
    expect(await annotation()).toBe(since);
    await writeDecisions(before.status?.decisions ?? null);
  });

  describe("of upsynced objects", () => {
    const at = { type: resourceTypes.registrations, name: "west" };
    const annotation = async () =>
      (await workspace.client.get<KubeObject>(at)).metadata.annotations?.["tmc.kcp.io/confirm-upsync-deletions"];
    /** Writes the status of west that a controller would write. */
    const writeHeld = async (status: "True" | "False", reason: string, heldDeletions = 0): Promise<void> => {
      const { status: before } = await workspace.client.get<ClusterRegistration>(at);
      const others = (before?.conditions ?? []).filter(({ type }) => type !== "UpsyncHeld");
      const held = { type: "UpsyncHeld", status, reason, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
      const upsync = heldDeletions === 0 ? null : { heldDeletions };
      const body = { status: { conditions: [...others, held], upsync } };
      await workspace.client.patch(at, { type: "merge", body }, { subresource: "status" });
    };
    const shown = `NAMESPACE   HELD           CLUSTER   MESSAGE
<none>      cluster/west   west      15 upsynced objects no longer exist on the cluster
`;

    it("tmc confirm lists held upsynced objects unless a namespace is set, and asks for confirmation", async () => {
      const { run } = workspace;
      await writeHeld("True", "DeletionsHeld", 15);
      expect((await run("confirm --cluster west")).out).toBe(shown);
      expect((await run("confirm -n shop --cluster west")).err).toBe("No deletions are held.\n");
      expect(await run("confirm cluster/west", { answer: false })).toMatchObject({
        err: "tmc: canceled, nothing was changed\n",
      });
      expect(await annotation()).toBeUndefined();
    });

    it("tmc confirm writes the number of confirmed deletions, waits for them, and removes it", async () => {
      const { run, runUntil } = workspace;
      await writeHeld("True", "DeletionsHeld", 15);
      expect((await run("confirm cr/west --yes --no-wait")).out).toBe(
        `${shown}cluster/west: confirmed deletion of 15 upsynced objects\n`,
      );
      expect(await annotation()).toBe("15");
      await writeHeld("False", "DeletionsConfirmed");
      expect((await run("confirm --all --cluster west --yes")).err).toBe("No deletions are held.\n");
      await writeHeld("True", "DeletionsHeld", 15);
      const ended = await runUntil("confirm --all --cluster west --yes", "confirmed deletion of 15", async () => {
        await writeHeld("False", "DeletionsConfirmed");
        expect(await annotation()).toBe("15");
        await writeHeld("False", "NoDeletionsHeld");
      });
      expect(ended).toEqual({
        code: 0,
        out: `${shown}cluster/west: confirmed deletion of 15 upsynced objects\ncluster/west: deleted from the workspace\n`,
        err: "",
      });
      expect(await annotation()).toBeUndefined();
    });

    it("tmc confirm withdraws the confirmation when more deletions are held than were confirmed", async () => {
      const { runUntil } = workspace;
      await writeHeld("True", "DeletionsHeld", 15);
      const ended = await runUntil("confirm cluster/west --yes", "confirmed deletion of 15", () =>
        writeHeld("True", "DeletionsHeld", 17),
      );
      expect(ended).toMatchObject({
        code: 1,
        err: "tmc: cluster/west: 15 deletions were confirmed, but 17 are held now; check the cause and confirm again\n",
      });
      expect(await annotation()).toBeUndefined();
      await writeHeld("False", "NoDeletionsHeld");
    });
  });
});

it("tmc names the missing kubeconfig file", async () => {
  const { code, err } = await tmc(["workload", "list"], { env: { KUBECONFIG: "/nowhere" } });
  expect(code).toBe(1);
  expect(err).toContain("/nowhere");
});
