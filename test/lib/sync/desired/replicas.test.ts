import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { desiredShares, type ReplicaRule, type Shares, sumReplicas } from "../../../../lib/sync/desired/replicas.ts";

import { aTargetCluster } from "../a-target-cluster.ts";

const names = ["a", "b", "c", "d", "e", "f"] as const;
const someClusters = (size: number) => names.slice(0, size).map((name) => aTargetCluster(name));
const noReplicas: ReadonlyMap<string, number> = new Map();

type Row = Readonly<{
  rule?: ReplicaRule;
  total: number;
  /** The milli-CPU of the clusters a, b, …; undefined where it is not known. */
  clusters: readonly (number | undefined)[];
  current?: Readonly<Record<string, number>>;
  shares: readonly number[];
  unplaced?: number;
  message?: string;
}>;

const x = undefined;
const divided: ReplicaRule = { mode: "Divided" };
const byCapacity: ReplicaRule = { mode: "Divided", divideBy: "Capacity" };
const weights = (...list: readonly number[]): ReplicaRule => ({
  mode: "Divided",
  clusters: list.map((weight, index) => ({ name: names[index] ?? "", weight })),
});

const rows: Readonly<Record<string, Row>> = {
  "gives every cluster all replicas without a rule": { total: 3, clusters: [x, x], shares: [3, 3] },
  "gives every cluster all replicas in mode Duplicated": {
    rule: { mode: "Duplicated" },
    total: 3,
    clusters: [x],
    shares: [3],
  },
  "applies max in mode Duplicated": {
    rule: { clusters: [{ name: "b", max: 2 }] },
    total: 5,
    clusters: [x, x],
    shares: [5, 2],
    unplaced: 3,
    message: "max allows fewer than 5 replicas on b",
  },
  "does not raise replicas to min in mode Duplicated": { rule: { min: 4 }, total: 2, clusters: [x, x], shares: [2, 2] },
  "divides equally without weights": { rule: divided, total: 6, clusters: [x, x, x], shares: [2, 2, 2] },
  "gives the remainder to the first clusters by name": {
    rule: divided,
    total: 8,
    clusters: [x, x, x],
    shares: [3, 3, 2],
  },
  "divides by weights": { rule: weights(3, 1), total: 8, clusters: [x, x], shares: [6, 2] },
  "gives the remainder to the largest fraction": { rule: weights(3, 1), total: 7, clusters: [x, x], shares: [5, 2] },
  "gives a cluster without an entry the weight 1": { rule: weights(2), total: 6, clusters: [x, x], shares: [4, 2] },
  "ignores the entry of a cluster that is not selected": {
    rule: weights(1, 1, 8),
    total: 4,
    clusters: [x, x],
    shares: [2, 2],
  },
  "gives a cluster of weight 0 only its min": {
    rule: { ...weights(1, 0), min: 1 },
    total: 5,
    clusters: [x, x],
    shares: [4, 1],
  },
  "places nothing if all weights are 0": {
    rule: weights(0, 0),
    total: 2,
    clusters: [x, x],
    shares: [0, 0],
    unplaced: 2,
    message: "2 of 2 replicas are not placed: every cluster is at its max or has weight 0",
  },
  "divides by CPU capacity": { rule: byCapacity, total: 6, clusters: [4000, 8000], shares: [2, 4] },
  "assumes the median capacity for a cluster of unknown capacity": {
    rule: byCapacity,
    total: 15,
    clusters: [2000, x, 8000],
    shares: [2, 5, 8],
  },
  "divides equally among clusters of unknown capacity": {
    rule: byCapacity,
    total: 4,
    clusters: [x, x],
    shares: [2, 2],
  },
  "divides equally among clusters without capacity": { rule: byCapacity, total: 4, clusters: [0, 0], shares: [2, 2] },
  "gives a cluster without capacity nothing if another has some": {
    rule: byCapacity,
    total: 4,
    clusters: [0, 1000],
    shares: [0, 4],
  },
  "raises clusters to min at the expense of larger shares": {
    rule: { ...weights(10, 1, 1), min: 2 },
    total: 12,
    clusters: [x, x, x],
    shares: [8, 2, 2],
  },
  "gives replicas above max to the other clusters": {
    rule: { ...weights(10, 1, 1), max: 4 },
    total: 12,
    clusters: [x, x, x],
    shares: [4, 4, 4],
  },
  "prefers the min and max of a cluster over the common ones": {
    rule: { mode: "Divided", min: 1, max: 3, clusters: [{ name: "b", min: 0, max: 9 }] },
    total: 9,
    clusters: [x, x],
    shares: [3, 6],
  },
  "reports replicas that are not placed because of max": {
    rule: { mode: "Divided", max: 2 },
    total: 7,
    clusters: [x, x],
    shares: [2, 2],
    unplaced: 3,
    message: "3 of 7 replicas are not placed: every cluster is at its max or has weight 0",
  },
  "satisfies min by name if there are too few replicas, and reports it": {
    rule: { mode: "Divided", min: 2 },
    total: 3,
    clusters: [x, x, x],
    shares: [2, 1, 0],
    message: "3 replicas are too few for the min of b, c",
  },
  "reports a min above the total": {
    rule: { mode: "Divided", min: 2 },
    total: 1,
    clusters: [x],
    shares: [1],
    message: "1 replica is too few for the min of a",
  },
  "places nothing for a total of zero, whatever the min": {
    rule: { mode: "Divided", min: 2 },
    total: 0,
    clusters: [x, x],
    shares: [0, 0],
  },
  "applies max if min is above it, and reports it": {
    rule: { mode: "Divided", min: 3, max: 2 },
    total: 4,
    clusters: [x, x],
    shares: [2, 2],
    message: "min is above max on a, b: max applies",
  },
  "reports that nothing is placed without a cluster": {
    rule: divided,
    total: 2,
    clusters: [],
    shares: [],
    unplaced: 2,
    message: "the placement selects no cluster",
  },
  "reports nothing for a total of zero without a cluster": { rule: divided, total: 0, clusters: [], shares: [] },
  "leaves the remainder where it is": {
    rule: divided,
    total: 5,
    clusters: [x, x],
    current: { a: 2, b: 3 },
    shares: [2, 3],
  },
  "adds one replica without moving others": {
    rule: weights(6, 6, 2),
    total: 11,
    clusters: [x, x, x],
    current: { a: 4, b: 4, c: 2 },
    shares: [5, 4, 2],
  },
  "moves nothing after a small change of capacity": {
    rule: byCapacity,
    total: 5,
    clusters: [8000, 8100],
    current: { a: 3, b: 2 },
    shares: [3, 2],
  },
  "moves only its share to a new cluster": {
    rule: divided,
    total: 10,
    clusters: [x, x, x],
    current: { a: 5, b: 5 },
    shares: [4, 3, 3],
  },
};

describe("desiredShares", () => {
  test.each(Object.entries(rows))("%s", (_, { rule, total, clusters, current = {}, shares, unplaced = 0, message }) => {
    const fleet = clusters.map((milliCpu, index) => aTargetCluster(names[index] ?? "", { milliCpu }));
    const answer = desiredShares({ rule, total, targetClusters: fleet, current: new Map(Object.entries(current)) });
    expect([...answer.shares.values()]).toEqual(shares);
    expect(answer.unplaced).toBe(unplaced);
    expect(answer.message).toBe(message);
  });

  test("names at most five clusters in the message about replicas", () => {
    const clusters = Array.from({ length: 9 }, (_, index) => aTargetCluster(`c${index}`));
    const { message } = desiredShares({
      rule: { mode: "Divided", min: 1 },
      total: 1,
      targetClusters: clusters,
      current: noReplicas,
    });
    expect(message).toBe("1 replica is too few for the min of c1, c2, c3, c4, c5 and 3 more");
  });
});

/** Whether no cluster has less than one of lower weight, or of the same weight and a later name. */
function isByWeightAndName(mix: readonly number[], given: readonly number[]): boolean {
  const inOrder = mix.map((weight, at) => ({ weight, share: given[at] ?? 0 })).toSorted((a, b) => b.weight - a.weight);
  return inOrder.every(({ share }, at) => at === 0 || share <= (inOrder[at - 1]?.share ?? 0));
}

/** All lists of a length over some values. */
function lists<T>(length: number, values: readonly T[]): readonly (readonly T[])[] {
  if (length === 0) return [[]];
  return lists(length - 1, values).flatMap((list) => values.map((value) => [...list, value]));
}

describe("division for all totals up to 50, one to six clusters and all weights", () => {
  const bounds: readonly Readonly<{ min: number; max: number }>[] = [
    { min: 0, max: Number.POSITIVE_INFINITY },
    { min: 1, max: 12 },
    { min: 2, max: 7 },
  ];
  const cases = bounds.flatMap(({ min, max }) => [1, 2, 3, 4, 5, 6].map((size) => ({ min, max, size })));

  test.each(cases)(
    "divides exactly, within bounds and by weight with min $min, max $max and $size clusters",
    ({ min, max, size }) => {
      const clusters = someClusters(size);
      const wrong: string[] = [];
      for (const mix of lists(size, [1, 2, 5])) {
        const rule: ReplicaRule = { ...weights(...mix), min, ...(Number.isFinite(max) ? { max } : {}) };
        for (let total = 0; total <= 50; total += 1) {
          const { shares, unplaced } = desiredShares({ rule, total, targetClusters: clusters, current: noReplicas });
          const given = [...shares.values()];
          const isExact = sumReplicas(given) + unplaced === total && unplaced === Math.max(0, total - size * max);
          const isWithin = given.every((share) => share <= max && (total < size * min || share >= min));
          const again = desiredShares({ rule, total, targetClusters: clusters.toReversed(), current: noReplicas });
          const isSame = [...shares].join() === [...again.shares].join();
          const isFair = total < size * min || isByWeightAndName(mix, given);
          if (!isExact || !isWithin || !isSame || !isFair) wrong.push(`${mix.join(":")} of ${total}: ${given.join()}`);
        }
      }
      expect(wrong).toEqual([]);
    },
  );
});

const limits = fc.record({
  weight: fc.nat({ max: 6 }),
  min: fc.nat({ max: 4 }),
  room: fc.nat({ max: 8 }),
  has: fc.nat({ max: 12 }),
});
const fleets = fc.array(limits, { minLength: 1, maxLength: 5 });

function ruleOf(fleet: readonly Readonly<{ weight: number; min: number; room: number }>[]): ReplicaRule {
  return {
    mode: "Divided",
    clusters: fleet.map(({ weight, min, room }, index) => ({ name: names[index] ?? "", weight, min, max: min + room })),
  };
}

const currentOf = (fleet: readonly Readonly<{ has: number }>[]) =>
  new Map(fleet.map(({ has }, index) => [names[index] ?? "", has]));

describe("laws of division", () => {
  test("the sum of all shares is exact, and every share is within min and max", () => {
    fc.assert(
      fc.property(fleets, fc.nat({ max: 40 }), (fleet, total) => {
        const { shares, unplaced } = divide(fleet, total);
        const most = sumReplicas(fleet.map(({ weight, min, room }) => (weight === 0 ? min : min + room)));
        const least = sumReplicas(fleet.map(({ min }) => min));
        expect(sumReplicas(shares.values()) + unplaced).toBe(total);
        expect(unplaced).toBe(Math.max(0, total - most));
        for (const [index, { min, room }] of fleet.entries()) {
          const share = shares.get(names[index] ?? "") ?? -1;
          expect(share).toBeGreaterThanOrEqual(total >= least ? min : 0);
          expect(share).toBeLessThanOrEqual(min + room);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("every share is less than one replica from the exact one, and no such division moves fewer replicas", () => {
    fc.assert(
      fc.property(fleets, fc.nat({ max: 40 }), (fleet, total) => {
        fc.pre(sumReplicas(fleet.map(({ min }) => min)) <= total);
        const { shares, unplaced } = divide(fleet, total);
        fc.pre(unplaced === 0);
        const exact = exactShares(fleet, total);
        const given = fleet.map((_, index) => shares.get(names[index] ?? "") ?? -1);
        for (const [index, share] of given.entries())
          expect(Math.abs(share - (exact[index] ?? 0))).toBeLessThan(1 - 1e-9 + 2e-9);
        const moves = (list: readonly number[]) =>
          sumReplicas(list.map((share, index) => Math.abs(share - (fleet[index]?.has ?? 0))));
        const others = exact
          .reduce<readonly (readonly number[])[]>(
            (all, share) => all.flatMap((list) => roundings(share).map((rounded) => [...list, rounded])),
            [[]],
          )
          .filter((list) => sumReplicas(list) === total);
        expect(moves(given)).toBe(Math.min(...others.map(moves)));
      }),
      { numRuns: 500 },
    );
  });

  test("dividing again changes no shares", () => {
    fc.assert(
      fc.property(fleets, fc.nat({ max: 40 }), (fleet, total) => {
        const { shares } = divide(fleet, total);
        const clusters = someClusters(fleet.length);
        const again = desiredShares({ rule: ruleOf(fleet), total, targetClusters: clusters, current: shares });
        expect([...again.shares]).toEqual([...shares]);
      }),
    );
  });

  test("shares do not depend on the order of clusters and entries", () => {
    fc.assert(
      fc.property(fleets, fc.nat({ max: 40 }), (fleet, total) => {
        const rule = ruleOf(fleet);
        const turned = desiredShares({
          rule: { ...rule, clusters: (rule.clusters ?? []).toReversed() },
          total,
          targetClusters: someClusters(fleet.length).toReversed(),
          current: new Map([...currentOf(fleet)].toReversed()),
        });
        expect([...turned.shares]).toEqual([...divide(fleet, total).shares]);
      }),
    );
  });

  test("divides large numbers exactly", () => {
    const rule = weights(1_000_000, 999_999, 1);
    const { shares } = desiredShares({
      rule,
      total: 2_147_483_647,
      targetClusters: someClusters(3),
      current: noReplicas,
    });
    expect([...shares.values()]).toEqual([1_073_741_823, 1_073_740_750, 1074]);
  });
});

function divide(
  fleet: readonly Readonly<{ weight: number; min: number; room: number; has: number }>[],
  total: number,
): Shares {
  return desiredShares({
    rule: ruleOf(fleet),
    total,
    targetClusters: someClusters(fleet.length),
    current: currentOf(fleet),
  });
}

/** The shares before rounding, computed differently: by bisection of the common factor. */
function exactShares(
  fleet: readonly Readonly<{ weight: number; min: number; room: number }>[],
  total: number,
): readonly number[] {
  const at = (factor: number) =>
    fleet.map(({ weight, min, room }) => (weight === 0 ? min : Math.min(min + room, Math.max(min, factor * weight))));
  let low = 0;
  let high = 100;
  for (let round = 0; round < 100; round += 1) {
    const middle = (low + high) / 2;
    if (sumReplicas(at(middle)) < total) low = middle;
    else high = middle;
  }
  return at(high);
}

function roundings(share: number): readonly number[] {
  const nearest = Math.round(share);
  return Math.abs(share - nearest) < 1e-6 ? [nearest] : [Math.floor(share), Math.ceil(share)];
}
