import { expect, test } from "vitest";
import { createListOrder } from "../../../lib/relay/list-priority.ts";
import { createManualClock } from "../../support/manual-clock.ts";

function anOrder(...first: readonly string[]) {
  const clock = createManualClock();
  const order = createListOrder({ first, clock });
  return { clock, order, gone: { isBy: false } };
}

/** Lets what waits for nothing more go on. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("others go on when all that go first have arrived", async () => {
  const { clock, order, gone } = anOrder("a", "b");
  void order.giveWay().then(() => (gone.isBy = true));
  order.arrived("a");
  await settle();
  expect(gone.isBy).toBe(false);
  order.arrived("b");
  await settle();
  expect(gone.isBy).toBe(true);
  expect(clock.pending).toBe(0);
});

test("others wait three seconds at most, and only once", async () => {
  const { clock, order, gone } = anOrder("a");
  void order.giveWay().then(() => (gone.isBy = true));
  clock.advance(2_999);
  await settle();
  expect(gone.isBy).toBe(false);
  clock.advance(1);
  await settle();
  expect(gone.isBy).toBe(true);
  await order.giveWay();
  expect(clock.pending).toBe(0);
});

test("nobody waits where nothing goes first", async () => {
  const { clock, order } = anOrder();
  await order.giveWay();
  expect(clock.pending).toBe(0);
});
