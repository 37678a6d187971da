import { expect, test } from "vitest";
import { withCondition, withReasonsAlone } from "../../../lib/model/condition.ts";

const now = "2026-01-01T00:00:00Z";

test("the message of a condition is shortened to 1,024 characters", () => {
  const [condition] = withCondition(
    [],
    { type: "Ready", status: "False", reason: "Any", message: "x".repeat(200_000) },
    now,
  );
  expect(condition?.message).toHaveLength(1_024);
  expect(condition?.message.endsWith("…")).toBe(true);
});

test("a long message that is decided again is no change", () => {
  const decided = { type: "Ready", status: "False", reason: "Any", message: "x".repeat(5_000) } as const;
  const once = withCondition([], decided, now);
  expect(withCondition(once, decided, "2026-01-02T00:00:00Z")).toBe(once);
});

test("a rejected status keeps the stored fields, and the status and reason of its conditions", () => {
  const condition = { type: "Ready", status: "False", reason: "CredentialsInvalid", lastTransitionTime: now } as const;
  const rejected = { conditions: [{ ...condition, message: "x".repeat(9) }], nodes: { total: -1 } };
  expect(withReasonsAlone({ nodes: { total: 3 }, conditions: [] }, rejected)).toEqual({
    nodes: { total: 3 },
    conditions: [{ ...condition, message: "the API server rejected the details of this status" }],
  });
  expect(withReasonsAlone(undefined, { nodes: 1 })).toBeUndefined();
});
