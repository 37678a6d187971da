import { createMonotonicReading } from "@tmc/kube/clock.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { expect, test } from "vitest";

/** Two clocks of one machine and the reading over them. */
function aMachine() {
  const machine = { wallMs: 1_000_000, processMs: 50 };
  const reading = createMonotonicReading(
    () => machine.wallMs,
    () => machine.processMs,
  );
  const pass = (ms: number): void => {
    machine.wallMs += ms;
    machine.processMs += ms;
  };
  return { machine, reading, pass };
}

test("the monotonic reading goes on when the wall clock is set back by two hours", () => {
  const { machine, reading, pass } = aMachine();
  const before = reading();
  pass(10_000);
  machine.wallMs -= 7_200_000;
  expect(reading() - before).toBe(10_000);
  pass(10_000);
  expect(reading() - before).toBe(20_000);
});

test("the monotonic reading counts the time while the machine was suspended, which its process clock does not", () => {
  const { machine, reading, pass } = aMachine();
  const before = reading();
  machine.wallMs += 3_600_000;
  expect(reading() - before).toBe(3_600_000);
  pass(5_000);
  expect(reading() - before).toBe(3_605_000);
});

test("the monotonic reading never goes back, and small differences of the clocks do not add up", () => {
  const { machine, reading, pass } = aMachine();
  const before = reading();
  let last = before;
  for (let round = 0; round < 1_000; round++) {
    pass(1);
    machine.wallMs += round % 2 === 0 ? 400 : -400;
    expect(reading()).toBeGreaterThanOrEqual(last);
    last = reading();
  }
  expect(last - before).toBe(1_000);
});

test("a manual clock that is set back keeps its timers and its monotonic reading", () => {
  const clock = createManualClock();
  const startMs = clock.now();
  let ran = 0;
  clock.after(1_000, () => {
    ran += 1;
  });
  clock.setBack(7_200_000);
  expect(clock.now()).toBe(startMs - 7_200_000);
  clock.advance(1_000);
  expect(ran).toBe(1);
  expect(clock.monotonicMs()).toBe(1_000);
});
