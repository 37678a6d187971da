import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, test } from "vitest";
import { kinds } from "../../../lib/api/kinds.ts";
import { customResourceDefinition } from "../../../lib/api/resource-schema.ts";
import { createHealthChecks } from "../../../lib/observe/health.ts";
import { createLog } from "../../../lib/observe/log.ts";
import { createMetrics } from "../../../lib/observe/metrics.ts";
import { defaultRegistrationSettings } from "../../../lib/registration/settings.ts";
import {
  type ControllerEnvironment,
  type ControllerEnvironmentOptions,
  readyOf,
  startControllerEnvironment,
  statusOf,
} from "../../support/controller-environment.ts";
import { aPlacement, aRegistration, placements, registrations } from "../upstream/tenants.ts";

let stage: ControllerEnvironment | undefined;
afterEach(async () => {
  await stage?.stop();
  stage = undefined;
});
async function given(options?: ControllerEnvironmentOptions): Promise<ControllerEnvironment> {
  stage = await startControllerEnvironment(options);
  return stage;
}

const three = { one: "east", two: "east", three: "east" };

describe("a controller that starts", () => {
  test("at the first start registrations become Ready, and placements get decisions with reasons", async () => {
    const { client, settled, registration, placement } = await given();
    await client.create(registrations, aRegistration("east"));
    await client.create(registrations, aRegistration("west"));
    await client.create(registrations, aRegistration("nowhere"));
    await client.create(placements, aPlacement("web", { strategy: "Spread" }));
    await settled();
    expect(readyOf(await registration("east"))).toBe("True ClusterReady");
    expect(readyOf(await registration("nowhere"))).toBe("False ClusterNotConfigured");
    const web = await placement("web");
    expect(readyOf(web)).toBe("True PlacementReady");
    expect(statusOf(web).selectedClusters).toEqual(["east", "west"]);
    expect(statusOf(web).decisions).toHaveLength(3);
  });

  test("objects created after the start are reconciled", async () => {
    const { client, settled, rest, placement } = await given();
    await settled();
    await client.create(placements, aPlacement("web"));
    await rest();
    expect(readyOf(await placement("web"))).toBe("False NoClusters");
    await client.create(registrations, aRegistration("east"));
    await rest();
    expect(statusOf(await placement("web")).selectedClusters).toEqual(["east"]);
  });
});

test("nothing is written in a workspace before both kinds are listed, and a failed list does not affect other workspaces", async () => {
  const { tenants, controller, rest, pass, count } = await given({ workspaces: ["root:one", "root:two"] });
  const [one = "", two = ""] = tenants.clusters;
  for (const cluster of [one, two]) {
    await tenants.at(cluster).create(registrations, aRegistration("east"));
    await tenants.at(cluster).create(placements, aPlacement("web"));
  }
  const refusal = tenants.kcp.faults.inject({
    match: { verb: "list", resource: "clusterregistrations", logicalCluster: one },
    effect: { kind: "status", code: 503 },
  });
  const health = createHealthChecks({ clock: createManualClock() });
  await controller({ health }).start();
  await rest();
  const selectedIn = async (cluster: string) =>
    statusOf(await tenants.at(cluster).get({ ...placements, name: "web" })).selectedClusters;
  expect(await selectedIn(two)).toEqual(["east"]);
  expect(await selectedIn(one)).toBeUndefined();
  expect(health.report("ready").checks.find(({ name }) => name === "hub")?.detail).toMatch(/^not listed yet: root:one/);

  const writes = count();
  await pass(60_000);
  expect(await selectedIn(one)).toBeUndefined();
  refusal.remove();
  await pass(60_000);
  expect(await selectedIn(one)).toEqual(["east"]);
  expect(writes()).toBeGreaterThan(0);
  expect(health.report("ready").status).toBe("Healthy");
});

test("a controller starts without a workspace that does not answer, and serves it when it does", async () => {
  const { tenants, clock, controller, pass } = await given({ workspaces: ["root:one", "root:two"] });
  const [one = "", two = ""] = tenants.clusters;
  for (const cluster of [one, two]) {
    await tenants.at(cluster).create(registrations, aRegistration("east"));
    await tenants.at(cluster).create(placements, aPlacement("web"));
  }
  const selectedIn = async (cluster: string) =>
    statusOf(await tenants.at(cluster).get({ ...placements, name: "web" })).selectedClusters;
  const hanging = tenants.kcp.faults.inject({
    match: { logicalCluster: one },
    effect: { kind: "partition", requests: "hang" },
  });
  const health = createHealthChecks({ clock });
  const started = controller({ health });
  const starting = started.start();
  await pass(30_000);
  expect(await selectedIn(two)).toEqual(["east"]);
  expect(started.isSettled()).toBe(false);
  expect(health.report("ready").checks.find(({ name }) => name === "hub")?.detail).toMatch(/^not listed yet: root:one/);
  hanging.remove();
  await pass(120_000);
  await starting;
  expect(await selectedIn(one)).toEqual(["east"]);
  expect(started.logicalClusters.map(({ path }) => path)).toEqual(["root:one", "root:two"]);
  expect(health.report("ready").status).toBe("Healthy");
});

test("a restarted controller evicts nothing before it has listed all workspaces, for at most a minute", async () => {
  const { tenants, clusters, controller, rest, pass } = await given({ workspaces: ["root:one", "root:two"] });
  const [one = "", two = ""] = tenants.clusters;
  const tolerations = [{ key: "tmc.kcp.io/not-ready", effect: "NoExecute", tolerationSeconds: 150 }];
  for (const name of ["east", "west"]) await tenants.at(two).create(registrations, aRegistration(name));
  await tenants.at(two).create(placements, aPlacement("web", { clusterNames: ["east", "west"], tolerations }));
  const selected = async () =>
    statusOf(await tenants.at(two).get({ ...placements, name: "web" })).selectedClusters as string[];
  const first = controller();
  await first.start();
  await rest();
  const [before = ""] = await selected();
  clusters.get(before)?.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
  await pass(120_000);
  await first.stop();
  await pass(120_000);
  expect(await selected()).toEqual([before]);

  tenants.kcp.faults.inject({
    match: { verb: "list", resource: "clusterregistrations", logicalCluster: one },
    effect: { kind: "status", code: 503 },
  });
  await controller().start();
  await pass(50_000);
  expect(await selected()).toEqual([before]);
  await pass(15_000);
  expect(await selected()).toEqual([before === "east" ? "west" : "east"]);
});

describe("a wall clock that is set back by two hours", () => {
  test("heartbeats go on after the clock was set back: a cluster that fails then loses Ready, and its placement moves", async () => {
    const { client, clock, clusters, settled, pass, registration, placement } = await given();
    await client.create(registrations, aRegistration("east"));
    await client.create(registrations, aRegistration("west"));
    const tolerations = [{ key: "tmc.kcp.io/not-ready", effect: "NoExecute", tolerationSeconds: 60 }];
    await client.create(placements, aPlacement("web", { clusterNames: ["east", "west"], tolerations }));
    await settled();
    const [first] = statusOf(await placement("web")).selectedClusters as string[];
    await pass(60_000);

    clock.setBack(7_200_000);
    const heartbeatMs = () =>
      registration("west").then(({ status }) => Date.parse((status as Heartbeat).lastHeartbeat));
    await pass(120_000);
    expect(Math.abs((await heartbeatMs()) - clock.now())).toBeLessThan(120_000);
    clusters.get(first ?? "")?.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
    await pass(180_000);
    expect(readyOf(await registration(first ?? ""))).toBe("False ClusterUnhealthy");
    await pass(120_000);
    expect(statusOf(await placement("web")).selectedClusters).toEqual([first === "east" ? "west" : "east"]);
  });

  test("a placement leaves a cluster that failed before the clock was set back after its toleration, not two hours later", async () => {
    const { client, clock, clusters, settled, pass, registration, placement } = await given();
    await client.create(registrations, aRegistration("east"));
    await client.create(registrations, aRegistration("west"));
    const tolerations = [{ key: "tmc.kcp.io/not-ready", effect: "NoExecute", tolerationSeconds: 300 }];
    await client.create(placements, aPlacement("web", { clusterNames: ["east", "west"], tolerations }));
    await settled();
    const [first = ""] = statusOf(await placement("web")).selectedClusters as string[];
    clusters.get(first)?.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
    await pass(180_000);
    expect(readyOf(await registration(first))).toBe("False ClusterUnhealthy");

    clock.setBack(7_200_000);
    await pass(60_000);
    expect(statusOf(await placement("web")).selectedClusters).toEqual([first]);
    await pass(360_000);
    expect(statusOf(await placement("web")).selectedClusters).toEqual([first === "east" ? "west" : "east"]);
  });

  test("a resync goes on after the clock was set back: a status that another client changed is corrected", async () => {
    const { client, clock, settled, pass, placement } = await given();
    await client.create(registrations, aRegistration("east"));
    await client.create(placements, aPlacement("web"));
    await settled({ settings: { resyncSeconds: 30 } });
    clock.setBack(7_200_000);
    const wrong = { status: { conditions: null, decisions: null } };
    await client.patch({ ...placements, name: "web" }, { type: "merge", body: wrong }, { subresource: "status" });
    await pass(31_000);
    expect(readyOf(await placement("web"))).toBe("True PlacementReady");
  });

  type Heartbeat = Readonly<{ lastHeartbeat: string }>;
});

describe("RoundRobin", () => {
  test("RoundRobin distributes 300 placements evenly over three equal clusters when they are created one by one", async () => {
    const { client, settled, rest } = await given({ reached: three });
    for (const name of Object.keys(three)) await client.create(registrations, aRegistration(name));
    await settled({ settings: { workers: 16 } });
    for (let index = 0; index < 300; index++) await client.create(placements, aPlacement(`p-${index}`));
    await rest();
    expect(await placementsPerCluster()).toEqual({ one: 100, two: 100, three: 100 });
  });

  test("RoundRobin distributes 300 existing placements evenly with 16 concurrent workers, and writes each once", async () => {
    const { client, settled, count } = await given({ reached: three });
    for (const name of Object.keys(three)) await client.create(registrations, aRegistration(name));
    const first = await settled();
    await first.stop();
    for (let index = 0; index < 300; index++) await client.create(placements, aPlacement(`p-${index}`));
    const writes = count();
    await settled({ settings: { workers: 16 } });
    expect(await placementsPerCluster()).toEqual({ one: 100, two: 100, three: 100 });
    expect(writes()).toBe(300);
  });

  async function placementsPerCluster(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const placement of (await stage?.client.listAll(placements))?.items ?? []) {
      const selected = statusOf(placement).selectedClusters;
      for (const name of Array.isArray(selected) ? selected : [])
        counts[String(name)] = (counts[String(name)] ?? 0) + 1;
    }
    return counts;
  }
});

test("a change of Ready enqueues only the placements that it can affect", async () => {
  const { client, clusters, settled, pass, placement } = await given({ reached: { east: "east", west: "west" } });
  await client.create(registrations, aRegistration("east", { location: "eu-west-1" }));
  await client.create(registrations, aRegistration("west", { location: "us-west-2" }));
  const inRegion = (region: string) => ({ strategy: "Spread", locationSelector: { matchLabels: { region } } });
  for (let index = 0; index < 5; index++) {
    await client.create(placements, aPlacement(`eu-${index}`, inRegion("eu-west-1")));
    await client.create(placements, aPlacement(`us-${index}`, inRegion("us-west-2")));
  }
  const enqueued: string[] = [];
  const log = createLog({
    level: 2,
    clock: createManualClock(),
    write: (line) => {
      const { kind, name, reason } = JSON.parse(line);
      if (kind === "WorkloadPlacement" && reason !== "resync") enqueued.push(`${reason} ${name}`);
    },
  });
  await settled({ log });
  expect(readyOf(await placement("eu-0"))).toBe("True PlacementReady");
  enqueued.length = 0;
  clusters.get("east")?.makeBroken();
  await pass(180_000);
  expect(enqueued.toSorted()).toEqual([0, 1, 2, 3, 4].map((index) => `fan-out eu-${index}`));
});

describe("an idle controller", () => {
  test("1,000 placements and 50 idle clusters cause only probes for ten minutes", async () => {
    const names = Array.from({ length: 50 }, (_, index) => `c-${index}`);
    const { client, clusters, settled, pass, count } = await given({
      reached: Object.fromEntries(names.map((name) => [name, "east"])),
    });
    for (const name of names) await client.create(registrations, aRegistration(name));
    for (let index = 0; index < 1000; index++) await client.create(placements, aPlacement(`p-${index}`));
    await settled({ settings: { resyncSeconds: 120, heartbeatWriteSeconds: 3600, registration: quiet } });
    // The first resync of each cluster searches for orphaned copies, which the next half hour does not repeat.
    await pass(121_000);
    const [writes, reads] = [count(), count("get", "list")];
    const probes = clusters.get("east")?.faults.inject({ effect: { kind: "delay", ms: 0 } });
    await pass(600_000);
    expect(writes()).toBe(0);
    expect(reads()).toBe(0);
    // Each probe asks for health and identity.
    expect(probes?.hits).toBe(50 * 20 * 2);
  }, 60_000);

  test("an idle cluster's heartbeat is written at most once a minute", async () => {
    const { client, settled, pass, count } = await given();
    await client.create(registrations, aRegistration("east"));
    await settled();
    await pass(60_000);
    const writes = count();
    await pass(600_000);
    expect(writes()).toBeLessThanOrEqual(10);
    expect(writes()).toBeGreaterThan(5);
  });

  const quiet = { ...defaultRegistrationSettings, detectEverySeconds: 3600 };
});

describe("restarts and concurrent controllers", () => {
  test("a restarted controller writes nothing if nothing has changed", async () => {
    const { client, settled, count } = await given();
    await client.create(registrations, aRegistration("east"));
    await client.create(placements, aPlacement("web"));
    const first = await settled();
    await first.stop();
    const writes = count();
    await settled();
    expect(writes()).toBe(0);
  });

  test("a controller reconciles changes that were made while no controller was running", async () => {
    const { client, settled, placement, registration } = await given();
    await client.create(registrations, aRegistration("east"));
    await client.create(registrations, aRegistration("west"));
    await client.create(placements, aPlacement("web", { strategy: "Spread" }));
    const first = await settled();
    await first.stop();
    await client.patch(
      { ...registrations, name: "east" },
      { type: "merge", body: { metadata: { labels: { a: "b" } } } },
    );
    await client.patch(
      { ...placements, name: "web" },
      { type: "merge", body: { spec: { locationSelector: { matchLabels: { a: "b" } } } } },
    );
    await client.delete({ ...registrations, name: "west" });
    await settled();
    expect(statusOf(await placement("web")).selectedClusters).toEqual(["east"]);
    await stage?.pass(10_000);
    await expect(registration("west")).rejects.toMatchObject({ fault: "not-found" });
  });

  test("two concurrent controllers converge, and then write nothing but heartbeats", async () => {
    const { client, controller, rest, pass, count, placement } = await given();
    const [one, other] = [controller(), controller()];
    await Promise.all([one.start(), other.start()]);
    await client.create(registrations, aRegistration("east"));
    await client.create(registrations, aRegistration("west"));
    for (let index = 0; index < 20; index++) await client.create(placements, aPlacement(`p-${index}`));
    await rest();
    await pass(10_000);
    for (let index = 0; index < 20; index++) {
      expect(readyOf(await placement(`p-${index}`))).toBe("True PlacementReady");
    }
    const versions = async () =>
      (await client.listAll(placements)).items.map(({ metadata }) => metadata.resourceVersion);
    const before = await versions();
    const writes = count();
    await pass(120_000);
    expect(await versions()).toEqual(before);
    // Heartbeats of two clusters, each once a minute by either controller.
    expect(writes()).toBeLessThanOrEqual(8);
  });
});

test("a status that another client changed is corrected within a resync period", async () => {
  const { client, settled, pass, placement } = await given();
  await client.create(registrations, aRegistration("east"));
  await client.create(placements, aPlacement("web"));
  await settled({ settings: { resyncSeconds: 30 } });
  const wrong = { status: { conditions: null, decisions: null } };
  await client.patch({ ...placements, name: "web" }, { type: "merge", body: wrong }, { subresource: "status" });
  await pass(31_000);
  expect(readyOf(await placement("web"))).toBe("True PlacementReady");
});

describe("credentials in a Secret", () => {
  const secrets = { type: { group: "", version: "v1", plural: "secrets" }, namespace: "default" };
  const aKubeconfig = (token: string): string =>
    Buffer.from(
      JSON.stringify({
        "current-context": "x",
        contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
        clusters: [{ name: "x", cluster: { server: "https://east.example.com" } }],
        users: [{ name: "x", user: { token } }],
      }),
    ).toString("base64");

  test("a cluster becomes Ready as soon as its Secret is valid, and an invalid Secret is reported at once", async () => {
    const { client, clusters, settled, rest, registration } = await given();
    const secretRef = { namespace: "default", name: "east" };
    await client.create(registrations, aRegistration("east", { credentials: { secretRef } }));
    await settled();
    expect(readyOf(await registration("east"))).toBe("False ClusterNotConfigured");

    const token = clusters.get("east")?.adminToken ?? "";
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "east" } };
    await client.create(secrets, { ...secret, data: { kubeconfig: aKubeconfig(token) } });
    await rest();
    expect(readyOf(await registration("east"))).toBe("False CredentialsInvalid");

    const labels = { "tmc.kcp.io/cluster-credentials": "east" };
    await client.patch({ ...secrets, name: "east" }, { type: "merge", body: { metadata: { labels } } });
    await rest();
    expect(readyOf(await registration("east"))).toBe("True ClusterReady");

    const wrong = { data: { kubeconfig: Buffer.from("{}").toString("base64") } };
    await client.patch({ ...secrets, name: "east" }, { type: "merge", body: wrong });
    await rest();
    expect(readyOf(await registration("east"))).toBe("False CredentialsInvalid");
    expect(JSON.stringify(await registration("east"))).not.toContain(token);
  });
});

test("a plain Kubernetes cluster with TMC's CRDs can be the upstream of a controller", async () => {
  const { clusters, settled } = await given();
  const west = clusters.get("west");
  if (west === undefined) throw new Error("there is no west");
  const hub = createKubeClient({ endpoint: { server: west.url }, transport: west.transport() });
  const crds = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };
  for (const kind of kinds) await hub.create({ type: crds }, customResourceDefinition(kind));
  await stage?.rest();
  await hub.create(registrations, aRegistration("east"));
  await hub.create(placements, aPlacement("web"));
  await settled({ client: hub, workspaces: undefined });
  expect(statusOf(await hub.get({ ...placements, name: "web" })).selectedClusters).toEqual(["east"]);
});

test("a reconcile on demand of a registration probes its cluster", async () => {
  const { client, cluster, clusters, settled, rest, registration } = await given();
  await client.create(registrations, aRegistration("east"));
  const controller = await settled();
  const probes = clusters.get("east")?.faults.inject({ effect: { kind: "delay", ms: 0 } });
  await controller.reconcile({ logicalCluster: cluster, kind: "ClusterRegistration", name: "east" });
  await rest();
  expect(probes?.hits).toBeGreaterThan(0);
  expect(readyOf(await registration("east"))).toBe("True ClusterReady");
});

test("a deleted registration is removed from placements before it is gone", async () => {
  const { client, settled, pass, placement, registration } = await given();
  await client.create(registrations, aRegistration("east"));
  await client.create(registrations, aRegistration("west"));
  await client.create(placements, aPlacement("web", { strategy: "Spread" }));
  await settled();
  await client.delete({ ...registrations, name: "east" });
  await pass(5_000);
  expect(statusOf(await placement("web")).selectedClusters).toEqual(["west"]);
  await expect(registration("east")).rejects.toMatchObject({ fault: "not-found" });
  expect(JSON.stringify(statusOf(await placement("web")).decisions)).not.toContain("east");
});

describe("failures of the upstream", () => {
  test("a controller continues after an upstream outage and misses no change", async () => {
    const { client, tenants, settled, pass, placement } = await given();
    await client.create(registrations, aRegistration("east"));
    await settled();
    const away = tenants.kcp.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
    await pass(120_000);
    away.remove();
    await client.create(placements, aPlacement("web"));
    await pass(60_000);
    expect(readyOf(await placement("web"))).toBe("True PlacementReady");
  });

  test("a controller that starts before its upstream waits for it", async () => {
    const { client, tenants, controller, pass, registration } = await given();
    await client.create(registrations, aRegistration("east"));
    const away = tenants.kcp.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
    const starting = controller().start();
    await pass(30_000);
    away.remove();
    await pass(30_000);
    await starting;
    expect(readyOf(await registration("east"))).toBe("True ClusterReady");
  });

  test("the start fails with one line that names a missing workspace", async () => {
    const { controller } = await given();
    await expect(controller({ workspaces: ["root:demo", "root:nowhere"] }).start()).rejects.toThrow(
      /^workspace "root:nowhere": there is none, or we have no access to it$/,
    );
  });

  test("log and health say how to fix a workspace that does not serve TMC's kinds", async () => {
    const { controller, clock, pass, tenants } = await given();
    tenants.kcp.createWorkspace("root:bare");
    const lines: string[] = [];
    const health = createHealthChecks({ clock });
    const log = createLog({ level: 2, write: (text) => lines.push(text), clock });
    await controller({ workspaces: ["root:bare"], log, health }).start();
    await pass(2_000);
    const advice =
      "root:bare does not serve tmc.kcp.io WorkloadPlacement: bind the APIExport that offers it in that workspace";
    expect(lines.join("")).toContain(advice);
    expect(JSON.stringify(health.report("ready"))).toContain(advice);
  });

  test("a reconcile that hangs is aborted and retried, and does not delay others", async () => {
    const { client, tenants, settled, rest, pass, placement } = await given();
    await client.create(registrations, aRegistration("east"));
    const metrics = createMetrics();
    await settled({ metrics, settings: { workers: 2, reconcileSeconds: 5 } });
    tenants.kcp.faults.inject({
      match: { verb: "patch", name: "stuck" },
      effect: { kind: "delay", ms: 20_000 },
      count: 1,
    });
    await client.create(placements, aPlacement("stuck"));
    await client.create(placements, aPlacement("web"));
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(readyOf(await placement("web"))).toBe("True PlacementReady");
    expect(readyOf(await placement("stuck"))).toBe("none");
    stage?.clock.advance(6_000);
    await rest();
    await pass(30_000);
    expect(readyOf(await placement("stuck"))).toBe("True PlacementReady");
    expect(metrics.render()).toMatch(/^tmc_queue_retries_total\{failure="transient"\} 1$/m);
  });
});

test("a stopped controller has no timers and sends no requests", async () => {
  const { client, clock, settled, pass, count } = await given();
  await client.create(registrations, aRegistration("east"));
  const before = clock.pending;
  const controller = await settled();
  await controller.stop();
  expect(clock.pending).toBeLessThanOrEqual(before);
  const requests = count("get", "list", "watch", "patch");
  await pass(60_000);
  expect(requests()).toBe(0);
});

test("metrics count requests, writes, probes and Ready objects", async () => {
  const { client, settled } = await given();
  await client.create(registrations, aRegistration("east"));
  await client.create(registrations, aRegistration("nowhere"));
  await client.create(placements, aPlacement("web"));
  const metrics = createMetrics();
  await settled({ metrics });
  const text = metrics.render();
  expect(text).toMatch(/^tmc_clusters\{ready="true"\} 1$/m);
  expect(text).toMatch(/^tmc_clusters\{ready="false"\} 1$/m);
  expect(text).toMatch(/^tmc_placements\{ready="true"\} 1$/m);
  expect(text).toMatch(/^tmc_upstream_requests_total\{verb="patch",code="200"\} [1-9]/m);
  expect(text).toMatch(/^tmc_upstream_request_duration_seconds_count\{verb="patch"\} [1-9]/m);
  expect(text).not.toContain('tmc_upstream_request_duration_seconds_count{verb="watch"}');
  expect(text).toMatch(/^tmc_upstream_writes_total\{kind="WorkloadPlacement",part="status"\} [1-9]/m);
  expect(text).toMatch(/^tmc_probe_total\{outcome="healthy"\} [1-9]/m);
  expect(text).toMatch(/^tmc_fanout_enqueued_total [1-9]/m);
});
