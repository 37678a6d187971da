import { setImmediate as afterPending } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import type { WorkItem } from "../../../lib/model/work-item.ts";
import { createOutbox, type OutboxOptions } from "../../../lib/relay/outbox.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const item = (name: string): WorkItem => ({
  key: { logicalCluster: "t", kind: "WorkloadPlacement", name },
  reason: "changed",
});
const never = new AbortController().signal;

/** A queue that can be down. */
function anOutbox(options: Partial<OutboxOptions> = {}) {
  const clock = createManualClock();
  const queue = { down: false, sent: [] as string[], sends: 0, reasons: [] as string[], wait: Promise.resolve() };
  const troubles: number[] = [];
  const outbox = createOutbox({
    queue: {
      send: async (items) => {
        queue.sends += 1;
        await queue.wait;
        if (queue.down) throw new Error("queue is down");
        queue.sent.push(...items.map(({ key }) => key.name));
        queue.reasons.push(...items.map(({ reason }) => reason));
      },
    },
    clock,
    random: () => 0.5,
    onTrouble: (_error, { keys }) => troubles.push(keys),
    ...options,
  });
  return { outbox, queue, clock, troubles };
}

test("sends what it is given", async () => {
  const { outbox, queue } = anOutbox();
  outbox.add([item("a"), item("b")]);
  expect(await outbox.drain(never)).toBe(0);
  expect(queue.sent).toEqual(["a", "b"]);
});

test("while the queue is down it keeps each key once, however often it changes, and loses none", async () => {
  const { outbox, queue, clock, troubles } = anOutbox();
  queue.down = true;
  for (let round = 0; round < 1000; round++) outbox.add([item("a"), item("b")]);
  await vi.waitFor(() => expect(troubles).toEqual([2]));
  expect(outbox.size).toBe(2);
  expect(queue.sends).toBe(1);

  queue.down = false;
  expect(queue.sent).toEqual([]);
  clock.advance(60_000);
  await vi.waitFor(() => expect(queue.sent.toSorted()).toEqual(["a", "b"]));
  expect(outbox.size).toBe(0);
  expect(clock.pending).toBe(0);
});

test("asks a queue that stays down less and less often", async () => {
  const { outbox, queue, clock, troubles } = anOutbox();
  queue.down = true;
  outbox.add([item("a")]);
  for (let second = 0; second < 600; second++) {
    await vi.waitFor(() => expect(clock.pending).toBe(1));
    clock.advance(1_000);
  }
  expect(troubles.length).toBeGreaterThan(20);
  expect(troubles.length).toBeLessThan(60);
});

test("a key that changes while it is being sent is sent again", async () => {
  const { outbox, queue } = anOutbox();
  outbox.add([item("a")]);
  outbox.add([item("a")]);
  await outbox.drain(never);
  expect(queue.sent).toEqual(["a", "a"]);
});

test("draining does not wait for the next attempt, and gives up with its signal", async () => {
  const { outbox, queue, troubles } = anOutbox();
  queue.down = true;
  outbox.add([item("a")]);
  await vi.waitFor(() => expect(troubles).toHaveLength(1));
  const limit = new AbortController();
  const draining = outbox.drain(limit.signal);
  await vi.waitFor(() => expect(troubles).toHaveLength(2));
  limit.abort();
  expect(await draining).toBe(1);
});

test("says how long the oldest key has waited, and that it waits for the queue", async () => {
  const { outbox, queue, clock, troubles } = anOutbox();
  expect([outbox.oldestAgeSeconds(), outbox.isFailing]).toEqual([0, false]);
  queue.down = true;
  outbox.add([item("a")]);
  await vi.waitFor(() => expect(troubles).toHaveLength(1));
  clock.advance(100);
  outbox.add([item("a"), item("b")]);
  clock.advance(100);
  expect([outbox.oldestAgeSeconds(), outbox.isFailing]).toEqual([0.2, true]);
  queue.down = false;
  expect(await outbox.drain(never)).toBe(0);
  expect([outbox.oldestAgeSeconds(), outbox.isFailing]).toEqual([0, false]);
});

test("counts a key that changed on its way out from that change on", async () => {
  const { outbox, queue, clock } = anOutbox();
  const slow = Promise.withResolvers<void>();
  queue.wait = slow.promise;
  outbox.add([item("a")]);
  clock.advance(10_000);
  outbox.add([item("a")]);
  expect(outbox.oldestAgeSeconds()).toBe(10);
  const next = Promise.withResolvers<void>();
  queue.wait = next.promise;
  slow.resolve();
  await vi.waitFor(() => expect(queue.sends).toBe(2));
  clock.advance(1_000);
  expect(outbox.oldestAgeSeconds()).toBe(1);
  next.resolve();
  expect(await outbox.drain(never)).toBe(0);
});

test("gathers what comes within a moment, and does not wait when it has to end", async () => {
  const { outbox, queue, clock } = anOutbox({ gatherMs: 100 });
  outbox.add([item("a")]);
  clock.advance(99);
  outbox.add([item("b"), item("a")]);
  expect(queue.sends).toBe(0);
  clock.advance(1);
  await vi.waitFor(() => expect(queue.sent).toEqual(["a", "b"]));
  expect(queue.sends).toBe(1);
  outbox.add([item("c")]);
  expect(await outbox.drain(never)).toBe(0);
  expect(queue.sent).toEqual(["a", "b", "c"]);
});

test("sends no more at a time than it is told", async () => {
  const { outbox, queue } = anOutbox({ batchSize: 2 });
  outbox.add(["a", "b", "c", "d", "e"].map(item));
  expect(await outbox.drain(never)).toBe(0);
  expect([queue.sends, queue.sent]).toEqual([3, ["a", "b", "c", "d", "e"]]);
});

test("keeps a person's wish when the object changes before it is sent", async () => {
  const { outbox, queue } = anOutbox({ gatherMs: 100 });
  outbox.add([{ ...item("a"), reason: "on-demand" }]);
  outbox.add([item("a")]);
  expect(await outbox.drain(never)).toBe(0);
  expect(queue.reasons).toEqual(["on-demand"]);
});

const itemOf = (logicalCluster: string, name: string): WorkItem => ({
  ...item(name),
  key: { ...item(name).key, logicalCluster },
});

test("ten thousand keys of one tenant do not keep another's out of the first batch", async () => {
  const batches: string[][] = [];
  const { outbox } = anOutbox({
    batchSize: 100,
    gatherMs: 1,
    queue: { send: async (items) => void batches.push(items.map(({ key }) => `${key.logicalCluster} ${key.name}`)) },
  });
  outbox.add(Array.from({ length: 10_000 }, (_, at) => itemOf("noisy", `web-${at}`)));
  outbox.add([itemOf("quiet", "web")]);
  expect(await outbox.drain(never)).toBe(0);
  expect(batches[0]).toContain("quiet web");
  expect(batches).toHaveLength(101);
  expect(new Set(batches.flat()).size).toBe(10_001);
});

test("more tenants than a batch has room for have their turn one after the other", async () => {
  const batches: string[][] = [];
  const { outbox } = anOutbox({
    batchSize: 2,
    gatherMs: 1,
    queue: { send: async (items) => void batches.push(items.map(({ key }) => `${key.logicalCluster}${key.name}`)) },
  });
  outbox.add(["a", "b", "c"].flatMap((cluster) => ["1", "2"].map((name) => itemOf(cluster, name))));
  await outbox.drain(never);
  expect(batches).toEqual([
    ["a1", "b1"],
    ["c1", "a2"],
    ["b2", "c2"],
  ]);
});

test("what waits of a tenant that is let go is not sent", async () => {
  const { outbox, queue } = anOutbox({ gatherMs: 1 });
  outbox.add([itemOf("going", "web"), itemOf("staying", "api")]);
  outbox.drop("going");
  expect(outbox.size).toBe(1);
  await outbox.drain(never);
  expect(queue.sent).toEqual(["api"]);
});

/** Keys as they leave, by tenant, and the time at which each does. */
function aLimitedOutbox(options: Partial<OutboxOptions> = {}) {
  const sent: Readonly<{ cluster: string; atMs: number }>[] = [];
  const { outbox, queue, clock, troubles } = anOutbox({
    tenantRate: { perSecond: 100, burst: 25 },
    ...options,
    queue: {
      send: async (items) => {
        if (queue.down) throw new Error("queue is down");
        sent.push(...items.map(({ key }) => ({ cluster: key.logicalCluster, atMs: clock.now() - began })));
      },
    },
  });
  const began = clock.now();
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(Math.min(100, left));
      await afterPending();
    }
  };
  const of = (cluster: string) => sent.filter((one) => one.cluster === cluster);
  return { outbox, queue, clock, troubles, sent, of, pass };
}
const many = (cluster: string, count: number): WorkItem[] =>
  Array.from({ length: count }, (_, at) => itemOf(cluster, `web-${at}`));

test("a tenant sends its burst, then its rate, and everything in the end", async () => {
  const { outbox, of, pass, clock } = aLimitedOutbox();
  outbox.add(many("noisy", 1_000));
  await afterPending();
  expect(of("noisy")).toHaveLength(25);
  await pass(1_000);
  expect(of("noisy")).toHaveLength(125);
  expect([outbox.size, outbox.limited]).toEqual([875, 875]);
  await pass(8_800);
  expect([outbox.size, outbox.limited, clock.pending]).toEqual([0, 0, 0]);
});

test("a tenant over its limit keeps each key once, and holds up nobody else for a moment", async () => {
  const { outbox, of, pass } = aLimitedOutbox();
  outbox.add(many("noisy", 1_000));
  await pass(250);
  for (let round = 0; round < 10; round++) outbox.add(many("noisy", 1_000));
  expect(outbox.size).toBeLessThanOrEqual(1_000);
  outbox.add([itemOf("quiet", "web")]);
  await afterPending();
  expect(of("quiet")).toEqual([{ cluster: "quiet", atMs: 250 }]);
});

test("more tenants over their limit than a batch has room for keep nobody out of it", async () => {
  const { outbox, of, pass } = aLimitedOutbox({ batchSize: 10 });
  for (let tenant = 0; tenant < 30; tenant++) outbox.add(many(`noisy-${tenant}`, 100));
  await pass(200);
  outbox.add([itemOf("quiet", "web")]);
  await afterPending();
  expect(of("quiet")).toHaveLength(1);
});

test("keys over a limit do not wait for the queue: neither their age nor the end of the process counts them", async () => {
  const { outbox, pass, sent } = aLimitedOutbox();
  outbox.add(many("noisy", 1_000));
  await pass(5_000);
  expect([outbox.oldestAgeSeconds(), outbox.isFailing]).toEqual([0, false]);
  const before = sent.length;
  expect(await outbox.drain(never)).toBe(1_000 - before);
});

test("while the queue is down the keys of every tenant wait for it, and cost nobody his share", async () => {
  const { outbox, queue, pass, of, troubles } = aLimitedOutbox();
  queue.down = true;
  outbox.add(many("noisy", 100));
  await pass(2_000);
  expect(troubles.length).toBeGreaterThan(1);
  expect([outbox.limited, outbox.isFailing, outbox.oldestAgeSeconds()]).toEqual([0, true, 2]);
  queue.down = false;
  await pass(60_000);
  expect(of("noisy")).toHaveLength(100);
});

test("a tenant that is let go while it is held leaves nothing behind", async () => {
  const { outbox, pass, clock } = aLimitedOutbox();
  outbox.add(many("noisy", 100));
  await afterPending();
  outbox.drop("noisy");
  expect([outbox.size, outbox.limited]).toEqual([0, 0]);
  await pass(200);
  expect(clock.pending).toBe(0);
});
