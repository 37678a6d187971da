import { setTimeout as delay } from "node:timers/promises";
import { InvokeCommand } from "@aws-sdk/client-lambda";
import { SendMessageBatchCommand } from "@aws-sdk/client-sqs";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import type { ObjectKey } from "../../lib/model/key.ts";
import { formatBody, messageGroupOf } from "../../lib/queue/work-message.ts";
import { reconciledTypes } from "../../lib/upstream/watched-resources.ts";
import type { AwsClients } from "../aws/aws-clients.ts";
import type { AwsEndpoint } from "../aws/endpoint.ts";
import { killFunctions } from "../aws/function-processes.ts";
import type { Gate, Invocation } from "../aws/gate.ts";
import type { Environment } from "../e2e/environment.ts";
import { isDecided, type Tenant } from "../e2e/tenant.ts";
import { eventually } from "../support/eventually.ts";
import { median } from "./statistics.ts";

/** What is measured, and through what. */
export type AwsBench = Readonly<{
  endpoint: AwsEndpoint;
  aws: AwsClients;
  gate: Gate;
  world: Environment;
  tenant: Tenant;
}>;

/** The way of one change, in milliseconds since it was written. */
export type Way = Readonly<{ startMs: number; statusMs: number }>;

const patienceMs = 60_000;
/** How often a queue is filled and emptied. */
const rounds = 3;
/** The clock of the endpoint counts from the epoch too. */
const now = (): number => performance.timeOrigin + performance.now();

/** Creates placements one after the other, each when the one before is settled, and times the way of each. */
export async function measureWays(
  bench: AwsBench,
  { reconcile, prefix, count }: Readonly<{ reconcile: string; prefix: string; count: number }>,
): Promise<readonly Way[]> {
  const decided = followDecisions(bench.world);
  const times: { from: number; to: number }[] = [];
  try {
    for (let index = 0; index < count; index += 1) {
      const name = `${prefix}-${index}`;
      const from = now();
      const done = decided.next(name);
      await bench.tenant.place(name);
      times.push({ from, to: await done });
    }
  } finally {
    decided.stop();
  }
  const [first, last] = [times[0]?.from ?? 0, times.at(-1)?.from ?? 0];
  let runs: readonly Invocation[] = [];
  // A run is logged after its end, which is after its status write.
  await eventually(async () => {
    runs = await runsOf(bench.gate, reconcile, first);
    return (runs.at(-1)?.startMs ?? 0) >= last ? undefined : "the last run has not ended";
  }, patienceMs);
  return times.map(({ from, to }) => {
    const run = runs.find(({ startMs }) => startMs >= from);
    return { startMs: (run?.startMs ?? Number.NaN) - from, statusMs: to - from };
  });
}

/** Sends messages one after the other to a function that does nothing; the time from send to start of each. */
export async function measureEmptyWays(
  { aws, gate }: AwsBench,
  { queueUrl, name, count }: Readonly<{ queueUrl: string; name: string; count: number }>,
): Promise<readonly number[]> {
  const ways: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const from = now();
    await sendBatch(aws, queueUrl, [{ body: "{}", group: `way-${index}-${from}` }]);
    let run: Invocation | undefined;
    await eventually(async () => {
      run = (await runsOf(gate, name, from))[0];
      return run === undefined ? "the empty function has not run" : undefined;
    }, patienceMs);
    ways.push((run?.startMs ?? Number.NaN) - from);
  }
  return ways;
}

/** A queue that was full and is emptied: messages per second, and how long each batch took. */
export type Burst = Readonly<{ rate: number; batchMs: readonly number[] }>;

/** Fills a queue before its function may begin, some rounds of it; the first one pays for the starts. */
export async function measureBurst(
  bench: AwsBench,
  { queueUrl, name, messages }: Readonly<{ queueUrl: string; name: string; messages: () => readonly Message[] }>,
): Promise<Burst> {
  const [rates, batchMs]: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round += 1) {
    const list = messages();
    // Mappings take nothing while receiving is refused.
    await bench.gate.refuse(["AmazonSQS.ReceiveMessage"]);
    for (let at = 0; at < list.length; at += 10) await sendBatch(bench.aws, queueUrl, list.slice(at, at + 10));
    const since = now();
    await bench.gate.refuse([]);
    let runs: readonly Invocation[] = [];
    await eventually(async () => {
      await delay(200); // to ask takes of the same processor
      runs = await runsOf(bench.gate, name, since);
      const done = runs.reduce((sum, { sentMs }) => sum + sentMs.length, 0);
      return done >= list.length ? undefined : `${name} has worked on ${done} of ${list.length}`;
    }, patienceMs);
    const [first, last] = [Math.min(...runs.map((run) => run.startMs)), Math.max(...runs.map((run) => run.endMs))];
    if (round === 0) continue;
    rates.push((list.length * 1000) / (last - first));
    batchMs.push(...runs.map(({ startMs, endMs }) => endMs - startMs));
  }
  return { rate: median(rates), batchMs };
}

/** How long a function takes to answer in a process that was not there before, in milliseconds. */
export async function measureColdStarts(bench: AwsBench, name: string, count: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) {
    await killFunctions(bench.endpoint);
    const since = now();
    const payload = Buffer.from(JSON.stringify({ Records: [] }));
    const answer = await bench.aws.lambda.send(new InvokeCommand({ FunctionName: name, Payload: payload }));
    if (answer.FunctionError !== undefined) {
      const text = Buffer.from(answer.Payload ?? []).toString("utf8");
      throw new Error(`${name}: ${answer.FunctionError}: ${text}`);
    }
    const run = (await runsOf(bench.gate, name, since)).at(-1);
    times.push((run?.endMs ?? Number.NaN) - (run?.startMs ?? Number.NaN));
  }
  return times;
}

/** Calls that are paid for. */
export type Counted = Readonly<{ sends: number; runs: Readonly<Record<string, number>> }>;

/** Counts the calls while something goes on. */
export async function countCalls(gate: Gate, goesOn: () => Promise<void>): Promise<Counted> {
  const sendsOf = (calls: Readonly<Record<string, number>>): number =>
    Object.entries(calls)
      .filter(([operation]) => operation.startsWith("AmazonSQS.SendMessage"))
      .reduce((sum, [, count]) => sum + count, 0);
  const since = now();
  const before = sendsOf(await gate.calls());
  await goesOn();
  const sends = sendsOf(await gate.calls()) - before;
  const runs: Record<string, number> = {};
  for (const { function: name } of await gate.invocations(since)) runs[name] = (runs[name] ?? 0) + 1;
  return { sends, runs };
}

/** A message and the line that it stands in. */
export type Message = Readonly<{ body: string; group: string }>;

/** A message that requests a reconcile of a key. */
export function messageFor(key: ObjectKey, nonce: string): Message {
  return { body: formatBody({ key, reason: "on-demand", nonce }), group: messageGroupOf(key) };
}

async function sendBatch({ sqs }: AwsClients, QueueUrl: string, messages: readonly Message[]): Promise<void> {
  const Entries = messages.map(({ body, group }, at) => ({
    Id: String(at),
    MessageBody: body,
    MessageGroupId: group,
    MessageDeduplicationId: `${group}-${now()}`,
  }));
  const { Failed = [] } = await sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
  if (Failed.length > 0) throw new Error(`${Failed.length} messages were not taken`);
}

async function runsOf(gate: Gate, name: string, sinceMs = 0): Promise<readonly Invocation[]> {
  return (await gate.invocations(sinceMs))
    .filter((run) => run.function === name)
    .toSorted((a, b) => a.startMs - b.startMs);
}

/** Watches placements; answers when one is decided. */
function followDecisions({ tenant }: Environment) {
  const end = new AbortController();
  const waiting = new Map<string, (atMs: number) => void>();
  const following = (async () => {
    const collection = { type: reconciledTypes.WorkloadPlacement };
    const { metadata } = await tenant.list<WorkloadPlacement>(collection);
    for await (const event of tenant.watch<WorkloadPlacement>(collection, { ...metadata, signal: end.signal })) {
      if (event.type === "BOOKMARK" || !isDecided(event.object)) continue;
      waiting.get(event.object.metadata.name ?? "")?.(now());
    }
  })().catch(() => {});
  return {
    next: (name: string): Promise<number> => new Promise((resolve) => waiting.set(name, resolve)),
    stop: (): void => {
      end.abort();
      void following;
    },
  };
}
