import { access } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { GetQueueUrlCommand } from "@aws-sdk/client-sqs";
import { type FunctionName, functionNames } from "../../infra/names.ts";
import { estimateCost } from "../../lib/cli/queue/cost-model.ts";
import { createAwsClients } from "../aws/aws-clients.ts";
import { createCdk } from "../aws/cdk.ts";
import { createDeployedForm } from "../aws/deployed-form.ts";
import { deployStage } from "../aws/deployment.ts";
import { startEndpoint } from "../aws/endpoint.ts";
import { createGate } from "../aws/gate.ts";
import { ensureInstalled } from "../aws/install.ts";
import { startEmbeddedParts } from "../e2e/embedded-parts.ts";
import { clusterNames, furnish } from "../e2e/environment.ts";
import { tenantOf } from "../e2e/tenant.ts";
import { BuildError } from "../real/build.ts";
import { forEachOf } from "./load.ts";
import {
  type AwsBench,
  type Burst,
  type Counted,
  countCalls,
  measureBurst,
  measureColdStarts,
  measureEmptyWays,
  measureWays,
  messageFor,
  type Way,
} from "./measure-aws.ts";
import type { BenchReport, Goal, Table } from "./report.ts";
import type { Settings } from "./settings.ts";
import { median, percentile } from "./statistics.ts";

const stage = "bench";
const waitMs = 60_000;
/** What our function may take of the rate that the endpoint gives to one that does nothing. */
const mostTimes = 1.5;
/** Keys that are worked on at full speed; each line of the queue has one. */
const distinctKeys = 200;
/** Long enough for the planner to have run, which it does once a minute. */
const leastIdleSeconds = 130;

type Cold = Readonly<{ name: string; times: readonly number[] }>;
type Measures = Readonly<{
  ways: readonly Way[];
  emptyWays: readonly number[];
  burst: Burst;
  emptyBurst: Burst;
  cold: readonly Cold[];
  perChange: Counted;
  idle: Counted;
  idleSeconds: number;
}>;

/** Measures the deployed form on a local endpoint, beside a function that does nothing on the same endpoint. */
export async function benchAws({ changes, placements, starts, restSeconds }: Settings): Promise<BenchReport> {
  const missing = await findMissing();
  if (missing !== undefined) return { name: "aws", tables: [], goals: [], notes: [`skipped: ${missing}`] };
  await using stack = new AsyncDisposableStack();
  const running = await startEndpoint({});
  stack.defer(() => running.stop());
  const { endpoint } = running;
  const aws = stack.use(createAwsClients(endpoint));
  const world = await furnish(await startEmbeddedParts());
  stack.defer(() => world.stop());
  const cdk = createCdk(endpoint, world.folder);
  await cdk.bootstrap();
  await cdk.deploy(
    await cdk.synth({ app: `"${process.execPath}" test/aws/sample/app.ts`, context: {}, folder: world.folder }),
  );
  const deployment = await deployStage({ stage, world, aws, cdk });
  const form = createDeployedForm({ endpoint, aws, deployment, folder: world.folder, waitMs });
  stack.defer(() => form.stop());
  await form.running();

  const tenant = tenantOf(world.tenant, waitMs);
  for (const name of clusterNames) await tenant.register(name, { location: name }, { region: name });
  for (const name of clusterNames) await tenant.untilCluster(name, "True ClusterReady");
  const bench: AwsBench = { endpoint, aws, gate: createGate(endpoint), world, tenant };
  const { reconcile } = deployment.names.functions;
  const work = deployment.outputs[`Tmc-${stage}-Core`]?.WorkQueueUrl ?? "";
  const { QueueUrl: sample = "" } = await aws.sqs.send(new GetQueueUrlCommand({ QueueName: "sample-work.fifo" }));
  const empty = { queueUrl: sample, name: "sample-empty" };

  // The first of each pay for the starts of processes.
  await measureWays(bench, { reconcile, prefix: "first", count: 3 });
  await measureEmptyWays(bench, { ...empty, count: 3 });
  let ways: readonly Way[] = [];
  const perChange = await countCalls(bench.gate, async () => {
    ways = await measureWays(bench, { reconcile, prefix: "single", count: changes });
  });
  const emptyWays = await measureEmptyWays(bench, { ...empty, count: changes });
  const keys = Array.from({ length: distinctKeys }, (_, at) => `crowd-${at}`);
  await forEachOf(keys.length, 8, async (at) => void (await tenant.place(keys[at] ?? "")));
  await tenant.untilDecided(keys);
  const nonce = () => Math.random().toString(36).slice(2);
  const count = 2 * placements;
  const emptyBurst = await measureBurst(bench, {
    ...empty,
    messages: () => Array.from({ length: count }, (_, at) => ({ body: "{}", group: `rate-${at}` })),
  });
  const burst = await measureBurst(bench, {
    queueUrl: work,
    name: reconcile,
    messages: () =>
      Array.from({ length: count }, (_, at) => {
        const name = keys[at % keys.length] ?? "";
        return messageFor({ logicalCluster: deployment.tenantCluster, kind: "WorkloadPlacement", name }, nonce());
      }),
  });
  const idleSeconds = Math.max(leastIdleSeconds, restSeconds);
  const idle = await countCalls(bench.gate, async () => {
    await delay(idleSeconds * 1000);
  });
  const cold: Cold[] = [{ name: "empty", times: await measureColdStarts(bench, "sample-empty", starts) }];
  for (const name of functionNames) {
    const times = await measureColdStarts(bench, deployment.names.functions[name], starts);
    cold.push({ name, times });
  }
  const measures = {
    ways,
    emptyWays,
    burst,
    emptyBurst,
    cold,
    perChange,
    idle,
    idleSeconds,
  };
  return reportOf(measures, { changes, functions: deployment.names.functions });
}

/** What has to be there before anything can be measured; undefined when all of it is. */
async function findMissing(): Promise<string | undefined> {
  try {
    await access(new URL("../../dist/relay.js", import.meta.url));
    await access(new URL("../../dist/functions/reconcile/index.mjs", import.meta.url));
  } catch {
    return "there are no bundles; npm run build makes them";
  }
  try {
    await ensureInstalled();
    return undefined;
  } catch (error) {
    if (error instanceof BuildError) return error.message;
    throw error;
  }
}

type Names = Readonly<Record<FunctionName, string>>;

function reportOf(
  measures: Measures,
  { changes, functions }: Readonly<{ changes: number; functions: Names }>,
): BenchReport {
  const { perChange, idle, idleSeconds } = measures;
  const [{ rate }, { rate: emptyRate }] = [measures.burst, measures.emptyBurst];
  const perHour = 3600 / idleSeconds;
  const planner = (idle.runs[functions.heartbeat] ?? 0) * perHour;
  const probes = (idle.runs[functions.probe] ?? 0) * perHour;
  const times = emptyRate / rate;
  const runs = (perChange.runs[functions.reconcile] ?? 0) / changes;
  const model = (name: string, eventsPerSecond: number): number => {
    const { parts } = estimateCost({
      clusters: clusterNames.length,
      eventsPerSecond,
      heartbeatSeconds: 60,
      secrets: 0,
    });
    return (parts.find((part) => part.name === name)?.calls ?? Number.NaN) / 720;
  };
  // As the model counts: a schedule and a run for each plan; a receive, a run and a delete for each batch.
  const calls: Table = {
    title: `calls that are paid for, measured and as \`tmc cost\` has them; idle for ${idleSeconds} s`,
    columns: [
      { key: "what", label: "what" },
      { key: "measured", label: "measured", digits: 1 },
      { key: "model", label: "model", digits: 1 },
    ],
    rows: [
      {
        what: "reconcile: per change",
        measured: runs * 3 + perChange.sends / changes,
        model: model("reconcile", 1) / 3600,
      },
      {
        what: "heartbeat: per idle hour",
        measured: planner * 2 + probes * 3 + idle.sends * perHour,
        model: model("heartbeat", 0),
      },
      { what: "sends to queues: per idle hour", measured: idle.sends * perHour },
      { what: "polls of idle queues: per idle hour", model: model("idle polls", 0) },
    ],
  };
  const goal: Goal = {
    what: "keys per second, to messages of an empty function",
    goal: `≤ ${mostTimes} ×`,
    got: `${times.toFixed(2)} × (${rate.toFixed(0)} to ${emptyRate.toFixed(0)})`,
    met: times <= mostTimes,
  };
  return {
    name: "aws",
    tables: [wayTable(measures), coldTable(measures), calls],
    goals: [goal],
    notes: [
      "the endpoint is a local emulator: ratios mean something, times mean this machine",
      "a batch of keys reads from kcp, which runs on the same cores; an empty function needs none of them",
    ],
  };
}

function wayTable({ ways, emptyWays, burst, emptyBurst }: Measures): Table {
  const row = (what: string, samples: readonly number[]) => ({
    what,
    p50: percentile(samples, 0.5),
    p99: percentile(samples, 0.99),
  });
  return {
    title: `${ways.length} changes one by one, two relays, and a queue full of keys`,
    columns: [
      { key: "what", label: "what" },
      { key: "p50", label: "p50 ms", digits: 1 },
      { key: "p99", label: "p99 ms", digits: 1 },
      { key: "rate", label: "per second" },
    ],
    rows: [
      row(
        "change → function starts",
        ways.map(({ startMs }) => startMs),
      ),
      row(
        "change → status written",
        ways.map(({ statusMs }) => statusMs),
      ),
      row("send → empty function starts", emptyWays),
      { ...row("keys at full speed, each batch", burst.batchMs), rate: burst.rate },
      { ...row("empty function at full speed, each batch", emptyBurst.batchMs), rate: emptyBurst.rate },
    ],
  };
}

function coldTable({ cold }: Measures): Table {
  return {
    title: "first answer of a fresh process",
    columns: [
      { key: "name", label: "function" },
      { key: "middle", label: "median ms" },
      { key: "worst", label: "worst ms" },
    ],
    rows: cold.map(({ name, times }) => ({ name, middle: median(times), worst: Math.max(...times) })),
  };
}
