import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type WorkReason, workReasons } from "../../../lib/model/work-item.ts";
import { type DelayPlan, maxSqsDelaySeconds, planDelay } from "../../../lib/queue/sqs-delay.ts";

const atMs = Date.parse("2026-01-01T00:00:00Z");

const cases: Record<string, Readonly<{ reason: WorkReason; after: number; plan: Partial<DelayPlan> }>> = {
  "sends a message without a delay now": { reason: "resync", after: 0, plan: { delaySeconds: 0 } },
  "sends a message with a negative delay now": { reason: "resync", after: -5, plan: { delaySeconds: 0 } },
  "sends a retry of less than half a second now": { reason: "retry", after: 0.1, plan: { delaySeconds: 0 } },
  "rounds a longer retry up to a second": {
    reason: "retry",
    after: 0.6,
    plan: { delaySeconds: 1, dueSecond: undefined },
  },
  "rounds a short requeue up to a second": { reason: "requeue", after: 0.1, plan: { delaySeconds: 1 } },
  "rounds fractions of a second up": { reason: "resync", after: 2.1, plan: { delaySeconds: 3, remainingSeconds: 0 } },
  "has no remaining delay at the limit of SQS": {
    reason: "resync",
    after: 900,
    plan: { delaySeconds: 900, remainingSeconds: 0 },
  },
  "splits a delay above the limit of SQS": {
    reason: "resync",
    after: 2000.5,
    plan: { delaySeconds: 900, remainingSeconds: 1101 },
  },
  "does not align the delays of other senders": { reason: "resync", after: 60, plan: { dueSecond: undefined } },
  "aligns requeues to a common second": { reason: "requeue", after: 60, plan: { dueSecond: atMs / 1000 + 60 } },
  "aligns retries to a common second": {
    reason: "retry",
    after: 29.7,
    plan: { delaySeconds: 30, dueSecond: atMs / 1000 + 30 },
  },
};

describe("the delay plan", () => {
  test.each(Object.entries(cases))("%s", (_, { reason, after, plan }) => {
    expect(planDelay({ reason }, after, atMs)).toMatchObject(plan);
  });

  test("is never early, and late by at most a sixteenth and two seconds", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...workReasons),
        fc.double({ min: 1, max: 100_000, noNaN: true }),
        fc.integer({ min: atMs, max: atMs + 1_000_000 }),
        (reason, after, nowMs) => {
          const { delaySeconds, remainingSeconds } = planDelay({ reason }, after, nowMs);
          expect(Number.isInteger(delaySeconds) && delaySeconds <= maxSqsDelaySeconds).toBe(true);
          expect(delaySeconds + remainingSeconds).toBeGreaterThanOrEqual(after - 1e-6);
          expect(delaySeconds + remainingSeconds).toBeLessThanOrEqual(after * (1 + 1 / 16) + 2);
        },
      ),
    );
  });

  test("gives the requeues of a key that changes every second only a few due times", () => {
    const due = new Set<number | undefined>();
    for (let second = 0; second < 60; second++) {
      due.add(planDelay({ reason: "requeue" }, 300, atMs + second * 1000).dueSecond);
    }
    expect(due.size).toBeLessThanOrEqual(5);
  });
});
