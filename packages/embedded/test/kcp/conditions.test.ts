import { describe, expect, it } from "vitest";
import { conditionsOf } from "../../src/kcp/conditions.ts";

const why = { reason: "Waiting", severity: "Info", message: "not yet" } as const;

describe("conditions of kcp's kinds", () => {
  it("come with Ready first and the others by name", () => {
    const conditions = conditionsOf([], 0);
    conditions.markTrue("B");
    conditions.markTrue("A");
    conditions.summarize("B");
    expect(conditions.list().map(({ type }) => type)).toEqual(["Ready", "A", "B"]);
  });

  it("keep their time while they say the same", () => {
    const first = conditionsOf([], 1_000);
    first.markFalse("A", why);
    const second = conditionsOf(first.list(), 9_000);
    second.markFalse("A", why);
    expect(second.list()).toEqual(first.list());
    second.markTrue("A");
    expect(second.list()).toEqual([{ type: "A", status: "True", lastTransitionTime: "1970-01-01T00:00:09Z" }]);
  });

  it("let Ready say what the summarized one says", () => {
    const conditions = conditionsOf([], 0);
    conditions.markFalse("A", why);
    conditions.summarize("A");
    expect(conditions.list()[0]).toMatchObject({ type: "Ready", status: "False", ...why });
  });
});
