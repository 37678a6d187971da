import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, it } from "vitest";
import { createRateLimiter } from "../../../lib/downstream/rate-limit.ts";

const neverAborted = new AbortController().signal;

/** Requests `count` tokens at once, and counts those that were granted. */
function withRequested(count: number, rate = { perSecond: 10, burst: 3 }) {
  const clock = createManualClock();
  const acquire = createRateLimiter(rate, clock);
  const order: number[] = [];
  for (let each = 0; each < count; each++) void acquire(neverAborted).then(() => order.push(each));
  const elapse = async (ms: number): Promise<number> => {
    clock.advance(ms);
    await Promise.resolve();
    await Promise.resolve();
    return order.length;
  };
  return { clock, acquire, order, elapse };
}

describe("the tokens of a rate limiter", () => {
  it("are granted up to the burst at once, and then at the rate", async () => {
    const { elapse, order } = withRequested(8);
    expect(await elapse(0)).toBe(3);
    expect(await elapse(99)).toBe(3);
    expect(await elapse(1)).toBe(4);
    expect(await elapse(200)).toBe(6);
    expect(await elapse(10_000)).toBe(8);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it("accumulate while idle, but never above the burst", async () => {
    const { elapse, clock, acquire } = withRequested(3);
    expect(await elapse(60_000)).toBe(3);
    let passed = 0;
    for (let each = 0; each < 10; each++) void acquire(neverAborted).then(() => (passed += 1));
    await Promise.resolve();
    await Promise.resolve();
    expect(passed).toBe(3);
    expect(clock.pending).toBe(1);
  });

  it("go to the next caller when one cancels its wait", async () => {
    const { elapse, acquire, clock } = withRequested(3);
    expect(await elapse(0)).toBe(3);
    const canceled = new AbortController();
    const first = acquire(canceled.signal);
    let isSecond = false;
    void acquire(neverAborted).then(() => (isSecond = true));
    canceled.abort(new Error("canceled by the caller"));
    await expect(first).rejects.toThrow("canceled by the caller");
    await elapse(100);
    expect(isSecond).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it("leave no timer behind when all callers cancel", async () => {
    const { elapse, acquire, clock } = withRequested(3);
    await elapse(0);
    const canceled = new AbortController();
    const waits = [acquire(canceled.signal), acquire(canceled.signal)];
    canceled.abort(new Error("canceled by the caller"));
    await Promise.allSettled(waits);
    expect(clock.pending).toBe(0);
    await expect(acquire(canceled.signal)).rejects.toThrow("canceled by the caller");
  });

  it("are still granted after the clock was set back", async () => {
    const clock = createManualClock();
    const acquire = createRateLimiter({ perSecond: 10, burst: 1 }, clock);
    await acquire(neverAborted);
    clock.setBack(3_600_000);
    let passed = false;
    void acquire(neverAborted).then(() => (passed = true));
    clock.advance(100);
    await Promise.resolve();
    await Promise.resolve();
    expect(passed).toBe(true);
  });
});
