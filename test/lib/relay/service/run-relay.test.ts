import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { GetQueueAttributesCommand, type SQSClient } from "@aws-sdk/client-sqs";
import type { startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { findFreePorts } from "../../../real/ports.ts";
import { eventually } from "../../../support/eventually.ts";
import { answerJson, startServer, type TestServer } from "../../../support/http-server.ts";
import { createQueues, startSqs } from "../../../support/sqs.ts";
import { aPlacement, placements, startTenants, type Tenants } from "../../upstream/tenants.ts";

const program = fileURLToPath(new URL("../../../../bin/relay.ts", import.meta.url));
type Kcp = Awaited<ReturnType<typeof startEmbeddedKcp>>;

let tenants: Tenants;
let sqs: Readonly<{ sqs: SQSClient; endpoint: string; stop: () => Promise<void> }>;
let secretsManager: TestServer;
const children: ChildProcess[] = [];

beforeAll(async () => {
  tenants = await startTenants(["root:demo"], { listen: true });
  sqs = await startSqs();
  secretsManager = await startServer();
  const kubeconfig = kubeconfigOf(tenants.kcp);
  secretsManager.handle(({ headers, body }, response) => {
    const isKnown = headers["x-amz-target"] === "secretsmanager.GetSecretValue" && body.includes('"tmc/kcp"');
    if (isKnown) answerJson(response, { Name: "tmc/kcp", SecretString: kubeconfig });
    else if (body.includes('"tmc/lost"')) answerJson(response, { Name: "tmc/lost", SecretString: lostKubeconfig });
    else answerJson(response, { __type: "ResourceNotFoundException" }, { status: 400 });
  });
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(async () => {
  await secretsManager.close();
  await sqs.stop();
  await tenants.stop();
});

function kubeconfigOf(kcp: Kcp): string {
  const endpoint = kcp.endpoint();
  return formatKubeconfig({ contexts: [{ name: "kcp", endpoint, token: kcp.adminToken }] });
}

/** A kcp at a port where nothing listens. */
const lostKubeconfig = formatKubeconfig({
  contexts: [{ name: "kcp", endpoint: { server: "https://127.0.0.1:1" }, token: "lost" }],
});

/** Starts the relay program as the image does. */
function start(variables: Readonly<Record<string, string>>) {
  let output = "";
  const child = spawn(process.execPath, [program], {
    env: {
      PATH: process.env.PATH,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      AWS_ENDPOINT_URL_SQS: sqs.endpoint,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
      TMC_STAGE: "test",
      TMC_LOG_LEVEL: "2",
      TMC_KCP_SECRET: "tmc/kcp",
      TMC_WORKSPACES: "root:demo",
      TMC_METRICS_PORT: "0",
      TMC_HEALTH_PORT: "0",
      ...variables,
    },
  });
  children.push(child);
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  child.stderr.on("data", (data: Buffer) => (output += data.toString()));
  const exited = once(child, "exit");
  const lineOf = (message: string): Record<string, unknown> | undefined =>
    output
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .find((line) => line.message === message);
  const get = async (port: "metricsPort" | "healthPort", path: string) => {
    const answer = await fetch(`http://127.0.0.1:${String(lineOf("relay starting")?.[port])}${path}`);
    return { status: answer.status, text: await answer.text() };
  };
  return {
    child,
    get,
    lineOf,
    output: () => output,
    exitCode: async (): Promise<unknown> => (await exited)[0],
    untilReady: () =>
      eventually(async () => {
        if (lineOf("relay starting") === undefined) return output || "no output yet";
        const { status, text } = await get("healthPort", "/readyz");
        return status === 200 ? undefined : text;
      }),
  };
}

const messagesIn = async (url: string): Promise<string | undefined> => {
  const attributes = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["ApproximateNumberOfMessages"] });
  return (await sqs.sqs.send(attributes)).Attributes?.ApproximateNumberOfMessages;
};

test("the relay program reads its kubeconfig from Secrets Manager, sends keys, serves metrics, and exits with 0 on SIGTERM", async () => {
  const { urls, remove } = await createQueues(sqs.sqs);
  // The emulator returns queue URLs with a host name that does not resolve.
  const relay = start({ TMC_WORK_QUEUE_URL: new URL(new URL(urls.work).pathname, sqs.endpoint).href });
  await relay.untilReady();
  await tenants.at(tenants.clusters[0] ?? "").create(placements, aPlacement("web"));
  await eventually(async () => ((await messagesIn(urls.work)) === "1" ? undefined : "nothing is on the queue"));
  expect((await relay.get("healthPort", "/livez")).status).toBe(200);
  expect((await relay.get("healthPort", "/startupz")).status).toBe(200);
  const { text } = await relay.get("metricsPort", "/metrics");
  expect(text).toContain('tmc_relay_keys_total{kind="WorkloadPlacement"} 1');
  expect(text).toContain('tmc_placements{ready="unknown"} 1');
  expect(text).toContain("tmc_relay_oldest_dirty_seconds 0");
  expect(text).toContain("tmc_relay_blind_seconds 0");
  relay.child.kill("SIGTERM");
  expect(await relay.exitCode()).toBe(0);
  expect(relay.lineOf("relay stopped")).toBeDefined();
  expect(relay.output()).not.toContain(tenants.kcp.adminToken);
  await remove();
});

test("the relay program relays all tenants of an export through the export's endpoint", async () => {
  const { urls, remove } = await createQueues(sqs.sqs);
  const relay = start({
    TMC_WORKSPACES: "",
    TMC_API_EXPORT: "root:tmc:tmc.kcp.io",
    TMC_WORK_QUEUE_URL: new URL(new URL(urls.work).pathname, sqs.endpoint).href,
  });
  await relay.untilReady();
  const { text } = await relay.get("healthPort", "/readyz?verbose");
  expect(text).toContain("[+]tenants ok: 1 endpoint, 1 tenant");
  await tenants.at(tenants.clusters[0] ?? "").create(placements, aPlacement("exported"));
  await eventually(async () => {
    const { text: metrics } = await relay.get("metricsPort", "/metrics");
    return /tmc_relay_dirty_keys 0/.test(metrics) && (await messagesIn(urls.work)) !== "0" ? undefined : metrics;
  });
  relay.child.kill("SIGTERM");
  expect(await relay.exitCode()).toBe(0);
  await remove();
});

test.each([
  ["single workspaces", {}],
  ["all tenants of an export", { TMC_WORKSPACES: "", TMC_API_EXPORT: "root:tmc:tmc.kcp.io" }],
] as const)(
  "a relay program for %s that never reaches kcp is live, blind, and does not pass the health check of a deployment",
  async (_, scope) => {
    const [healthPort = "", metricsPort = ""] = (await findFreePorts(2)).map(String);
    const relay = start({
      ...scope,
      TMC_KCP_SECRET: "tmc/lost",
      TMC_HEALTH_PORT: healthPort,
      TMC_METRICS_PORT: metricsPort,
      TMC_WORK_QUEUE_URL: "http://127.0.0.1:1/q/tmc.fifo",
    });
    const statusOf = (path: string): Promise<number> =>
      fetch(`http://127.0.0.1:${healthPort}${path}`).then(
        (answer) => answer.status,
        () => 0,
      );
    const metrics = (): Promise<string> =>
      fetch(`http://127.0.0.1:${metricsPort}/metrics`).then(
        (answer) => answer.text(),
        () => "",
      );
    await eventually(async () => {
      const [, seconds = "0"] = /^tmc_relay_blind_seconds (\S+)$/m.exec(await metrics()) ?? [];
      return Number(seconds) > 1 ? undefined : relay.output() || "no output yet";
    });
    expect([await statusOf("/livez"), await statusOf("/startupz"), await statusOf("/readyz")]).toEqual([200, 503, 503]);
    relay.child.kill("SIGTERM");
    expect(await relay.exitCode()).toBe(0);
  },
);

test("a second SIGTERM ends the relay program while it is still sending", async () => {
  await tenants.at(tenants.clusters[0] ?? "").create(placements, aPlacement("unsent"));
  const relay = start({
    TMC_WORK_QUEUE_URL: "http://127.0.0.1:1/q/tmc.fifo",
    AWS_ENDPOINT_URL_SQS: "http://127.0.0.1:1",
  });
  await eventually(async () => (relay.lineOf("queue rejected keys") ? undefined : relay.output()));
  relay.child.kill("SIGTERM");
  await eventually(async () => (relay.lineOf("relay draining") ? undefined : "it does not drain"));
  relay.child.kill("SIGTERM");
  expect(await relay.exitCode()).toBe(130);
});

test("the relay program logs in one line what is invalid in its environment", async () => {
  const relay = start({ TMC_WORK_QUEUE_URL: "", TMC_KCP_SECRET: "" });
  expect(await relay.exitCode()).toBe(1);
  expect(JSON.stringify(relay.lineOf("relay failed"))).toContain(
    "environment: TMC_WORK_QUEUE_URL is not set; TMC_KCP_SECRET is not set",
  );
});

test("the relay program logs in one line that its secret does not exist", async () => {
  const relay = start({ TMC_WORK_QUEUE_URL: "http://127.0.0.1:1/q/tmc.fifo", TMC_KCP_SECRET: "other" });
  expect(await relay.exitCode()).toBe(1);
  expect(JSON.stringify(relay.lineOf("relay failed"))).toContain("secret other: ResourceNotFoundException");
});
