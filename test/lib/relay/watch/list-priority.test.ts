import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { expect, test } from "vitest";
import { createListPriority } from "../../../../lib/relay/watch/list-priority.ts";

function aPriority(...first: readonly string[]) {
  const clock = createManualClock();
  const priority = createListPriority({ first, clock });
  return { clock, priority, yielded: { isDone: false } };
}

/** Runs pending promise callbacks. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("yieldToFirst resolves when all first collections have arrived", async () => {
  const { clock, priority, yielded } = aPriority("a", "b");
  void priority.yieldToFirst().then(() => (yielded.isDone = true));
  priority.arrived("a");
  await settle();
  expect(yielded.isDone).toBe(false);
  priority.arrived("b");
  await settle();
  expect(yielded.isDone).toBe(true);
  expect(clock.pending).toBe(0);
});

test("yieldToFirst waits at most three seconds, and only once", async () => {
  const { clock, priority, yielded } = aPriority("a");
  void priority.yieldToFirst().then(() => (yielded.isDone = true));
  clock.advance(2_999);
  await settle();
  expect(yielded.isDone).toBe(false);
  clock.advance(1);
  await settle();
  expect(yielded.isDone).toBe(true);
  await priority.yieldToFirst();
  expect(clock.pending).toBe(0);
});

test("yieldToFirst resolves at once without first collections", async () => {
  const { clock, priority } = aPriority();
  await priority.yieldToFirst();
  expect(clock.pending).toBe(0);
});
