import { expect, test } from "vitest";
import type { WorkItem } from "../../../lib/model/work-item.ts";
import { planFanOut, rateLimitFanOut } from "../../../lib/queue/fan-out.ts";
import type { DelayedItem, SqsQueue } from "../../../lib/queue/sqs.ts";

const rate = { perSecond: 10, burst: 3 };
const item = (logicalCluster: string, name: string, reason: WorkItem["reason"] = "fan-out"): WorkItem => ({
  key: { logicalCluster, kind: "WorkloadPlacement", name },
  reason,
});
const items = (logicalCluster: string, count: number): WorkItem[] =>
  Array.from({ length: count }, (_, at) => item(logicalCluster, `${logicalCluster}${at}`));
const named = ({ key }: WorkItem): string => key.name;

test("a fan-out sends its burst at once and the rest at the tenant's rate", () => {
  const { immediate, delayed } = planFanOut(items("a", 25), rate);
  expect(immediate.map(named)).toEqual(["a0", "a1", "a2"]);
  const perSecond = Map.groupBy(delayed, ({ afterSeconds }) => afterSeconds);
  expect([...perSecond].map(([second, batch]) => [second, batch.length])).toEqual([
    [1, 10],
    [2, 10],
    [3, 2],
  ]);
  expect(new Set([...immediate, ...delayed.map(({ item: delayedItem }) => delayedItem)].map(named)).size).toBe(25);
});

test("a fan-out limits each tenant separately", () => {
  const { immediate, delayed } = planFanOut([...items("a", 4), ...items("b", 2)], rate);
  expect(immediate.map(named)).toEqual(["a0", "a1", "a2", "b0", "b1"]);
  expect(delayed).toEqual([{ item: item("a", "a3"), afterSeconds: 1 }]);
});

function aQueue() {
  const sent: WorkItem[] = [];
  const later: DelayedItem[] = [];
  const queue: SqsQueue = {
    send: async (items) => void sent.push(...items),
    sendLater: async (delayedItem, afterSeconds) => void later.push({ item: delayedItem, afterSeconds }),
    sendManyLater: async (delayed) => void later.push(...delayed),
    deadLetter: async () => {},
  };
  return { queue, sent, later };
}

test("the rate limit applies to fan-out only: changes and on-demand requests are sent at once", async () => {
  const { queue, sent, later } = aQueue();
  const requests = Array.from({ length: 9 }, (_, at) => item("a", `request-${at}`, "on-demand"));
  await rateLimitFanOut(queue, rate).send([...items("a", 5), ...requests, item("a", "own", "changed")]);
  expect(sent.map(named)).toEqual([...requests.map(named), "own", "a0", "a1", "a2"]);
  expect(later.map(({ item: delayedItem }) => named(delayedItem))).toEqual(["a3", "a4"]);
});

test("a fan-out without a rate limit delays nothing", async () => {
  const { queue, sent, later } = aQueue();
  await rateLimitFanOut(queue, undefined).send(items("a", 100));
  expect([sent.length, later.length]).toEqual([100, 0]);
});
