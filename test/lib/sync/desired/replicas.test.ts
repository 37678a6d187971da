import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ReplicaRule, type Shares, sumOf, wantedShares } from "../../../../lib/sync/desired/replicas.ts";

import { aSyncCluster } from "../a-sync-cluster.ts";

const names = ["a", "b", "c", "d", "e", "f"] as const;
const aFleet = (size: number) => names.slice(0, size).map((name) => aSyncCluster(name));
const nobody: ReadonlyMap<string, number> = new Map();

type Row = Readonly<{
  rule?: ReplicaRule;
  total: number;
  /** The processors of the clusters a, b, … in thousandths; not known where it is undefined. */
  clusters: readonly (number | undefined)[];
  current?: Readonly<Record<string, number>>;
  shares: readonly number[];
  unplaced?: number;
  why?: string;
}>;

const x = undefined;
const divided: ReplicaRule = { mode: "Divided" };
const byCapacity: ReplicaRule = { mode: "Divided", divideBy: "Capacity" };
const weights = (...list: readonly number[]): ReplicaRule => ({
  mode: "Divided",
  clusters: list.map((weight, index) => ({ name: names[index] ?? "", weight })),
});

const rows: Readonly<Record<string, Row>> = {
  "every cluster gets all without a rule": { total: 3, clusters: [x, x], shares: [3, 3] },
  "every cluster gets all when it is duplicated": {
    rule: { mode: "Duplicated" },
    total: 3,
    clusters: [x],
    shares: [3],
  },
  "max holds for what is duplicated too": {
    rule: { clusters: [{ name: "b", max: 2 }] },
    total: 5,
    clusters: [x, x],
    shares: [5, 2],
    unplaced: 3,
    why: "max allows fewer than 5 replicas on b",
  },
  "min never makes more of what is duplicated": { rule: { min: 4 }, total: 2, clusters: [x, x], shares: [2, 2] },
  "all weigh alike when nothing is said": { rule: divided, total: 6, clusters: [x, x, x], shares: [2, 2, 2] },
  "the odd ones go by name": { rule: divided, total: 8, clusters: [x, x, x], shares: [3, 3, 2] },
  "shares follow the weights": { rule: weights(3, 1), total: 8, clusters: [x, x], shares: [6, 2] },
  "the odd one goes to the largest fraction": { rule: weights(3, 1), total: 7, clusters: [x, x], shares: [5, 2] },
  "a cluster that the rule does not name weighs 1": { rule: weights(2), total: 6, clusters: [x, x], shares: [4, 2] },
  "a cluster that is not there takes nothing": { rule: weights(1, 1, 8), total: 4, clusters: [x, x], shares: [2, 2] },
  "a weight of 0 gets nothing beyond its min": {
    rule: { ...weights(1, 0), min: 1 },
    total: 5,
    clusters: [x, x],
    shares: [4, 1],
  },
  "weights of 0 everywhere leave everything out": {
    rule: weights(0, 0),
    total: 2,
    clusters: [x, x],
    shares: [0, 0],
    unplaced: 2,
    why: "2 of 2 replicas find no room: every cluster has its max, or no weight",
  },
  "shares follow the processors": { rule: byCapacity, total: 6, clusters: [4000, 8000], shares: [2, 4] },
  "a cluster of unknown size counts as one of the middle": {
    rule: byCapacity,
    total: 15,
    clusters: [2000, x, 8000],
    shares: [2, 5, 8],
  },
  "clusters of unknown size are alike": { rule: byCapacity, total: 4, clusters: [x, x], shares: [2, 2] },
  "clusters without any processors are alike": { rule: byCapacity, total: 4, clusters: [0, 0], shares: [2, 2] },
  "a cluster without processors gets none beside one that has some": {
    rule: byCapacity,
    total: 4,
    clusters: [0, 1000],
    shares: [0, 4],
  },
  "min is taken from those who have more": {
    rule: { ...weights(10, 1, 1), min: 2 },
    total: 12,
    clusters: [x, x, x],
    shares: [8, 2, 2],
  },
  "what is above max goes to the others": {
    rule: { ...weights(10, 1, 1), max: 4 },
    total: 12,
    clusters: [x, x, x],
    shares: [4, 4, 4],
  },
  "what is said for one cluster goes before what is said for all": {
    rule: { mode: "Divided", min: 1, max: 3, clusters: [{ name: "b", min: 0, max: 9 }] },
    total: 9,
    clusters: [x, x],
    shares: [3, 6],
  },
  "what max leaves no room for is left out and said": {
    rule: { mode: "Divided", max: 2 },
    total: 7,
    clusters: [x, x],
    shares: [2, 2],
    unplaced: 3,
    why: "3 of 7 replicas find no room: every cluster has its max, or no weight",
  },
  "a min that cannot be met everywhere is met by name and said": {
    rule: { mode: "Divided", min: 2 },
    total: 3,
    clusters: [x, x, x],
    shares: [2, 1, 0],
    why: "3 replicas are too few for the min of b, c",
  },
  "a min above the total is said": {
    rule: { mode: "Divided", min: 2 },
    total: 1,
    clusters: [x],
    shares: [1],
    why: "1 replica is too few for the min of a",
  },
  "whoever wants none gets none, whatever the min": {
    rule: { mode: "Divided", min: 2 },
    total: 0,
    clusters: [x, x],
    shares: [0, 0],
  },
  "max counts where min is above it": {
    rule: { mode: "Divided", min: 3, max: 2 },
    total: 4,
    clusters: [x, x],
    shares: [2, 2],
    why: "min is above max on a, b: max counts",
  },
  "without a cluster nothing is placed": {
    rule: divided,
    total: 2,
    clusters: [],
    shares: [],
    unplaced: 2,
    why: "there is no cluster for it",
  },
  "without a cluster nothing of nothing is placed": { rule: divided, total: 0, clusters: [], shares: [] },
  "the odd one stays with who has it": {
    rule: divided,
    total: 5,
    clusters: [x, x],
    current: { a: 2, b: 3 },
    shares: [2, 3],
  },
  "one more replica moves none of the others": {
    rule: weights(6, 6, 2),
    total: 11,
    clusters: [x, x, x],
    current: { a: 4, b: 4, c: 2 },
    shares: [5, 4, 2],
  },
  "a cluster that grew a little moves nothing": {
    rule: byCapacity,
    total: 5,
    clusters: [8000, 8100],
    current: { a: 3, b: 2 },
    shares: [3, 2],
  },
  "a new cluster takes only what is its share": {
    rule: divided,
    total: 10,
    clusters: [x, x, x],
    current: { a: 5, b: 5 },
    shares: [4, 3, 3],
  },
};

describe("replicas", () => {
  test.each(Object.entries(rows))("%s", (_, { rule, total, clusters, current = {}, shares, unplaced = 0, why }) => {
    const fleet = clusters.map((milliCpu, index) => aSyncCluster(names[index] ?? "", { milliCpu }));
    const answer = wantedShares({ rule, total, clusters: fleet, current: new Map(Object.entries(current)) });
    expect([...answer.shares.values()]).toEqual(shares);
    expect(answer.unplaced).toBe(unplaced);
    expect(answer.why).toBe(why);
  });

  test("the names in a message are few, however many clusters there are", () => {
    const clusters = Array.from({ length: 9 }, (_, index) => aSyncCluster(`c${index}`));
    const { why } = wantedShares({ rule: { mode: "Divided", min: 1 }, total: 1, clusters, current: nobody });
    expect(why).toBe("1 replica is too few for the min of c1, c2, c3, c4, c5 and 3 more");
  });
});

/** Whether nobody has less than one who weighs less, or who weighs the same and has a later name. */
function isByWeightAndName(mix: readonly number[], given: readonly number[]): boolean {
  const inOrder = mix.map((weight, at) => ({ weight, share: given[at] ?? 0 })).toSorted((a, b) => b.weight - a.weight);
  return inOrder.every(({ share }, at) => at === 0 || share <= (inOrder[at - 1]?.share ?? 0));
}

/** All lists of a length over some values. */
function lists<T>(length: number, values: readonly T[]): readonly (readonly T[])[] {
  if (length === 0) return [[]];
  return lists(length - 1, values).flatMap((list) => values.map((value) => [...list, value]));
}

describe("for all totals up to 50, one to six clusters and every mix of weights", () => {
  const bounds: readonly Readonly<{ min: number; max: number }>[] = [
    { min: 0, max: Number.POSITIVE_INFINITY },
    { min: 1, max: 12 },
    { min: 2, max: 7 },
  ];
  const cases = bounds.flatMap(({ min, max }) => [1, 2, 3, 4, 5, 6].map((size) => ({ min, max, size })));

  test.each(cases)("min $min, max $max, $size clusters", ({ min, max, size }) => {
    const clusters = aFleet(size);
    const wrong: string[] = [];
    for (const mix of lists(size, [1, 2, 5])) {
      const rule: ReplicaRule = { ...weights(...mix), min, ...(Number.isFinite(max) ? { max } : {}) };
      for (let total = 0; total <= 50; total += 1) {
        const { shares, unplaced } = wantedShares({ rule, total, clusters, current: nobody });
        const given = [...shares.values()];
        const isExact = sumOf(given) + unplaced === total && unplaced === Math.max(0, total - size * max);
        const isWithin = given.every((share) => share <= max && (total < size * min || share >= min));
        const again = wantedShares({ rule, total, clusters: clusters.toReversed(), current: nobody });
        const isSame = [...shares].join() === [...again.shares].join();
        const isFair = total < size * min || isByWeightAndName(mix, given);
        if (!isExact || !isWithin || !isSame || !isFair) wrong.push(`${mix.join(":")} of ${total}: ${given.join()}`);
      }
    }
    expect(wrong).toEqual([]);
  });
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

describe("the laws of division", () => {
  test("the sum is exact and everyone within min and max", () => {
    fc.assert(
      fc.property(fleets, fc.nat({ max: 40 }), (fleet, total) => {
        const { shares, unplaced } = divide(fleet, total);
        const most = sumOf(fleet.map(({ weight, min, room }) => (weight === 0 ? min : min + room)));
        const least = sumOf(fleet.map(({ min }) => min));
        expect(sumOf(shares.values()) + unplaced).toBe(total);
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

  test("nobody is a whole replica away from the exact share, and no such division moves fewer", () => {
    fc.assert(
      fc.property(fleets, fc.nat({ max: 40 }), (fleet, total) => {
        fc.pre(sumOf(fleet.map(({ min }) => min)) <= total);
        const { shares, unplaced } = divide(fleet, total);
        fc.pre(unplaced === 0);
        const exact = exactShares(fleet, total);
        const given = fleet.map((_, index) => shares.get(names[index] ?? "") ?? -1);
        for (const [index, share] of given.entries())
          expect(Math.abs(share - (exact[index] ?? 0))).toBeLessThan(1 - 1e-9 + 2e-9);
        const moves = (list: readonly number[]) =>
          sumOf(list.map((share, index) => Math.abs(share - (fleet[index]?.has ?? 0))));
        const others = exact
          .reduce<readonly (readonly number[])[]>(
            (all, share) => all.flatMap((list) => roundings(share).map((rounded) => [...list, rounded])),
            [[]],
          )
          .filter((list) => sumOf(list) === total);
        expect(moves(given)).toBe(Math.min(...others.map(moves)));
      }),
      { numRuns: 500 },
    );
  });

  test("what it has brought about it leaves as it is", () => {
    fc.assert(
      fc.property(fleets, fc.nat({ max: 40 }), (fleet, total) => {
        const { shares } = divide(fleet, total);
        const clusters = aFleet(fleet.length);
        const again = wantedShares({ rule: ruleOf(fleet), total, clusters, current: shares });
        expect([...again.shares]).toEqual([...shares]);
      }),
    );
  });

  test("the order of clusters and of the rule's entries leaves no trace", () => {
    fc.assert(
      fc.property(fleets, fc.nat({ max: 40 }), (fleet, total) => {
        const rule = ruleOf(fleet);
        const turned = wantedShares({
          rule: { ...rule, clusters: (rule.clusters ?? []).toReversed() },
          total,
          clusters: aFleet(fleet.length).toReversed(),
          current: new Map([...currentOf(fleet)].toReversed()),
        });
        expect([...turned.shares]).toEqual([...divide(fleet, total).shares]);
      }),
    );
  });

  test("large numbers lose nothing", () => {
    const rule = weights(1_000_000, 999_999, 1);
    const { shares } = wantedShares({ rule, total: 2_147_483_647, clusters: aFleet(3), current: nobody });
    expect([...shares.values()]).toEqual([1_073_741_823, 1_073_740_750, 1074]);
  });
});

function divide(
  fleet: readonly Readonly<{ weight: number; min: number; room: number; has: number }>[],
  total: number,
): Shares {
  return wantedShares({ rule: ruleOf(fleet), total, clusters: aFleet(fleet.length), current: currentOf(fleet) });
}

/** The shares before rounding, found in another way: by halving the interval in which the common factor must be. */
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
    if (sumOf(at(middle)) < total) low = middle;
    else high = middle;
  }
  return at(high);
}

function roundings(share: number): readonly number[] {
  const nearest = Math.round(share);
  return Math.abs(share - nearest) < 1e-6 ? [nearest] : [Math.floor(share), Math.ceil(share)];
}
