import { describe, expect, test } from "vitest";
import { planProportional, planRollingStep, type SetSize } from "../../../src/kubernetes/workloads/rollout.ts";

const set = (name: string, replicas: number, available = replicas): SetSize => ({ name, replicas, available });
type Row = {
  bounds: [desired: number, maxSurge: number, maxUnavailable: number];
  current: SetSize;
  old: SetSize[];
  plan: Record<string, number>;
};

const rows: Record<string, Row> = {
  "grows the new set by the surge": {
    bounds: [3, 1, 0],
    current: set("new", 0),
    old: [set("old", 3)],
    plan: { new: 1 },
  },
  "takes an old pod away once a new one serves": {
    bounds: [3, 1, 0],
    current: set("new", 1),
    old: [set("old", 3)],
    plan: { old: 2 },
  },
  "waits while the new pod does not serve": {
    bounds: [3, 1, 0],
    current: set("new", 1, 0),
    old: [set("old", 3)],
    plan: {},
  },
  "takes old pods that do not serve away first": {
    bounds: [3, 1, 1],
    current: set("new", 1, 0),
    old: [set("broken", 2, 0), set("old", 2)],
    plan: { broken: 0 },
  },
  "may take pods away at once where some may be missing": {
    bounds: [4, 0, 2],
    current: set("new", 0),
    old: [set("old", 4)],
    plan: { old: 2 },
  },
  "takes from the oldest set first": {
    bounds: [4, 1, 1],
    current: set("new", 2),
    old: [set("oldest", 1), set("older", 2)],
    plan: { oldest: 0, older: 1 },
  },
  "shrinks a new set that is too large": { bounds: [2, 1, 0], current: set("new", 5), old: [], plan: { new: 2 } },
  "asks for nothing when all is done": { bounds: [3, 1, 1], current: set("new", 3), old: [set("old", 0)], plan: {} },
};

describe("one step of a rolling update", () => {
  test.each(Object.entries(rows))("%s", (_, { bounds: [desired, maxSurge, maxUnavailable], current, old, plan }) => {
    expect(Object.fromEntries(planRollingStep({ desired, maxSurge, maxUnavailable }, current, old))).toEqual(plan);
  });

  test("never exceeds maxSurge or maxUnavailable, and finishes", () => {
    for (const [desired, maxSurge, maxUnavailable] of [
      [3, 1, 0],
      [10, 3, 2],
      [1, 1, 0],
      [4, 0, 1],
      [7, 2, 7],
    ] as const) {
      let sizes: { new: number; old: number } = { new: 0, old: desired };
      for (let step = 0; step < 40; step += 1) {
        const plan = planRollingStep({ desired, maxSurge, maxUnavailable }, set("new", sizes.new), [
          set("old", sizes.old),
        ]);
        sizes = { new: plan.get("new") ?? sizes.new, old: plan.get("old") ?? sizes.old };
        expect(sizes.new + sizes.old).toBeLessThanOrEqual(desired + maxSurge);
        expect(sizes.new + sizes.old).toBeGreaterThanOrEqual(desired - maxUnavailable);
      }
      expect(sizes).toEqual({ new: desired, old: 0 });
    }
  });
});

describe("scaling during a rollout", () => {
  const sized = (name: string, replicas: number, maxReplicas: number) => ({ ...set(name, replicas), maxReplicas });
  test.each([
    ["grows in proportion", { desired: 20, maxSurge: 2, maxUnavailable: 0 }, [8, 4], 12, { new: 15, old: 7 }],
    ["shrinks in proportion", { desired: 5, maxSurge: 1, maxUnavailable: 0 }, [8, 4], 12, { new: 4, old: 2 }],
    ["goes to nothing", { desired: 0, maxSurge: 0, maxUnavailable: 0 }, [8, 4], 12, { new: 0, old: 0 }],
  ] as const)("%s", (_, bounds, [current, old], max, expected) => {
    const plan = planProportional(bounds, [sized("new", current, max), sized("old", old, max)]);
    expect(Object.fromEntries(plan)).toEqual(expected);
  });
});
