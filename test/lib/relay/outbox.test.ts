import { expect, test, vi } from "vitest";
import type { WorkItem } from "../../../lib/queue/work-queue.ts";
import { createOutbox } from "../../../lib/relay/outbox.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const item = (name: string): WorkItem => ({
  key: { cluster: "t", kind: "WorkloadPlacement", name },
  reason: "changed",
});
const never = new AbortController().signal;

/** A queue that can be down. */
function anOutbox() {
  const clock = createManualClock();
  const queue = { down: false, sent: [] as string[], sends: 0 };
  const troubles: number[] = [];
  const outbox = createOutbox({
    queue: {
      send: async (items) => {
        queue.sends += 1;
        if (queue.down) throw new Error("queue is down");
        queue.sent.push(...items.map(({ key }) => key.name));
      },
    },
    clock,
    random: () => 0.5,
    onTrouble: (_error, { keys }) => troubles.push(keys),
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
