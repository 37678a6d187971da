import { describe, expect, it } from "vitest";
import { createTurns } from "../../../lib/downstream/rate-limit.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const forEver = new AbortController().signal;

/** Asks for so many turns at once, and counts those that have come. */
function asked(count: number, rate = { perSecond: 10, burst: 3 }) {
  const clock = createManualClock();
  const turn = createTurns(rate, clock);
  const order: number[] = [];
  for (let each = 0; each < count; each++) void turn(forEver).then(() => order.push(each));
  const elapse = async (ms: number): Promise<number> => {
    clock.advance(ms);
    await Promise.resolve();
    await Promise.resolve();
    return order.length;
  };
  return { clock, turn, order, elapse };
}

describe("the turns of a cluster", () => {
  it("are as many as its burst at once, and then as many as its rate", async () => {
    const { elapse, order } = asked(8);
    expect(await elapse(0)).toBe(3);
    expect(await elapse(99)).toBe(3);
    expect(await elapse(1)).toBe(4);
    expect(await elapse(200)).toBe(6);
    expect(await elapse(10_000)).toBe(8);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it("are saved up in quiet times, and never more than the burst", async () => {
    const { elapse, clock, turn } = asked(3);
    expect(await elapse(60_000)).toBe(3);
    let passed = 0;
    for (let each = 0; each < 10; each++) void turn(forEver).then(() => (passed += 1));
    await Promise.resolve();
    await Promise.resolve();
    expect(passed).toBe(3);
    expect(clock.pending).toBe(1);
  });

  it("go to the next when one gives up waiting", async () => {
    const { elapse, turn, clock } = asked(3);
    expect(await elapse(0)).toBe(3);
    const gaveUp = new AbortController();
    const first = turn(gaveUp.signal);
    let isSecond = false;
    void turn(forEver).then(() => (isSecond = true));
    gaveUp.abort(new Error("no longer wanted"));
    await expect(first).rejects.toThrow("no longer wanted");
    await elapse(100);
    expect(isSecond).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it("leave no timer behind when all give up", async () => {
    const { elapse, turn, clock } = asked(3);
    await elapse(0);
    const gaveUp = new AbortController();
    const waits = [turn(gaveUp.signal), turn(gaveUp.signal)];
    gaveUp.abort(new Error("no longer wanted"));
    await Promise.allSettled(waits);
    expect(clock.pending).toBe(0);
    await expect(turn(gaveUp.signal)).rejects.toThrow("no longer wanted");
  });

  it("are not lost when the clock is set back", async () => {
    const clock = createManualClock();
    let shiftMs = 0;
    const turn = createTurns({ perSecond: 10, burst: 1 }, { ...clock, now: () => clock.now() + shiftMs });
    await turn(forEver);
    shiftMs = -3_600_000;
    let passed = false;
    void turn(forEver).then(() => (passed = true));
    clock.advance(100);
    await Promise.resolve();
    await Promise.resolve();
    expect(passed).toBe(true);
  });
});
