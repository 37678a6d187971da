import { describe, expect, test } from "vitest";
import { type CostInput, estimateCost, totalDollars } from "../../../../lib/cli/queue/cost-model.ts";

const input = (more: Partial<CostInput> = {}): CostInput => ({
  clusters: 1_000,
  eventsPerSecond: 1,
  heartbeatSeconds: 60,
  secrets: 0,
  ...more,
});

/**
 * The published table in dollars per month, rounded. Part of the model was fitted to it, so this test only keeps the two consistent; it is
 * no evidence for either.
 */
const rows: readonly Readonly<{
  given: Partial<CostInput>;
  heartbeat: number;
  reconcile: number;
  rest: number;
  total: number;
}>[] = [
  { given: { clusters: 10 }, heartbeat: 0.4, reconcile: 10, rest: 15, total: 47 },
  { given: {}, heartbeat: 7, reconcile: 10, rest: 17, total: 56 },
  { given: { heartbeatSeconds: 30, eventsPerSecond: 10 }, heartbeat: 14, reconcile: 43, rest: 22, total: 100 },
  { given: { clusters: 10_000 }, heartbeat: 68, reconcile: 10, rest: 37, total: 136 },
  { given: { clusters: 10_000, eventsPerSecond: 10 }, heartbeat: 68, reconcile: 43, rest: 41, total: 172 },
  {
    given: { clusters: 10_000, eventsPerSecond: 100, heartbeatSeconds: 30 },
    heartbeat: 134,
    reconcile: 323,
    rest: 96,
    total: 574,
  },
  { given: { clusters: 10_000, clustersPerMessage: 1 }, heartbeat: 974, reconcile: 10, rest: 460, total: 1466 },
];

const dollarsOf = (given: Partial<CostInput>, ...names: string[]): number =>
  totalDollars(estimateCost(input(given)).parts.filter(({ name }) => names.includes(name)));

describe("cost model", () => {
  test.each(rows)("estimateCost of $given is $total dollars", ({ given, heartbeat, reconcile, rest, total }) => {
    const round = (dollars: number) => (dollars < 1 ? Math.round(dollars * 10) / 10 : Math.round(dollars));
    expect({
      heartbeat: round(dollarsOf(given, "heartbeat")),
      reconcile: round(dollarsOf(given, "reconcile")),
      relays: round(dollarsOf(given, "relays")),
      rest: round(dollarsOf(given, "resync", "idle polls", "logs", "metrics")),
    }).toEqual({ heartbeat, reconcile, relays: 21, rest });
    // The rounded cells of the table add up to its totals only within a dollar.
    expect(Math.abs(estimateCost(input(given)).dollars - total)).toBeLessThan(1);
  });

  test.each([
    [10, 4],
    [1_000, 400],
    [10_000, 4_000],
  ])("estimateCost of %i secrets is %i dollars", (secrets, dollars) => {
    expect(dollarsOf({ secrets }, "secrets")).toBeCloseTo(dollars);
  });

  test.each([
    [1_000, [36, 34]],
    [10_000, [64, 34]],
  ])("estimateCost of a permanent controller for %i clusters is the cost of two replicas", (clusters, dollars) => {
    expect(estimateCost(input({ clusters })).alwaysOn.map((part) => Math.round(part.dollars))).toEqual(dollars);
  });

  test("estimateCost counts workloads in each resync like clusters", () => {
    expect(dollarsOf({ clusters: 10, workloads: 990 }, "resync")).toBeCloseTo(dollarsOf({ clusters: 1_000 }, "resync"));
  });

  test("estimateCost of an idle deployment contains only relays, polls, logs and metrics", () => {
    const { parts } = estimateCost(input({ clusters: 0, eventsPerSecond: 0 }));
    expect(parts.filter(({ dollars }) => dollars > 0).map(({ name }) => name)).toEqual([
      "relays",
      "idle polls",
      "logs",
      "metrics",
    ]);
    expect(parts.every(({ calls, dollars }) => Number.isFinite(calls) && Number.isFinite(dollars))).toBe(true);
  });
});
