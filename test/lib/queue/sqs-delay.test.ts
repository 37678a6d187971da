import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Reason, reasons } from "../../../lib/model/work-item.ts";
import { longestDelaySeconds, planWait, type Wait } from "../../../lib/queue/sqs-delay.ts";

const atMs = Date.parse("2026-01-01T00:00:00Z");

const cases: Record<string, Readonly<{ reason: Reason; after: number; wait: Partial<Wait> }>> = {
  "no wait": { reason: "resync", after: 0, wait: { delaySeconds: 0 } },
  "a time that has passed": { reason: "resync", after: -5, wait: { delaySeconds: 0 } },
  "a conflict's retry goes at once": { reason: "retry", after: 0.1, wait: { delaySeconds: 0 } },
  "a longer spread is a second": { reason: "retry", after: 0.6, wait: { delaySeconds: 1, dueSecond: undefined } },
  "a look after a moment is not too early": { reason: "requeue", after: 0.1, wait: { delaySeconds: 1 } },
  "part of a second counts whole": { reason: "resync", after: 2.1, wait: { delaySeconds: 3, restSeconds: 0 } },
  "the longest that the queue holds": { reason: "resync", after: 900, wait: { delaySeconds: 900, restSeconds: 0 } },
  "a longer one hops": { reason: "resync", after: 2000.5, wait: { delaySeconds: 900, restSeconds: 1101 } },
  "what was sent by others is never one": { reason: "resync", after: 60, wait: { dueSecond: undefined } },
  "looks for the same second are one": { reason: "requeue", after: 60, wait: { dueSecond: atMs / 1000 + 60 } },
  "so are retries": { reason: "retry", after: 29.7, wait: { delaySeconds: 30, dueSecond: atMs / 1000 + 30 } },
};

describe("the wait of a message", () => {
  test.each(Object.entries(cases))("%s", (_, { reason, after, wait }) => {
    expect(planWait({ reason }, after, atMs)).toMatchObject(wait);
  });

  test("it is never early, and late by a sixteenth and two seconds at most", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...reasons),
        fc.double({ min: 1, max: 100_000, noNaN: true }),
        fc.integer({ min: atMs, max: atMs + 1_000_000 }),
        (reason, after, nowMs) => {
          const { delaySeconds, restSeconds } = planWait({ reason }, after, nowMs);
          expect(Number.isInteger(delaySeconds) && delaySeconds <= longestDelaySeconds).toBe(true);
          expect(delaySeconds + restSeconds).toBeGreaterThanOrEqual(after - 1e-6);
          expect(delaySeconds + restSeconds).toBeLessThanOrEqual(after * (1 + 1 / 16) + 2);
        },
      ),
    );
  });

  test("a key that is looked at every minute gathers no more than a few chains, however often it changes", () => {
    const due = new Set<number | undefined>();
    for (let second = 0; second < 60; second++) {
      due.add(planWait({ reason: "requeue" }, 300, atMs + second * 1000).dueSecond);
    }
    expect(due.size).toBeLessThanOrEqual(5);
  });
});
