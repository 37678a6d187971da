import { expect, test } from "vitest";
import type { WorkItem } from "../../../lib/model/work-item.ts";
import { spreadFanOut, spreadOut } from "../../../lib/queue/fan-out.ts";
import type { Later, SqsQueue } from "../../../lib/queue/sqs.ts";

const rate = { perSecond: 10, burst: 3 };
const item = (logicalCluster: string, name: string, reason: WorkItem["reason"] = "fan-out"): WorkItem => ({
  key: { logicalCluster, kind: "WorkloadPlacement", name },
  reason,
});
const some = (cluster: string, count: number): WorkItem[] =>
  Array.from({ length: count }, (_, at) => item(cluster, `${cluster}${at}`));
const named = ({ key }: WorkItem): string => key.name;

test("a burst goes at once, what is beyond it second by second, and nothing is lost", () => {
  const { atOnce, later } = spreadOut(some("a", 25), rate);
  expect(atOnce.map(named)).toEqual(["a0", "a1", "a2"]);
  const perSecond = Map.groupBy(later, ({ afterSeconds }) => afterSeconds);
  expect([...perSecond].map(([second, those]) => [second, those.length])).toEqual([
    [1, 10],
    [2, 10],
    [3, 2],
  ]);
  expect(new Set([...atOnce, ...later.map((one) => one.item)].map(named)).size).toBe(25);
});

test("each tenant has a share of its own", () => {
  const { atOnce, later } = spreadOut([...some("a", 4), ...some("b", 2)], rate);
  expect(atOnce.map(named)).toEqual(["a0", "a1", "a2", "b0", "b1"]);
  expect(later).toEqual([{ item: item("a", "a3"), afterSeconds: 1 }]);
});

function aQueue() {
  const sent: WorkItem[] = [];
  const later: Later[] = [];
  const queue: SqsQueue = {
    send: async (items) => void sent.push(...items),
    sendLater: async (one, afterSeconds) => void later.push({ item: one, afterSeconds }),
    sendEachLater: async (some) => void later.push(...some),
    setAside: async () => {},
  };
  return { queue, sent, later };
}

test("only what others are told of is spread: a person's wish and a change go at once", async () => {
  const { queue, sent, later } = aQueue();
  const wishes = Array.from({ length: 9 }, (_, at) => item("a", `wish-${at}`, "on-demand"));
  await spreadFanOut(queue, rate).send([...some("a", 5), ...wishes, item("a", "own", "changed")]);
  expect(sent.map(named)).toEqual([...wishes.map(named), "own", "a0", "a1", "a2"]);
  expect(later.map(({ item: one }) => named(one))).toEqual(["a3", "a4"]);
});

test("without a rate nothing is put off", async () => {
  const { queue, sent, later } = aQueue();
  await spreadFanOut(queue, undefined).send(some("a", 100));
  expect([sent.length, later.length]).toEqual([100, 0]);
});
