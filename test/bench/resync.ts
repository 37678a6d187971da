import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { systemClock } from "@tmc/kube/clock.ts";
import { allWorkloadTypes } from "../../lib/api/workload-kinds.ts";
import { resyncRunSeconds } from "../../lib/lambda/messages.ts";
import { walkResync } from "../../lib/lambda/resync-keys.ts";
import { createSqsQueue } from "../../lib/queue/sqs.ts";
import type { SqsClient } from "../../lib/queue/sqs-client.ts";
import { createFakeLister, resyncObject } from "../support/fake-lister.ts";
import type { BenchReport, Row } from "./report.ts";
import type { Settings } from "./settings.ts";

/** One call to SQS, as measured from a function in the same region. */
const callMs = 15;
/** One page of a list, as a busy kcp takes. */
const pageMs = 60;
/** Calls of the functions to SQS at a time (`lib/lambda/resync.ts`). */
const maxConcurrentCalls = 16;

/** Measures a resync of many objects: generated lists and an SQS that only takes its time, in one process. */
export async function benchResync({ resynced }: Settings): Promise<BenchReport> {
  const rows: Row[] = [];
  for (const objects of resynced) rows.push(await measure(objects));
  const last = rows.at(-1) ?? {};
  const seconds = Number(last.seconds);
  return {
    name: "resync",
    tables: [{ title: "one invocation over all tenants of an endpoint", columns, rows }],
    goals: [
      {
        what: `a resync of ${Number(last.keys).toLocaleString("en-US")} keys`,
        goal: `in one invocation of ${resyncRunSeconds} s`,
        got: `${seconds.toFixed(0)} s`,
        met: seconds < resyncRunSeconds,
      },
    ],
    notes: [
      `Each call to SQS takes ${callMs} ms and each page ${pageMs} ms; a function has one vCPU. Memory is the growth of the heap.`,
      "Most objects are Deployments, each with a sync record besides: its key is sent once.",
    ],
  };
}

const columns = [
  { key: "objects", label: "objects" },
  { key: "keys", label: "keys" },
  { key: "calls", label: "calls" },
  { key: "seconds", label: "seconds", digits: 1 },
  { key: "perSecond", label: "keys/s" },
  { key: "heapMb", label: "heap MB", digits: 1 },
];

/** Of all objects: a hundredth are registrations, a tenth placements; the rest are Deployments and their sync records. */
function countOf(objects: number, plural: string): number {
  const registrations = Math.round(objects / 100);
  const placements = Math.round(objects / 10);
  const workloads = objects - registrations - placements;
  if (plural === "clusterregistrations") return registrations;
  if (plural === "workloadplacements") return placements;
  return plural === "deployments" || plural === "workloadsyncs" ? workloads : 0;
}

async function measure(objects: number): Promise<Row> {
  let calls = 0;
  // The SDK signs each request over its body; the rest of a call is waiting.
  const send = async ({ input }: { input: object }): Promise<object> => {
    calls += 1;
    createHash("sha256").update(JSON.stringify(input)).digest();
    await wait(callMs);
    return { Successful: [], Failed: [] };
  };
  const sqs = { send } as unknown as SqsClient;
  const url = "https://sqs.eu-west-1.amazonaws.com/000000000000/delay";
  const urls = { work: url, delay: url, deadLetters: url };
  const queue = createSqsQueue({ sqs, urls, maxConcurrentCalls, clock: systemClock });
  const lister = createFakeLister({
    sources: ["https://kcp.example.com/services/apiexport/root:tmc/tmc.kcp.io"],
    count: (_, plural) => countOf(objects, plural),
    object: (_, plural, index) => resyncObject(plural, index),
    logicalClusterOf: (_, index) => `tenant-${index % 500}`,
    pageSize: 1_000,
    beforePage: () => wait(pageMs),
  });
  let peakBytes = 0;
  const before = process.memoryUsage().heapUsed;
  const startedMs = performance.now();
  const { keys } = await walkResync({
    lister,
    types: allWorkloadTypes(),
    send: async (page) => {
      peakBytes = Math.max(peakBytes, process.memoryUsage().heapUsed - before);
      await queue.sendManyLater(page.map((key) => ({ item: { key, reason: "resync" }, afterSeconds: 450 })));
    },
    salt: 1,
    signal: new AbortController().signal,
  });
  const seconds = (performance.now() - startedMs) / 1000;
  return { objects, keys, calls, seconds, perSecond: keys / seconds, heapMb: peakBytes / 1024 ** 2 };
}
