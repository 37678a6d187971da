import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  desiredShares,
  type ReplicaRule,
  type StepFacts,
  stepShares,
  sumReplicas,
} from "../../../../lib/sync/desired/replicas.ts";

import { aTargetCluster } from "../a-target-cluster.ts";

type Counts = Readonly<Record<string, number>>;
type Row = Readonly<{ desired: Counts; applied: Counts; ready: Counts; next: Counts }>;

const rows: Readonly<Record<string, Row>> = {
  "writes all shares at once if no cluster has replicas": {
    desired: { a: 2, b: 1 },
    applied: {},
    ready: {},
    next: { a: 2, b: 1 },
  },
  "writes growth at once and shrinks nothing for it": {
    desired: { a: 2, b: 4 },
    applied: { a: 4, b: 2 },
    ready: { a: 4, b: 2 },
    next: { a: 4, b: 4 },
  },
  "shrinks nothing while none of the new replicas is ready": {
    desired: { a: 2, b: 4 },
    applied: { a: 4, b: 4 },
    ready: { a: 4, b: 2 },
    next: { a: 4, b: 4 },
  },
  "keeps starting replicas while their replacements are starting": {
    desired: { a: 2, b: 4 },
    applied: { a: 4, b: 4 },
    ready: { a: 0, b: 2 },
    next: { a: 4, b: 4 },
  },
  "removes as many replicas as are ready elsewhere": {
    desired: { a: 2, b: 4 },
    applied: { a: 4, b: 4 },
    ready: { a: 4, b: 3 },
    next: { a: 3, b: 4 },
  },
  "completes a move when all replicas are ready": {
    desired: { a: 2, b: 4 },
    applied: { a: 3, b: 4 },
    ready: { a: 3, b: 4 },
    next: { a: 2, b: 4 },
  },
  "keeps the replicas of an evicted cluster until others have them": {
    desired: { b: 3 },
    applied: { a: 3 },
    ready: { a: 3 },
    next: { a: 3, b: 3 },
  },
  "ends with no replicas on an evicted cluster": {
    desired: { b: 3 },
    applied: { a: 3, b: 3 },
    ready: { a: 3, b: 3 },
    next: { a: 0, b: 3 },
  },
  "shrinks all clusters at once for a smaller total": {
    desired: { a: 1, b: 1 },
    applied: { a: 4, b: 4 },
    ready: { a: 4, b: 4 },
    next: { a: 1, b: 1 },
  },
  "does not wait for starting replicas to shrink to a smaller total": {
    desired: { a: 2, b: 2 },
    applied: { a: 5, b: 5 },
    ready: { a: 0, b: 0 },
    next: { a: 2, b: 2 },
  },
  "shrinks all clusters at once for a total of zero": {
    desired: { a: 0, b: 0 },
    applied: { a: 5, b: 5 },
    ready: { a: 1 },
    next: { a: 0, b: 0 },
  },
  "removes only the surplus at once if a smaller total comes with a move": {
    desired: { a: 2, b: 4 },
    applied: { a: 8, b: 2 },
    ready: { a: 8, b: 2 },
    next: { a: 4, b: 4 },
  },
  "removes replicas that are not ready first": {
    desired: { a: 2, b: 2 },
    applied: { a: 5, b: 5 },
    ready: { a: 5, b: 0 },
    next: { a: 4, b: 2 },
  },
  "keeps the replicas of other clusters while a target cluster is unknown": {
    desired: { a: 2, b: 4 },
    applied: { a: 4, b: 4 },
    ready: { a: 4 },
    next: { a: 4, b: 4 },
  },
  "does not wait for an unknown cluster that is not a target any more": {
    desired: { a: 3, c: 3 },
    applied: { a: 4, b: 4, c: 3 },
    ready: { a: 4, c: 3 },
    next: { a: 3, b: 0, c: 3 },
  },
  "does not count terminating replicas as ready": {
    desired: { a: 2, b: 4 },
    applied: { a: 4, b: 2 },
    ready: { a: 4, b: 4 },
    next: { a: 4, b: 4 },
  },
};

const counts = (record: Counts): ReadonlyMap<string, number> => new Map(Object.entries(record));

describe("steps", () => {
  test.each(Object.entries(rows))("%s", (_, { desired, applied, ready, next }) => {
    const facts = { desired: counts(desired), applied: counts(applied), ready: counts(ready) };
    expect(Object.fromEntries(stepShares(facts))).toEqual(next);
  });
});

const names = ["a", "b", "c", "d", "e"] as const;
const someCounts = fc.array(fc.nat({ max: 9 }), { minLength: 5, maxLength: 5 });
const countsOf = (list: readonly number[]): ReadonlyMap<string, number> =>
  new Map(names.map((name, index) => [name, list[index] ?? 0]));

/** What is left ready after a step: a cluster that shrinks lets those go first that are not ready. */
const readyAfter = (ready: ReadonlyMap<string, number>, next: ReadonlyMap<string, number>): number =>
  sumReplicas([...next].map(([name, count]) => Math.min(ready.get(name) ?? 0, count)));

/** What a step has done that it must not. */
function broken({ desired, applied, ready }: StepFacts, next: ReadonlyMap<string, number>): readonly string[] {
  const total = sumReplicas(desired.values());
  const places = [...next].map(([name, now]) => ({
    now,
    has: applied.get(name) ?? 0,
    wants: desired.get(name) ?? 0,
    ready: Math.min(ready.get(name) ?? 0, applied.get(name) ?? 0),
  }));
  const shrinks = places.some(({ now, has }) => now < has);
  const secured = sumReplicas(places.map(({ now, has, wants, ready: there }) => (has > wants ? now : there)));
  const allReady = sumReplicas(places.map((place) => place.ready));
  return [
    ...(places.every(({ now, has, wants }) => now >= Math.min(has, wants) && now <= Math.max(has, wants))
      ? []
      : ["went past what is wanted"]),
    ...(places.every(({ now, has, wants }) => has >= wants || now === wants) ? [] : ["held growth back"]),
    ...(shrinks && secured < total ? ["took what nothing has replaced"] : []),
    ...(readyAfter(ready, next) < Math.min(total, allReady) ? ["took what was ready and needed"] : []),
  ];
}

describe("laws of a replica step", () => {
  test("a step removes no replica that is not replaced, and none that is ready and needed", () => {
    fc.assert(
      fc.property(someCounts, someCounts, someCounts, (desired, applied, ready) => {
        const facts = { desired: countsOf(desired), applied: countsOf(applied), ready: countsOf(ready) };
        expect(broken(facts, stepShares(facts))).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });

  test("a step changes nothing once the desired shares are reached", () => {
    fc.assert(
      fc.property(someCounts, someCounts, (desired, ready) => {
        const at = countsOf(desired);
        expect([...stepShares({ desired: at, applied: at, ready: countsOf(ready) })]).toEqual([...at]);
      }),
    );
  });
});

type Fleet = readonly Readonly<{ weight: number; isChosen: boolean }>[];

const fleets = fc
  .array(fc.record({ weight: fc.integer({ min: 1, max: 6 }), isChosen: fc.boolean() }), { minLength: 5, maxLength: 5 })
  .filter((fleet) => fleet.some(({ isChosen }) => isChosen));

const moves = fc.record({
  before: fleets,
  after: fleets,
  from: fc.nat({ max: 20 }),
  to: fc.nat({ max: 20 }),
  luck: fc.infiniteStream(fc.nat({ max: 1000 })),
});

function shareOut(fleet: Fleet, total: number, current: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const rule: ReplicaRule = {
    mode: "Divided",
    clusters: fleet.map(({ weight }, index) => ({ name: names[index] ?? "", weight })),
  };
  const clusters = names.filter((_, index) => fleet[index]?.isChosen).map((name) => aTargetCluster(name));
  return desiredShares({ rule, total, targetClusters: clusters, current }).shares;
}

/** Some more are ready on the clusters, one by one wherever luck has it; what was taken away no longer is. */
function progress(
  ready: ReadonlyMap<string, number>,
  applied: ReadonlyMap<string, number>,
  luck: Iterator<number>,
): ReadonlyMap<string, number> {
  const after = new Map([...applied].map(([name, count]) => [name, Math.min(ready.get(name) ?? 0, count)]));
  for (let more = 1 + draw(luck, 3); more > 0; more -= 1) {
    const starting = [...applied].filter(([name, count]) => (after.get(name) ?? 0) < count);
    const [name] = starting[draw(luck, starting.length)] ?? [];
    if (name !== undefined) after.set(name, (after.get(name) ?? 0) + 1);
  }
  return after;
}

const draw = (luck: Iterator<number>, count: number): number => (luck.next().value ?? 0) % Math.max(1, count);

const isAtRest = (...all: readonly ReadonlyMap<string, number>[]): boolean =>
  names.every((name) => new Set(all.map((each) => each.get(name) ?? 0)).size === 1);

/** More rounds than any move here can need when each of them makes something more ready. */
const manyRounds = 300;

describe("a sequence of replica steps", () => {
  test("keeps its desired shares, follows all laws and reaches the desired shares, in any order of readiness", () => {
    fc.assert(
      fc.property(moves, ({ before, after, from, to, luck }) => {
        let applied = shareOut(before, from, new Map());
        let ready = applied;
        const desired = shareOut(after, to, applied);
        const served = Math.min(to, sumReplicas(ready.values()));
        for (let round = 0; round < manyRounds; round += 1) {
          const next = stepShares({ desired, applied, ready });
          expect(broken({ desired, applied, ready }, next)).toEqual([]);
          expect([...shareOut(after, to, next)]).toEqual([...desired]);
          applied = next;
          ready = progress(ready, applied, luck);
          expect(sumReplicas(ready.values())).toBeGreaterThanOrEqual(served);
          if (isAtRest(desired, applied, ready)) break;
        }
        expect([...applied].filter(([, count]) => count > 0)).toEqual([...desired].filter(([, count]) => count > 0));
      }),
      { numRuns: 100 },
    );
  });

  test("never has fewer ready replicas if a step is interrupted between its writes", () => {
    fc.assert(
      fc.property(moves, ({ before, after, from, to, luck }) => {
        let applied = shareOut(before, from, new Map());
        let ready = applied;
        const served = Math.min(to, sumReplicas(ready.values()));
        for (let round = 0; round < manyRounds; round += 1) {
          const desired = shareOut(after, to, applied);
          const next = stepShares({ desired, applied, ready });
          expect(broken({ desired, applied, ready }, next)).toEqual([]);
          const written = [...next].filter(() => draw(luck, 3) > 0);
          applied = new Map([...applied, ...written]);
          ready = progress(ready, applied, luck);
          expect(sumReplicas(ready.values())).toBeGreaterThanOrEqual(served);
          if (isAtRest(desired, applied, ready)) break;
        }
        expect(sumReplicas(applied.values())).toBe(to);
        expect(isAtRest(shareOut(after, to, applied), applied, ready)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});
