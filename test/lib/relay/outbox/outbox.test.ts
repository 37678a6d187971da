import { setImmediate as afterPending } from "node:timers/promises";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { expect, test, vi } from "vitest";
import type { WorkItem } from "../../../../lib/model/work-item.ts";
import { createOutbox, type OutboxOptions } from "../../../../lib/relay/outbox/outbox.ts";

const item = (name: string): WorkItem => ({
  key: { logicalCluster: "t", kind: "WorkloadPlacement", name },
  reason: "changed",
});
const never = new AbortController().signal;

/** An outbox with a queue that can be down. */
function anOutbox(options: Partial<OutboxOptions> = {}) {
  const clock = createManualClock();
  const queue = { down: false, sent: [] as string[], sends: 0, reasons: [] as string[], wait: Promise.resolve() };
  const failures: number[] = [];
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
    onFailure: (_error, { keys }) => failures.push(keys),
    ...options,
  });
  return { outbox, queue, clock, failures };
}

test("sends the keys that are added", async () => {
  const { outbox, queue } = anOutbox();
  outbox.add([item("a"), item("b")]);
  expect(await outbox.drain(never)).toBe(0);
  expect(queue.sent).toEqual(["a", "b"]);
});

test("while the queue is down, keeps each key once however often it changes, and loses none", async () => {
  const { outbox, queue, clock, failures } = anOutbox();
  queue.down = true;
  for (let round = 0; round < 1000; round++) outbox.add([item("a"), item("b")]);
  await vi.waitFor(() => expect(failures).toEqual([2]));
  expect(outbox.size).toBe(2);
  expect(queue.sends).toBe(1);

  queue.down = false;
  expect(queue.sent).toEqual([]);
  clock.advance(60_000);
  await vi.waitFor(() => expect(queue.sent.toSorted()).toEqual(["a", "b"]));
  expect(outbox.size).toBe(0);
  expect(clock.pending).toBe(0);
});

test("retries a queue that stays down with a growing backoff", async () => {
  const { outbox, queue, clock, failures } = anOutbox();
  queue.down = true;
  outbox.add([item("a")]);
  for (let second = 0; second < 600; second++) {
    await vi.waitFor(() => expect(clock.pending).toBe(1));
    clock.advance(1_000);
  }
  expect(failures.length).toBeGreaterThan(20);
  expect(failures.length).toBeLessThan(60);
});

test("sends a key again that changes while it is being sent", async () => {
  const { outbox, queue } = anOutbox();
  outbox.add([item("a")]);
  outbox.add([item("a")]);
  await outbox.drain(never);
  expect(queue.sent).toEqual(["a", "a"]);
});

test("drain does not wait for the backoff, and ends when its signal aborts", async () => {
  const { outbox, queue, failures } = anOutbox();
  queue.down = true;
  outbox.add([item("a")]);
  await vi.waitFor(() => expect(failures).toHaveLength(1));
  const limit = new AbortController();
  const draining = outbox.drain(limit.signal);
  await vi.waitFor(() => expect(failures).toHaveLength(2));
  limit.abort();
  expect(await draining).toBe(1);
});

test("reports the age of the oldest key, and that the queue is failing", async () => {
  const { outbox, queue, clock, failures } = anOutbox();
  expect([outbox.oldestAgeSeconds(), outbox.isFailing]).toEqual([0, false]);
  queue.down = true;
  outbox.add([item("a")]);
  await vi.waitFor(() => expect(failures).toHaveLength(1));
  clock.advance(100);
  outbox.add([item("a"), item("b")]);
  clock.advance(100);
  expect([outbox.oldestAgeSeconds(), outbox.isFailing]).toEqual([0.2, true]);
  queue.down = false;
  expect(await outbox.drain(never)).toBe(0);
  expect([outbox.oldestAgeSeconds(), outbox.isFailing]).toEqual([0, false]);
});

test("counts the age of a key that changed while it was being sent from that change on", async () => {
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

test("gathers keys for gatherMs into one call, and drain does not wait for that", async () => {
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

test("sends at most batchSize keys at a time", async () => {
  const { outbox, queue } = anOutbox({ batchSize: 2 });
  outbox.add(["a", "b", "c", "d", "e"].map(item));
  expect(await outbox.drain(never)).toBe(0);
  expect([queue.sends, queue.sent]).toEqual([3, ["a", "b", "c", "d", "e"]]);
});

test("keeps the reason on-demand when the object changes before its key is sent", async () => {
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

test("ten thousand keys of one tenant do not keep another tenant's key out of the first batch", async () => {
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

test("serves tenants round-robin when there are more tenants than keys in a batch", async () => {
  const batches: string[][] = [];
  const { outbox } = anOutbox({
    batchSize: 2,
    gatherMs: 1,
    queue: { send: async (items) => void batches.push(items.map(({ key }) => `${key.logicalCluster}${key.name}`)) },
  });
  outbox.add(["a", "b", "c"].flatMap((logicalCluster) => ["1", "2"].map((name) => itemOf(logicalCluster, name))));
  await outbox.drain(never);
  expect(batches).toEqual([
    ["a1", "b1"],
    ["c1", "a2"],
    ["b2", "c2"],
  ]);
});

test("does not send the keys of a dropped tenant", async () => {
  const { outbox, queue } = anOutbox({ gatherMs: 1 });
  outbox.add([itemOf("dropped", "web"), itemOf("kept", "api")]);
  outbox.drop("dropped");
  expect(outbox.size).toBe(1);
  await outbox.drain(never);
  expect(queue.sent).toEqual(["api"]);
});

/** An outbox with a rate limit, and the tenant and time of each sent key. */
function aLimitedOutbox(options: Partial<OutboxOptions> = {}) {
  const sent: Readonly<{ logicalCluster: string; atMs: number }>[] = [];
  const { outbox, queue, clock, failures } = anOutbox({
    tenantRate: { perSecond: 100, burst: 25 },
    ...options,
    queue: {
      send: async (items) => {
        if (queue.down) throw new Error("queue is down");
        sent.push(...items.map(({ key }) => ({ logicalCluster: key.logicalCluster, atMs: clock.now() - startedMs })));
      },
    },
  });
  const startedMs = clock.now();
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(Math.min(100, left));
      await afterPending();
    }
  };
  const of = (logicalCluster: string) => sent.filter((one) => one.logicalCluster === logicalCluster);
  return { outbox, queue, clock, failures, sent, of, pass };
}
const many = (logicalCluster: string, count: number): WorkItem[] =>
  Array.from({ length: count }, (_, at) => itemOf(logicalCluster, `web-${at}`));

test("a rate-limited tenant sends its burst, then at its rate, until everything is sent", async () => {
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

test("a tenant over its rate limit keeps each key once, and does not delay another tenant", async () => {
  const { outbox, of, pass } = aLimitedOutbox();
  outbox.add(many("noisy", 1_000));
  await pass(250);
  for (let round = 0; round < 10; round++) outbox.add(many("noisy", 1_000));
  expect(outbox.size).toBeLessThanOrEqual(1_000);
  outbox.add([itemOf("quiet", "web")]);
  await afterPending();
  expect(of("quiet")).toEqual([{ logicalCluster: "quiet", atMs: 250 }]);
});

test("tenants over their rate limit use up no position of a batch", async () => {
  const { outbox, of, pass } = aLimitedOutbox({ batchSize: 10 });
  for (let tenant = 0; tenant < 30; tenant++) outbox.add(many(`noisy-${tenant}`, 100));
  await pass(200);
  outbox.add([itemOf("quiet", "web")]);
  await afterPending();
  expect(of("quiet")).toHaveLength(1);
});

test("keys over a rate limit count neither as the oldest key nor as keys to drain", async () => {
  const { outbox, pass, sent } = aLimitedOutbox();
  outbox.add(many("noisy", 1_000));
  await pass(5_000);
  expect([outbox.oldestAgeSeconds(), outbox.isFailing]).toEqual([0, false]);
  const before = sent.length;
  expect(await outbox.drain(never)).toBe(1_000 - before);
});

test("while the queue is down, keys count as waiting for the queue and use up no rate limit", async () => {
  const { outbox, queue, pass, of, failures } = aLimitedOutbox();
  queue.down = true;
  outbox.add(many("noisy", 100));
  await pass(2_000);
  expect(failures.length).toBeGreaterThan(1);
  expect([outbox.limited, outbox.isFailing, outbox.oldestAgeSeconds()]).toEqual([0, true, 2]);
  queue.down = false;
  await pass(60_000);
  expect(of("noisy")).toHaveLength(100);
});

test("a tenant that is dropped over its rate limit leaves no keys and no timer", async () => {
  const { outbox, pass, clock } = aLimitedOutbox();
  outbox.add(many("noisy", 100));
  await afterPending();
  outbox.drop("noisy");
  expect([outbox.size, outbox.limited]).toEqual([0, 0]);
  await pass(200);
  expect(clock.pending).toBe(0);
});
