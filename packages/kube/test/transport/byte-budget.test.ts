import { describe, expect, test } from "vitest";
import { createByteBudget, mayHold } from "../../src/transport/byte-budget.ts";

const never = new AbortController().signal;

test.each([
  { what: "bytes that fit", heldBytes: 60, moreBytes: 40, isOldest: false, may: true },
  { what: "bytes that do not fit", heldBytes: 60, moreBytes: 41, isOldest: false, may: false },
  { what: "bytes of the oldest response that do not fit", heldBytes: 60, moreBytes: 41, isOldest: true, may: true },
  { what: "fewer bytes than before over a used budget", heldBytes: 120, moreBytes: -1, isOldest: false, may: true },
])("a response may hold $what: $may", ({ may, ...facts }) => {
  expect(mayHold({ ...facts, maxBytes: 100 })).toBe(may);
});

describe("a budget of 100 bytes", () => {
  test("lets a response wait until others have ended", async () => {
    const budget = createByteBudget(100);
    const [first, second] = [budget.open(), budget.open()];
    expect(first.hold(80, never)).toBeUndefined();
    const waiting = second.hold(30, never);
    expect(waiting).toBeInstanceOf(Promise);
    expect(budget.heldBytes).toBe(80);
    first.end();
    await waiting;
    expect(budget.heldBytes).toBe(30);
    second.end();
    expect(budget.heldBytes).toBe(0);
  });

  test("always reads the oldest response, so that two large ones do not wait for each other", async () => {
    const budget = createByteBudget(100);
    const [first, second] = [budget.open(), budget.open()];
    expect(first.hold(60, never)).toBeUndefined();
    expect(second.hold(40, never)).toBeUndefined();
    const waiting = second.hold(90, never);
    expect(first.hold(120, never)).toBeUndefined();
    first.end();
    await waiting;
    expect(budget.heldBytes).toBe(90);
  });

  test("forgets a response that gave up waiting", async () => {
    const budget = createByteBudget(100);
    const [first, second, third] = [budget.open(), budget.open(), budget.open()];
    expect(first.hold(90, never)).toBeUndefined();
    const abort = new AbortController();
    const waiting = second.hold(50, abort.signal);
    abort.abort(new Error("no time left"));
    await expect(waiting).rejects.toThrow("no time left");
    second.end();
    expect(third.hold(10, never)).toBeUndefined();
    first.end();
    expect(budget.heldBytes).toBe(10);
  });

  test("refuses a stream what it does not have, and does not wait for the stream", () => {
    const budget = createByteBudget(100);
    const [stream, response] = [budget.open(), budget.open()];
    expect(stream.tryHold(70)).toBe(true);
    expect(stream.tryHold(101)).toBe(false);
    expect(budget.heldBytes).toBe(70);
    expect(response.hold(50, never)).toBeUndefined();
    expect(stream.tryHold(71)).toBe(false);
    expect(stream.tryHold(0)).toBe(true);
    expect(budget.heldBytes).toBe(50);
  });
});
