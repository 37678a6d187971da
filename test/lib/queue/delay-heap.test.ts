import { createManualClock } from "@tmc/kube/manual-clock.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createDelayHeap } from "../../../lib/queue/delay-heap.ts";

test("a delay heap runs tasks in the order of their times, then of their scheduling, and never after they were canceled", () => {
  const task = fc.record({ atMs: fc.nat(20), isCanceled: fc.boolean() });
  const property = fc.property(fc.array(task, { maxLength: 60, size: "max" }), (tasks) => {
    const clock = createManualClock(0);
    const heap = createDelayHeap(clock);
    heap.start();
    const ran: number[] = [];
    const cancels = tasks.map(({ atMs }, index) => heap.schedule(atMs, () => ran.push(index)));
    for (const [index, { isCanceled }] of tasks.entries()) {
      if (!isCanceled) continue;
      cancels[index]?.();
      cancels[index]?.(); // a second call has no effect
    }
    const expected = tasks
      .map((task, index) => ({ ...task, index }))
      .filter(({ isCanceled }) => !isCanceled)
      .toSorted((one, other) => one.atMs - other.atMs || one.index - other.index);
    expect(heap.size).toBe(expected.length);
    expect(clock.pending).toBe(expected.length > 0 ? 1 : 0);
    for (let ms = 0; ms <= 20; ms++) {
      clock.advance(ms === 0 ? 0 : 1);
      expect(ran).toEqual(expected.filter(({ atMs }) => atMs <= ms).map(({ index }) => index));
    }
    expect(clock.pending).toBe(0);
  });
  fc.assert(property);
});

test("a delay heap runs a task on time whose delay exceeds the longest timer", () => {
  const clock = createManualClock(0);
  const delays: number[] = [];
  const heap = createDelayHeap({
    ...clock,
    after: (delayMs, task) => {
      delays.push(delayMs);
      return clock.after(delayMs, task);
    },
  });
  heap.start();
  let ran = 0;
  heap.schedule(2 ** 33, () => ran++);
  clock.advance(2 ** 33 - 1);
  expect(ran).toBe(0);
  clock.advance(1);
  expect(ran).toBe(1);
  expect(Math.max(...delays)).toBeLessThan(2 ** 31);
});

test("a delay heap does not loop on a task that reschedules itself for now", () => {
  const clock = createManualClock(0);
  const heap = createDelayHeap(clock);
  let ran = 0;
  const again = (): void => {
    ran += 1;
    if (ran < 3) heap.schedule(clock.monotonicMs(), again);
  };
  heap.schedule(0, again);
  heap.start();
  expect(ran).toBe(1);
  clock.advance(0);
  expect(ran).toBe(3);
});

test("a delay heap runs no task while it is stopped, and runs overdue tasks at its start", () => {
  const clock = createManualClock(0);
  const heap = createDelayHeap(clock);
  let ran = 0;
  heap.schedule(10, () => ran++);
  clock.advance(20);
  expect([ran, clock.pending]).toEqual([0, 0]);
  heap.start();
  expect(ran).toBe(1);
});
