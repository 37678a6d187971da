import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@tmc/kube/clock.ts";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { labelsOfOne } from "../../../lib/cli/placement/create-placement.ts";
import { resourceTypes } from "../../../lib/cli/workspace.ts";
import { acceptIdentityAnnotation } from "../../../lib/registration/identity.ts";
import { reconcileRequestedAnnotation } from "../../../lib/relay/event-to-key/fingerprint.ts";
import { eventually } from "../../support/eventually.ts";
import { beReady, decidePlacement, startTestWorkspace, type TestWorkspace } from "./support.ts";

let workspace: TestWorkspace;
const placementNamed = (name: string) =>
  workspace.client.get<WorkloadPlacement>({ type: resourceTypes.placements, name });

beforeAll(async () => {
  workspace = await startTestWorkspace();
  const { run, clock } = workspace;
  const commands = [
    "cluster register east --location us-east-1 --label region=us-east --label tier=gold --capability compute",
    "cluster register west --location us-west-2 --label region=us-west --taint upgrade=soon:NoSchedule",
    "placement create shop --all-workloads",
    "placement create edge -n edge --strategy Spread",
    "placement create training --type job --strategy Affinity --capability gpu",
  ];
  for (const command of commands) expect(await run(command)).toMatchObject({ code: 0, err: "" });
  clock.shown += 60_000;
  await beReady(workspace, "east");
  await beReady(workspace, "west");
  for (const name of ["shop", "edge", "training"]) await decidePlacement(workspace, name);
  clock.shown += 12_000;
});
afterAll(() => workspace.stop());

/** Commands with their exact output. */
const printed: Record<string, string> = {
  "cluster list": `
NAME   LOCATION    STATUS   LAST HEARTBEAT   AGE
east   us-east-1   Ready    12s ago          72s
west   us-west-2   Ready    12s ago          72s
`,
  "cluster list -o wide": `
NAME   LOCATION    STATUS   LAST HEARTBEAT   AGE   REASON         VERSION   NODES   CPU   MEMORY   CAPABILITIES   TAINTS                    SAME CLUSTER
east   us-east-1   Ready    12s ago          72s   ClusterReady   v1.36.3   3/3     24    96Gi     compute        <none>                    <none>
west   us-west-2   Ready    12s ago          72s   ClusterReady   v1.36.3   3/3     24    96Gi     compute        upgrade=soon:NoSchedule   <none>
`,
  "cluster list -l region=us-west": `
NAME   LOCATION    STATUS   LAST HEARTBEAT   AGE
west   us-west-2   Ready    12s ago          72s
`,
  "cluster status east": `
Name:             east
Location:         us-east-1
Labels:           region=us-east
                  tier=gold
Status:           Ready
Reason:           ClusterReady: the cluster responds and reports that it is ready
Since:            12s
Last heartbeat:   12s ago
Kubernetes:       v1.36.3
Nodes:            3 ready of 3
Capacity:         cpu 24, memory 96Gi, pods 330
Allocatable:      cpu 24, memory 96Gi, pods 330
Capabilities:     compute v1.36.3 (declared)
Taints:           <none>
Credentials:      configured in the controller
Placements:       edge, shop
Age:              72s
`,
  "placement list": `
NAME       STRATEGY     CLUSTERS   STATUS     AGE
edge       Spread       east       Ready      72s
shop       RoundRobin   east       Ready      72s
training   Affinity     <none>     NotReady   72s
`,
  "placement list -o wide": `
NAME       STRATEGY     CLUSTERS   STATUS     AGE   REASON               MESSAGE
edge       Spread       east       Ready      72s   PlacementReady       Spread selected east
shop       RoundRobin   east       Ready      72s   PlacementReady       RoundRobin selected east
training   Affinity     <none>     NotReady   72s   NoSuitableClusters   0 of 2 clusters fit: 2 CapabilityMissing
`,
  "placement describe training": `
Name:                     training
Strategy:                 Affinity
workloadSelector:         {"workloadTypes":[{"apiVersion":"batch/v1","kind":"Job"}]}
capabilityRequirements:   [{"type":"gpu","required":true}]
deletionPolicy:           Delete
volumes:                  Retain
drift:                    Revert
adoption:                 Never
customResources:          Require
Status:                   NotReady
Reason:                   NoSuitableClusters: 0 of 2 clusters fit: 2 CapabilityMissing
Since:                    12s
Clusters:                 <none>
Age:                      72s

CLUSTER   SELECTED   REASON              SCORE   MESSAGE
east      no         CapabilityMissing   -       capabilityRequirements[gpu] requires gpu, the cluster has no gpu
west      no         CapabilityMissing   -       capabilityRequirements[gpu] requires gpu, the cluster has no gpu
`,
  "explain shop": `
shop: RoundRobin selected east

CLUSTER   SELECTED   REASON             EXPECTED               ACTUAL                          SCORE   WOULD FIT WITH
east      yes        Selected           -                      -                               0       -
west      no         UntoleratedTaint   no untolerated taint   taint upgrade=soon:NoSchedule   -       a toleration of upgrade=soon:NoSchedule
`,
  "explain training": `
training: 0 of 2 clusters fit: 2 CapabilityMissing

CLUSTER   SELECTED   REASON              EXPECTED   ACTUAL   SCORE   WOULD FIT WITH
east      no         CapabilityMissing   gpu        no gpu   -       capability gpu
west      no         CapabilityMissing   gpu        no gpu   -       capability gpu and a toleration of upgrade=soon:NoSchedule
`,
  "explain shop --without-cluster east": `
shop: 0 of 1 cluster fits: 1 UntoleratedTaint (assuming no cluster east)

CLUSTER   SELECTED   REASON             EXPECTED               ACTUAL                          SCORE   WOULD FIT WITH
west      no         UntoleratedTaint   no untolerated taint   taint upgrade=soon:NoSchedule   -       a toleration of upgrade=soon:NoSchedule
`,
  "explain edge --with-taint east:maintenance:NoExecute -o yaml": `
placement: edge
strategy: Spread
assuming: taint maintenance:NoExecute on east
selectedClusters: []
ready:
  status: 'False'
  reason: NoSuitableClusters
  message: '0 of 2 clusters fit: 2 UntoleratedTaint'
decisions:
  - cluster: east
    selected: false
    reason: UntoleratedTaint
    message: the cluster has the taint maintenance:NoExecute, which the tolerations of the placement do not tolerate
    rule: tolerations
    expected: no untolerated taint
    actual: taint maintenance:NoExecute
    otherPlacements: 1
    wouldFitWith:
      - a toleration of maintenance:NoExecute
  - cluster: west
    selected: false
    reason: UntoleratedTaint
    message: the cluster has the taint upgrade=soon:NoSchedule, which the tolerations of the placement do not tolerate
    rule: tolerations
    expected: no untolerated taint
    actual: taint upgrade=soon:NoSchedule
    otherPlacements: 0
    wouldFitWith:
      - a toleration of upgrade=soon:NoSchedule
`,
};

describe("output of commands", () => {
  it.each(Object.entries(printed))("tmc %s prints the expected text", async (command, text) => {
    expect(await workspace.run(command)).toEqual({ code: 0, out: text.slice(1), err: "" });
  });

  it.each(["cluster list", "cluster status east", "placement list", "placement describe shop", "explain shop"])(
    "tmc %s prints the same document as json and yaml, without managedFields",
    async (command) => {
      const [json, yaml] = await Promise.all([
        workspace.run(`${command} -o json`),
        workspace.run(`${command} -o yaml`),
      ]);
      expect(JSON.parse(json.out)).toEqual(load(yaml.out));
      expect(json.out).not.toContain("managedFields");
    },
  );

  it("tmc cluster ls prints a List as json, as kubectl does", async () => {
    const { out } = await workspace.run("cluster ls -o json");
    const items = [{ metadata: { name: "east" }, kind: "ClusterRegistration" }, { metadata: { name: "west" } }];
    expect(JSON.parse(out)).toMatchObject({ apiVersion: "v1", kind: "List", items });
  });
});

describe("tmc explain", () => {
  const manifest = `
apiVersion: tmc.kcp.io/v1alpha1
kind: WorkloadPlacement
metadata: { name: unsaved }
spec:
  clusterNames: [west]
  tolerations: [{ key: upgrade, operator: Exists }]
`;

  it("tmc explain -f explains a placement of a manifest without creating it", async () => {
    const { out, code } = await workspace.run("explain -f -", { input: manifest });
    expect({ code, head: out.split("\n")[0] }).toEqual({ code: 0, head: "unsaved: RoundRobin selected west" });
    expect((await workspace.run("placement list")).out).not.toContain("unsaved");
  });

  it("tmc explain -f takes the current clusters of an existing placement into account", async () => {
    const input = manifest.replace("unsaved", "shop").replace("clusterNames: [west]", "numberOfClusters: 1");
    const { out } = await workspace.run("explain -f -", { input });
    expect(out.split("\n")[0]).toBe("shop: RoundRobin selected east");
  });

  const requesting = manifest.replace("spec:", "spec:\n  resources: { cpu: '20' }");
  const withOtherPods = (otherPods: object | null) =>
    workspace.client.patch(
      { type: resourceTypes.registrations, name: "west" },
      { type: "merge", body: { status: { otherPods } } },
      { subresource: "status" },
    );

  it("tmc explain shows what is free, and what other pods request", async () => {
    await withOtherPods({ cpu: "7", memory: "1Gi" });
    const { out } = await workspace.run("explain -f -", { input: requesting });
    await withOtherPods(null);
    expect(out).toContain("17 of 24 cpu (placements 0, other pods 7)");
    expect(out).toContain("InsufficientCapacity");
    expect(out).toContain("east: only placements count; TMC has not read its pods yet\n");
    expect(out).not.toContain("west: only placements count");
  });

  it("tmc explain says why other pods do not count", async () => {
    await withOtherPods({ unknown: "Forbidden" });
    const { out } = await workspace.run("explain -f -", { input: requesting });
    await withOtherPods(null);
    expect(out).toContain("unsaved: RoundRobin selected west");
    expect(out).toContain("24 of 24 cpu (placements 0)");
    expect(out).toContain("west: only placements count; the credentials may not list pods\n");
  });

  it("tmc explain does not change the placement or its status", async () => {
    const before = await placementNamed("shop");
    await workspace.run("explain shop --without-cluster east");
    expect(await placementNamed("shop")).toEqual(before);
  });

  it("tmc explain -f prints everything that is invalid in a manifest in one line", async () => {
    const input = manifest.replace("clusterNames: [west]", "strategy: Best\n  numberOfCluster: 2");
    const { code, err } = await workspace.run("explain -f -", { input });
    expect(code).toBe(1);
    expect(err).toBe(
      'tmc: standard input: unsaved: spec.numberOfCluster: unknown field; unsaved: spec.strategy: Unsupported value: "Best": supported values: "RoundRobin", "Spread", "Affinity"\n',
    );
  });
});

describe("commands that change objects", () => {
  it("tmc cluster register creates a registration from its options", async () => {
    const { out } = await workspace.run(
      "cluster register gpu-1 --location eu-central-1 --capability gpu,storage --label a=b --kubeconfig-secret clusters/gpu-1/config --dry-run -o json",
    );
    expect(JSON.parse(out)).toMatchObject({
      metadata: { name: "gpu-1", labels: { a: "b" } },
      spec: {
        location: "eu-central-1",
        capabilities: [
          { type: "gpu", available: true },
          { type: "storage", available: true },
        ],
        credentials: { secretRef: { namespace: "clusters", name: "gpu-1", key: "config" } },
      },
    });
  });

  it("tmc cluster register --dry-run stores nothing", async () => {
    expect((await workspace.run("cluster register dry --location x --dry-run")).out).toBe(
      "clusterregistration.tmc.kcp.io/dry registered (server dry run)\n",
    );
    expect((await workspace.run("cluster status dry")).code).toBe(1);
  });

  it("tmc placement create creates a placement from its options", async () => {
    const { out } = await workspace.run(
      "placement create p --strategy Spread --location-selector region=us-west --cluster west,east --prefer-cluster west --clusters 2 --dry-run -o json",
    );
    expect(JSON.parse(out)).toMatchObject({
      spec: {
        strategy: "Spread",
        locationSelector: { matchLabels: { region: "us-west" } },
        clusterNames: ["west", "east"],
        preferredClusters: ["west"],
        numberOfClusters: 2,
      },
    });
  });

  it.each([
    "placement create p --all-workloads --dry-run=server -o yaml",
    "cluster register r --location x --dry-run=server -o yaml",
    "cluster register r --location x --dry-run=client -o yaml",
  ])("tmc %s prints a manifest without what a server adds", async (command) => {
    const { code, out } = await workspace.run(command);
    expect(code).toBe(0);
    const { metadata, ...rest } = load(out) as Record<string, unknown>;
    expect(metadata).toEqual({ name: expect.stringMatching(/^[pr]$/) });
    expect(Object.keys(rest).toSorted()).toEqual(["apiVersion", "kind", "spec"]);
  });

  it("tmc placement describe says when a placement leaves a cluster that is not Ready", async () => {
    const { client, clock, run } = workspace;
    const address = { type: resourceTypes.registrations, name: "east" };
    const { status } = await client.get<ClusterRegistration>(address);
    const lastTransitionTime = new Date(clock.shown).toISOString();
    const conditions = [
      { type: "Ready", status: "False", reason: "ClusterUnhealthy", message: "", lastTransitionTime },
    ];
    const write = (body: object) => client.patch(address, { type: "merge", body }, { subresource: "status" });
    await write({ status: { conditions } });
    await decidePlacement(workspace, "edge");
    clock.shown += 108_000;
    const { out } = await run("placement describe edge");
    clock.shown -= 108_000;
    await write({ status });
    await decidePlacement(workspace, "edge");
    expect(out).toContain("is tolerated; moves at 00:06:12Z, in 3m12s\n");
  });

  it("tmc placement create warns about a placement that selects no workloads, and --wait says so too", async () => {
    const create = workspace.run("placement create nothing --wait", { clock: systemClock });
    await eventually(() =>
      decidePlacement(workspace, "nothing").then(
        () => undefined,
        () => "the placement to be created",
      ),
    );
    const { code, out, err } = await create;
    expect([code, err]).toEqual([
      0,
      "warning: placement nothing selects no workloads; select them with --for, -n, --selector, --type or --all-workloads\n",
    ]);
    expect(out).toContain(
      "/nothing is Ready on east, but places no workloads: it has no workloadSelector, and selects nothing\n",
    );
    const described = await workspace.run("placement describe nothing");
    expect(described.out).toMatch(/^Workloads: +none: it has no workloadSelector, and selects nothing$/m);
    await workspace.run("placement delete nothing --yes");
  });

  it("tmc placement create --for selects one workload by labels that only it has", async () => {
    const deployment = (name: string, labels: Record<string, string>) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, namespace: "default", labels },
      spec: {
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "c", image: "nginx" }] } },
      },
    });
    const collection = {
      type: { group: "apps", version: "v1", plural: "deployments" },
      namespace: "default",
    };
    await workspace.client.create(collection, deployment("web", { app: "web", version: "1" }));
    await workspace.client.create(collection, deployment("api", { version: "1" }));
    const { out } = await workspace.run("placement create web --for deployment/web --dry-run=client -o json");
    expect(JSON.parse(out).spec).toEqual({
      workloadSelector: {
        labelSelector: { matchLabels: { app: "web" } },
        workloadTypes: [{ apiVersion: "apps/v1", kind: "Deployment" }],
        namespaces: ["default"],
      },
    });
    expect(await workspace.run("placement create api --for deployment/api")).toEqual({
      code: 1,
      out: "",
      err: "tmc: deployment.apps/api has no labels that only it has in namespace default; add one (kubectl label deployment/api -n default placed-alone=api), or use --selector\n",
    });
    expect((await workspace.run("placement create x --for deployment/x")).err).toContain("not found in namespace");
    for (const name of ["web", "api"]) await workspace.client.delete({ ...collection, name });
  });

  it.each<[string, Record<string, string>, Record<string, string>[], Record<string, string> | undefined]>([
    ["one label that names it", { app: "web", tier: "x" }, [{ app: "api", tier: "x" }], { app: "web" }],
    ["one label although it is alone", { team: "a" }, [], { team: "a" }],
    [
      "two labels if one does not suffice",
      { app: "web", tier: "x", zone: "z" },
      [{ app: "web", tier: "y", zone: "z" }],
      { app: "web", tier: "x" },
    ],
    ["no label that changes with a release", { "helm.sh/chart": "web-1.0", version: "1" }, [], undefined],
    ["no labels if another workload has them all", { app: "web" }, [{ app: "web" }], undefined],
  ])("a workload is distinguished by %s", (_, labels, others, chosen) => {
    expect(labelsOfOne(labels, others)).toEqual(chosen);
  });

  it.each([
    ["cluster unregister", "cluster register", "--location x", "unregistered"],
    ["placement delete", "placement create", "", "deleted"],
  ])("tmc %s asks for confirmation and follows the answer", async (remove, create, options, done) => {
    await workspace.run(`${create} doomed ${options}`);
    expect(await workspace.run(`${remove} doomed`, { answer: false })).toEqual({
      code: 0,
      out: "",
      err: "tmc: canceled, nothing was changed\n",
    });
    expect((await workspace.run(`${remove} doomed`)).code).toBe(2);
    const { code, out } = await workspace.run(`${remove} doomed --yes`);
    expect(code).toBe(0);
    expect(out).toContain(`/doomed ${done}\n`);
    expect((await workspace.run(`${remove} doomed --yes`)).code).toBe(1);
  });

  it("tmc cluster accept-identity shows both clusters, asks, and accepts the one that answers by an annotation", async () => {
    const address = { type: resourceTypes.registrations, name: "rebuilt" };
    await workspace.run("cluster register rebuilt --location x");
    expect((await workspace.run("cluster accept-identity rebuilt")).out).toBe(
      "clusterregistration.tmc.kcp.io/rebuilt unchanged: the registered cluster answers\n",
    );
    const status = { clusterUID: "uid-a", observedClusterUID: "uid-b" };
    await workspace.client.patch(address, { type: "merge", body: { status } }, { subresource: "status" });
    const annotation = async () =>
      (await workspace.client.get(address)).metadata.annotations?.[acceptIdentityAnnotation];
    const refused = await workspace.run("cluster accept-identity rebuilt", { answer: false });
    expect(refused.err).toContain("Registered cluster: uid-a\nCluster to accept:  uid-b\n");
    expect((await workspace.run("cluster accept-identity rebuilt --uid uid-c --yes")).code).toBe(2);
    expect(await annotation()).toBeUndefined();
    const { code, out } = await workspace.run("cluster accept-identity rebuilt", { answer: true });
    expect([code, out]).toEqual([0, "clusterregistration.tmc.kcp.io/rebuilt accepts uid uid-b\n"]);
    expect(await annotation()).toBe("uid-b");
    await workspace.run("cluster unregister rebuilt --yes");
  });

  it("tmc placement create --wait prints the reason when it times out", async () => {
    const systemTime = { clock: systemClock };
    const { code, err } = await workspace.run("placement create slow --wait --timeout 50ms", systemTime);
    expect(code).toBe(1);
    expect(err).toContain("placement slow to be Ready: not done after 0.05 s: no controller has decided it");
    await workspace.run("placement delete slow --yes");
  });

  it("tmc reconcile requests a reconcile by an annotation with the current time", async () => {
    const { out } = await workspace.run("reconcile wp shop");
    expect(out).toBe("workloadplacement.tmc.kcp.io/shop reconcile requested\n");
    const { metadata } = await placementNamed("shop");
    expect(metadata.annotations).toEqual({
      ...metadata.annotations,
      [reconcileRequestedAnnotation]: "2026-01-01T00:01:12.000Z",
    });
    await workspace.run("reconcile cluster/east");
    const east = await workspace.client.get<ClusterRegistration>({ type: resourceTypes.registrations, name: "east" });
    expect(east.metadata.annotations).toHaveProperty([reconcileRequestedAnnotation]);
  });
});

describe("errors of commands", () => {
  it.each<[string, number, string]>([
    ["explain nope", 1, 'placement "nope": not found; existing placements: edge, shop, training'],
    ["cluster status nope", 1, 'cluster "nope": not registered; registered clusters: east, west'],
    ["explain shop --without-cluster nope", 2, 'cluster "nope": not registered; registered clusters: east, west'],
    ["explain", 2, "expected the name of a placement, or a manifest with -f"],
    ["explain -f /does/not/exist.yaml", 1, "/does/not/exist.yaml: no such file"],
    ["reconcile thing a", 2, '"thing": unknown workload type'],
    ["reconcile cluster", 2, '"cluster": name is required; expected kind/name, such as cluster/east'],
    ["reconcile cluster/east west", 2, "expected kind/name, or kind and name as two arguments"],
    ["reconcile cluster/root:east", 2, "expected a name, not a path; use --workspace for a path"],
    ["reconcile deploy/nope -n shop", 1, 'deployment.apps "nope": not found in namespace shop'],
    ["reconcile databases.v1.example.com/a", 1, "the server does not serve TMC's API"],
    ["reconcile placement nope", 1, 'WorkloadPlacement "nope": not found'],
    ["cluster register east --location y", 1, 'cluster "east": already registered'],
    ["placement create shop", 1, 'placement "shop": already exists'],
    [
      "cluster list --workspace root",
      1,
      "/clusters/root: the server does not serve TMC's API; select another workspace, such as --workspace root:demo, bind the APIExport in the workspace (./tmc bind), or install the CRDs (./tmc manifests)",
    ],
    ["cluster list --workspace root:nope", 1, "root:nope"],
    ["cluster list --workspace a/b", 2, '--workspace "a/b": not a workspace path such as root:org:team'],
    ["cluster list --context nope", 1, 'kubeconfig: context "nope": not found; there are "demo", "root"'],
    ["cluster list --kubeconfig /nope", 1, 'kubeconfig "/nope": no such file'],
  ])("tmc %s fails with exit code %i and one line", async (command, code, message) => {
    const outcome = await workspace.run(command);
    expect(outcome).toMatchObject({ code, out: "" });
    expect(outcome.err).toContain(message);
    expect(outcome.err).toMatch(/^tmc: [^\n]+\n$/);
  });

  it("tmc names the kubeconfig of tmc local if no kubeconfig is found and that one is in the working directory", async () => {
    const directory = await mkdtemp(join(tmpdir(), "tmc-hint-"));
    const env = { KUBECONFIG: join(directory, "none") };
    const before = await workspace.run("cluster list", { directory, env });
    await mkdir(join(directory, ".tmc"));
    await writeFile(join(directory, ".tmc/kcp.kubeconfig"), "");
    const after = await workspace.run("cluster list", { directory, env });
    await rm(directory, { recursive: true });
    const missing = `tmc: kubeconfig "${env.KUBECONFIG}": no such file; `;
    expect(before.err).toBe(`${missing}set --kubeconfig or KUBECONFIG\n`);
    expect(after.err).toBe(`${missing}for tmc local, run: export KUBECONFIG=.tmc/kcp.kubeconfig\n`);
  });

  it("tmc uses the workspace of --workspace instead of that of the context", async () => {
    expect((await workspace.run("cluster list --context root --workspace root:demo")).out).toContain("us-west-2");
  });

  it("tmc says that the server rejects the credentials of the kubeconfig", async () => {
    const stale = `${workspace.kubeconfig}.stale`;
    const text = await readFile(workspace.kubeconfig, "utf8");
    await writeFile(stale, text.replace(/token: .*/g, "token: stale"));
    const { code, err } = await workspace.run(`cluster list --kubeconfig ${stale}`);
    expect(code).toBe(1);
    expect(err).toContain("the server rejects the credentials of the kubeconfig");
  });
});
