import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CreateQueueCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { workloadKey } from "../../lib/model/key.ts";
import { downstreamNamespace } from "../../lib/sync/ownership/namespace-map.ts";
import { bundleFunctions, type FunctionName } from "../../scripts/bundles.ts";
import {
  aPlacement,
  aRegistration,
  placements,
  registrations,
  startTenants,
  type Tenants,
} from "../lib/upstream/tenants.ts";
import { readyOf } from "../support/controller-environment.ts";
import { aDeployment, messageOf } from "../support/functions-environment.ts";
import { startSqs } from "../support/sqs.ts";
import { eventOf } from "./recording-sqs.ts";

// The functions as they are deployed, each invocation in its own process: only this test finds what bundling breaks.

let folder: string;
let tenants: Tenants;
let east: EmbeddedCluster;
let queues: Awaited<ReturnType<typeof startSqs>>;
let secretsServer: Server;
const secrets = new Map<string, string>();
const urls = new Map<string, string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tmc-functions-"));
  await bundleFunctions(folder);
  tenants = await startTenants(["root:demo"], { listen: true });
  east = await startEmbeddedCluster({ name: "east" });
  queues = await startSqs();
  for (const name of ["work.fifo", "delay", "dead.fifo", "heartbeat", "resync"]) {
    const Attributes = name.endsWith(".fifo") ? { FifoQueue: "true" } : undefined;
    const { QueueUrl = "" } = await queues.sqs.send(new CreateQueueCommand({ QueueName: name, Attributes }));
    // The address that it listens on, because its own host name cannot be resolved.
    urls.set(name, new URL(new URL(QueueUrl).pathname, queues.endpoint).href);
  }
  secrets.set("tmc/kcp", await textOf(tenants.kcp.endpoint("root")));
  secrets.set(`tmc/test/kcp/${tenants.clusters[0]}/east`, await textOf(east.endpoint()));
  secretsServer = await startSecretsManager();
});
afterAll(async () => {
  secretsServer.close();
  await queues.stop();
  await east.stop();
  await tenants.stop();
  await rm(folder, { recursive: true, force: true });
});

async function textOf({ server, ca, token }: Endpoint): Promise<string> {
  return JSON.stringify({ server, ca, token: await token?.() });
}

/** Responds to GetSecretValue, the only call that is made, as AWS does. */
async function startSecretsManager(): Promise<Server> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const { SecretId = "" } = JSON.parse(Buffer.concat(parts).toString()) as { SecretId?: string };
      const SecretString = secrets.get(SecretId);
      const answer =
        SecretString === undefined ? { __type: "ResourceNotFoundException" } : { Name: SecretId, SecretString };
      response.writeHead(SecretString === undefined ? 400 : 200, { "content-type": "application/x-amz-json-1.1" });
      response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

type Run = Readonly<{ answer: unknown; lines: readonly Record<string, unknown>[] }>;

/** Invokes a function in a new process with the environment that Lambda provides. */
async function invoke(name: FunctionName, event: unknown): Promise<Run> {
  const { port } = secretsServer.address() as AddressInfo;
  const script = join(folder, `invoke-${name}.mjs`);
  await writeFile(
    script,
    `import { handler } from ${JSON.stringify(join(folder, name, "index.mjs"))};
     const context = { awsRequestId: "request-1", getRemainingTimeInMillis: () => 15000 };
     const answer = await handler(${JSON.stringify(event)}, context);
     process.stderr.write(JSON.stringify(answer));
     process.exit(0);`,
  );
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], {
    env: {
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      AWS_ENDPOINT_URL_SQS: queues.endpoint,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: `http://127.0.0.1:${port}`,
      TMC_STAGE: "test",
      TMC_HUB_ID: "kcp",
      TMC_KCP_SECRET: "tmc/kcp",
      TMC_WORKSPACES: "root:demo",
      TMC_WORK_QUEUE_URL: urls.get("work.fifo"),
      TMC_DELAY_QUEUE_URL: urls.get("delay"),
      TMC_DEAD_LETTERS_URL: urls.get("dead.fifo"),
      TMC_HEARTBEAT_QUEUE_URL: urls.get("heartbeat"),
      TMC_RESYNC_QUEUE_URL: urls.get("resync"),
      TMC_ALLOWED_ENDPOINTS: "127.0.0.0/8,::1/128",
    },
  });
  const lines = stdout.split("\n").filter((line) => line !== "");
  return { answer: JSON.parse(stderr), lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

async function receive(queue: string): Promise<readonly string[]> {
  const { Messages = [] } = await queues.sqs.send(
    new ReceiveMessageCommand({ QueueUrl: urls.get(queue), MaxNumberOfMessages: 10 }),
  );
  return Messages.map(({ Body = "" }) => Body);
}

test("the bundled functions make a cluster Ready, decide its placement, sync a workload, and report health", async () => {
  const [cluster = ""] = tenants.clusters;
  const client = tenants.at(cluster);
  await client.create(registrations, aRegistration("east"));
  await client.create(placements, aPlacement("web", { workloadSelector: { namespaces: ["shop"] } }));
  const shop = { type: { group: "apps", version: "v1", plural: "deployments" }, namespace: "shop" };
  await client.create(
    { type: { group: "", version: "v1", plural: "namespaces" } },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
  );
  await client.create(shop, aDeployment("web"));

  expect((await invoke("heartbeat", {})).answer).toEqual({ clusters: 1, due: 1, messages: 1 });
  const [body = ""] = await receive("heartbeat");
  const probed = await invoke("probe", eventOf([{ body, groupId: undefined, sentMs: Date.now() }]));
  expect(probed.answer).toEqual({ batchItemFailures: [] });
  expect(probed.lines.filter(({ message }) => message === "function started")).toMatchObject([{ function: "probe" }]);
  expect(readyOf(await client.get({ ...registrations, name: "east" }))).toBe("True ClusterReady");

  const [enqueued = ""] = await receive("work.fifo");
  expect(JSON.parse(enqueued)).toMatchObject({
    v: 1,
    logicalCluster: cluster,
    kind: "WorkloadPlacement",
    name: "web",
    reason: "fan-out",
  });
  const web = { logicalCluster: cluster, kind: "WorkloadPlacement", name: "web" } as const;
  const worked = await invoke("reconcile", eventOf([{ ...messageOf(web), body: enqueued }]));
  expect(worked.answer).toEqual({ batchItemFailures: [] });
  expect(await client.get({ ...placements, name: "web" })).toMatchObject({ status: { selectedClusters: ["east"] } });

  const [selected = ""] = await receive("work.fifo");
  const key = workloadKey(cluster, { ...shop, name: "web" });
  expect(JSON.parse(selected)).toMatchObject({ ...key, reason: "fan-out" });
  const synced = await invoke("reconcile", eventOf([{ ...messageOf(key), body: selected }]));
  expect(synced.answer).toEqual({ batchItemFailures: [] });
  const onEast = createKubeClient({ endpoint: { server: east.url }, transport: east.transport(), name: "east" });
  const namespace = downstreamNamespace({ hub: "kcp", logicalCluster: cluster, namespace: "shop" });
  expect(await onEast.get({ ...shop, namespace, name: "web" })).toMatchObject({ spec: { replicas: 2 } });

  expect((await invoke("resync", {})).answer).toEqual({ keys: 3, left: 0, isContinued: false });
  expect((await invoke("forward", eventOf([messageOf(web, { nonce: "again" })]))).answer).toEqual({
    batchItemFailures: [],
  });
  const health = (await invoke("health", {})).answer as { queues: { delay: { visible: number; delayed: number } } };
  expect(health).toMatchObject({
    ok: true,
    clusters: { ready: 1, total: 1 },
    placements: { total: 1 },
    queues: { deadLetters: { visible: 0 } },
  });
  // Three resyncs, the requeues of the workload that is not ready and of the placement that has just notified it, and the placement, which reports it; delays may have expired.
  expect(health.queues.delay.visible + health.queues.delay.delayed).toBe(6);
});
