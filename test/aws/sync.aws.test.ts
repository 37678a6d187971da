import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import type { KubeObject } from "../../lib/model/kube-object.ts";
import { startEmbeddedParts } from "../e2e/embedded-parts.ts";
import { type Tenant, tenantOf } from "../e2e/tenant.ts";
import { aDeployment, aRoom, type TenantWork, tenantWork, workTypes } from "../e2e/tenant-work.ts";
import { clusterNames, furnish, type World } from "../e2e/world.ts";
import { eventually } from "../support/eventually.ts";
import { type AwsClients, createAwsClients } from "./aws-clients.ts";
import { createCdk } from "./cdk.ts";
import { createDeployedForm, type DeployedForm, readHealth } from "./deployed-form.ts";
import { type Deployment, deployStage } from "./deployment.ts";
import { readStageLogs } from "./stage-logs.ts";

const endpoint = inject("awsEndpoint");
/** What a killed function held comes back after six of its time-outs, which are 20 seconds each. */
const waitMs = 180_000;

/** A line of a function's log, as far as it tells of a look. */
type Look = Readonly<{ time: string; kind: string; name: string; outcome: string }>;

describe("sync as it is deployed", { timeout: 420_000 }, () => {
  let world: World;
  let tenant: Tenant;
  let work: TenantWork;
  let aws: AwsClients;
  let deployment: Deployment;
  let form: DeployedForm;

  beforeAll(async () => {
    world = await furnish(await startEmbeddedParts());
    tenant = tenantOf(world.tenant, waitMs);
    work = tenantWork(world, waitMs);
    aws = createAwsClients(endpoint);
    const cdk = createCdk(endpoint, world.folder);
    await cdk.bootstrap();
    deployment = await deployStage({ stage: "sync", world, aws, cdk, settings: { heartbeatSeconds: "10" } });
    form = createDeployedForm({ endpoint, aws, deployment, folder: world.folder, waitMs });
    await form.running();
    for (const name of clusterNames) await tenant.register(name, { location: `${name}-1` }, { region: name });
    for (const name of clusterNames) await tenant.untilCluster(name, "True ClusterReady");
  }, 240_000);
  afterAll(async () => {
    await form?.stop();
    await deployment?.destroy();
    aws?.[Symbol.dispose]();
    await world?.stop();
  }, 120_000);
  afterEach(async ({ task }) => {
    if (task.result?.state !== "fail") return;
    for (const relay of form.relays()) {
      process.stderr.write(`${(await relay.output()).split("\n").slice(-25).join("\n")}\n`);
    }
    process.stderr.write(`${JSON.stringify(await readHealth(aws, deployment))}\n`);
  });

  /** Waits until the last look at each workload was one that wants no other, and no key was given up. */
  const untilSettled = () =>
    eventually(async () => {
      const last = new Map<string, string>();
      const lines = (await readStageLogs(aws, "sync")).split("\n").filter((line) => line.startsWith("{"));
      const looks = lines
        .map((line) => JSON.parse(line) as Look)
        .filter(({ kind, outcome }) => kind === "Workload" && outcome);
      for (const { name, outcome } of looks.toSorted((one, other) => (one.time < other.time ? -1 : 1))) {
        last.set(name, outcome);
      }
      const open = [...last].filter(([, outcome]) => outcome !== "settled");
      const { deadLetters } = (await readHealth(aws, deployment)).queues;
      if (last.size === 0) return "no workload was looked at";
      return open.length + deadLetters.visible === 0 ? undefined : JSON.stringify({ open, deadLetters });
    }, waitMs);

  test("a Deployment is on the chosen clusters, ready in its workspace, and then costs nothing", async () => {
    await work.apply(...aRoom("shop"), aDeployment("shop", "web", { replicas: 2 }));
    const web = await work.untilRuns("shop", "web", { "us-east": 2, "us-west": 2 });
    expect(web.status).toMatchObject({ replicas: 4, readyReplicas: 4 });
    expect((await work.record("shop", "web"))?.spec).toMatchObject({ placement: "shop", clusters: [...clusterNames] });
    await untilSettled();
  });

  test("it is scaled", async () => {
    await work.merge("Deployment", "shop", "web", { spec: { replicas: 5 } });
    await work.untilRuns("shop", "web", { "us-east": 5, "us-west": 5 });
  });

  test("it brings along what it refers to, and waits for what is missing", async () => {
    const needs = { container: { envFrom: [{ configMapRef: { name: "prices" } }] } };
    await work.apply(...aRoom("cash"), aDeployment("cash", "till", needs));
    await work.untilState("cash", "till", "us-east", "Pending ReferenceMissing");
    const prices = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "prices", namespace: "cash" } };
    await work.apply({ ...prices, data: { bread: "3" } });
    await work.untilRuns("cash", "till", { "us-east": 1, "us-west": 1 });
    expect(await work.copy("us-west", "ConfigMap", "cash", "prices")).toMatchObject({ data: { bread: "3" } });
  });

  test("it leaves a dead cluster out of what it says, and is whole when that is back", async () => {
    await world.parts.clusters["us-west"].kill();
    await tenant.untilCluster("us-west", "False ClusterUnhealthy");
    await work.untilState("shop", "web", "us-west", "Stale ClusterNotReady");
    expect((await work.find("Deployment", "shop", "web"))?.status).toMatchObject({ readyReplicas: 5 });
    await work.merge("Deployment", "shop", "web", { spec: { replicas: 3 } });
    await eventually(async () => {
      const copy = await work.copy("us-east", "Deployment", "shop", "web");
      return JSON.stringify(copy?.spec).includes('"replicas":3') ? undefined : JSON.stringify(copy?.spec);
    }, waitMs);
    await world.parts.clusters["us-west"].revive();
    await tenant.untilCluster("us-west", "True ClusterReady");
    await work.untilRuns("shop", "web", { "us-east": 3, "us-west": 3 });
  });

  test("a rollout ends that relays and functions were killed in, with each copy once", async () => {
    const names = ["one", "two", "three", "four"];
    await work.apply(...aRoom("sea"), ...names.slice(0, 2).map((name) => aDeployment("sea", name)));
    await eventually(async () => {
      const copy = await work.copy("us-east", "Deployment", "sea", "one");
      return copy === undefined ? "us-east has no copy of one" : undefined;
    }, waitMs);
    const before = await work.copy("us-east", "Deployment", "sea", "one");
    await form.kill();
    await work.apply(...names.slice(2).map((name) => aDeployment("sea", name)));
    await form.running();
    for (const name of names) await work.untilRuns("sea", name, { "us-east": 1, "us-west": 1 });
    expect((await work.copy("us-east", "Deployment", "sea", "one"))?.metadata.uid).toBe(before?.metadata.uid);
  });

  test("a relay that watches the clusters has changes there put right at once", async () => {
    await form.stop();
    await deployment.redeploy({ "relay.watchClusters": "true" });
    form = createDeployedForm({ endpoint, aws, deployment, folder: world.folder, waitMs });
    await form.running();
    const east = world.clusterClient("us-east");
    const there = { type: workTypes.Deployment, namespace: work.namespaceOn("shop"), name: "web" };
    await east.patch(there, { type: "merge", body: { spec: { replicas: 7 } } }, { fieldManager: "somebody" });
    await work.untilRuns("shop", "web", { "us-east": 3, "us-west": 3 });
    const { metadata } = await east.get<KubeObject>(there);
    await east.delete(there);
    await eventually(async () => {
      const copy = await work.copy("us-east", "Deployment", "shop", "web");
      return copy === undefined || copy.metadata.uid === metadata.uid ? "us-east has no new copy" : undefined;
    }, waitMs);
    await work.untilRuns("shop", "web", { "us-east": 3, "us-west": 3 });
  });

  test("what is deleted leaves nothing behind, neither there nor here", async () => {
    for (const name of ["one", "two", "three", "four"]) {
      await work.remove("Deployment", "sea", name);
      await eventually(
        async () => ((await work.record("sea", name)) === undefined ? undefined : `there is a record of ${name}`),
        waitMs,
      );
    }
    await work.remove("Deployment", "shop", "web");
    for (const room of ["shop", "sea"]) await work.untilCleared(room);
    await untilSettled();
  });
});
