import { describe, expect, test } from "vitest";
import { createByteBudget, mayTake } from "../../src/transport/byte-budget.ts";

const never = new AbortController().signal;

test.each([
  { what: "bytes that fit", usedBytes: 60, moreBytes: 40, isOldest: false, may: true },
  { what: "bytes that do not fit", usedBytes: 60, moreBytes: 41, isOldest: false, may: false },
  { what: "bytes of the oldest response that do not fit", usedBytes: 60, moreBytes: 41, isOldest: true, may: true },
  { what: "fewer bytes than before over a used budget", usedBytes: 120, moreBytes: -1, isOldest: false, may: true },
])("a response may take $what: $may", ({ may, ...facts }) => {
  expect(mayTake({ ...facts, maxBytes: 100 })).toBe(may);
});

describe("a budget of 100 bytes", () => {
  test("lets a response wait until others have ended", async () => {
    const budget = createByteBudget(100);
    const [first, second] = [budget.open(), budget.open()];
    expect(first.take(80, never)).toBeUndefined();
    const waiting = second.take(30, never);
    expect(waiting).toBeInstanceOf(Promise);
    expect(budget.usedBytes).toBe(80);
    first.end();
    await waiting;
    expect(budget.usedBytes).toBe(30);
    second.end();
    expect(budget.usedBytes).toBe(0);
  });

  test("always reads the oldest response, so that two large ones do not wait for each other", async () => {
    const budget = createByteBudget(100);
    const [first, second] = [budget.open(), budget.open()];
    expect(first.take(60, never)).toBeUndefined();
    expect(second.take(40, never)).toBeUndefined();
    const waiting = second.take(90, never);
    expect(first.take(120, never)).toBeUndefined();
    first.end();
    await waiting;
    expect(budget.usedBytes).toBe(90);
  });

  test("forgets a response that gave up waiting", async () => {
    const budget = createByteBudget(100);
    const [first, second, third] = [budget.open(), budget.open(), budget.open()];
    expect(first.take(90, never)).toBeUndefined();
    const abort = new AbortController();
    const waiting = second.take(50, abort.signal);
    abort.abort(new Error("no time left"));
    await expect(waiting).rejects.toThrow("no time left");
    second.end();
    expect(third.take(10, never)).toBeUndefined();
    first.end();
    expect(budget.usedBytes).toBe(10);
  });

  test("refuses a stream what it does not have, and does not wait for the stream", () => {
    const budget = createByteBudget(100);
    const [stream, response] = [budget.open(), budget.open()];
    expect(stream.tryTake(70)).toBe(true);
    expect(stream.tryTake(101)).toBe(false);
    expect(budget.usedBytes).toBe(70);
    expect(response.take(50, never)).toBeUndefined();
    expect(stream.tryTake(71)).toBe(false);
    expect(stream.tryTake(0)).toBe(true);
    expect(budget.usedBytes).toBe(50);
  });
});
