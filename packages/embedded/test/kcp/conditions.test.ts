import { describe, expect, it } from "vitest";
import { kcpConditionsOf } from "../../src/kcp/conditions.ts";

const why = { reason: "Waiting", severity: "Info", message: "not yet" } as const;

describe("conditions of kcp's kinds", () => {
  it("are sorted by name after Ready", () => {
    const conditions = kcpConditionsOf([], 0);
    conditions.markTrue("B");
    conditions.markTrue("A");
    conditions.summarize("B");
    expect(conditions.list().map(({ type }) => type)).toEqual(["Ready", "A", "B"]);
  });

  it("keep their transition time while they are unchanged", () => {
    const first = kcpConditionsOf([], 1_000);
    first.markFalse("A", why);
    const second = kcpConditionsOf(first.list(), 9_000);
    second.markFalse("A", why);
    expect(second.list()).toEqual(first.list());
    second.markTrue("A");
    expect(second.list()).toEqual([{ type: "A", status: "True", lastTransitionTime: "1970-01-01T00:00:09Z" }]);
  });

  it("copy the summarized condition to Ready", () => {
    const conditions = kcpConditionsOf([], 0);
    conditions.markFalse("A", why);
    conditions.summarize("A");
    expect(conditions.list()[0]).toMatchObject({ type: "Ready", status: "False", ...why });
  });
});
