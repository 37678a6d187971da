import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ReplicaRule,
  type StepFacts,
  stepShares,
  sumOf,
  wantedShares,
} from "../../../../lib/sync/desired/replicas.ts";

import { aSyncCluster } from "../a-sync-cluster.ts";

type Counts = Readonly<Record<string, number>>;
type Row = Readonly<{ wanted: Counts; applied: Counts; ready: Counts; next: Counts }>;

const rows: Readonly<Record<string, Row>> = {
  "everything is written at once where nothing is yet": {
    wanted: { a: 2, b: 1 },
    applied: {},
    ready: {},
    next: { a: 2, b: 1 },
  },
  "growth is written at once, and nothing shrinks for it": {
    wanted: { a: 2, b: 4 },
    applied: { a: 4, b: 2 },
    ready: { a: 4, b: 2 },
    next: { a: 4, b: 4 },
  },
  "nothing shrinks while none of the growth is ready": {
    wanted: { a: 2, b: 4 },
    applied: { a: 4, b: 4 },
    ready: { a: 4, b: 2 },
    next: { a: 4, b: 4 },
  },
  "what is only starting stays too while its replacement is starting": {
    wanted: { a: 2, b: 4 },
    applied: { a: 4, b: 4 },
    ready: { a: 0, b: 2 },
    next: { a: 4, b: 4 },
  },
  "as many go as are ready elsewhere": {
    wanted: { a: 2, b: 4 },
    applied: { a: 4, b: 4 },
    ready: { a: 4, b: 3 },
    next: { a: 3, b: 4 },
  },
  "the move ends when all are ready": {
    wanted: { a: 2, b: 4 },
    applied: { a: 3, b: 4 },
    ready: { a: 3, b: 4 },
    next: { a: 2, b: 4 },
  },
  "a cluster that is left keeps its replicas until others have them": {
    wanted: { b: 3 },
    applied: { a: 3 },
    ready: { a: 3 },
    next: { a: 3, b: 3 },
  },
  "a cluster that is left ends with none": {
    wanted: { b: 3 },
    applied: { a: 3, b: 3 },
    ready: { a: 3, b: 3 },
    next: { a: 0, b: 3 },
  },
  "a smaller total shrinks everywhere at once": {
    wanted: { a: 1, b: 1 },
    applied: { a: 4, b: 4 },
    ready: { a: 4, b: 4 },
    next: { a: 1, b: 1 },
  },
  "a smaller total does not wait for what was only starting": {
    wanted: { a: 2, b: 2 },
    applied: { a: 5, b: 5 },
    ready: { a: 0, b: 0 },
    next: { a: 2, b: 2 },
  },
  "a total of none shrinks everything at once": {
    wanted: { a: 0, b: 0 },
    applied: { a: 5, b: 5 },
    ready: { a: 1 },
    next: { a: 0, b: 0 },
  },
  "of a smaller total with a move only the surplus goes at once": {
    wanted: { a: 2, b: 4 },
    applied: { a: 8, b: 2 },
    ready: { a: 8, b: 2 },
    next: { a: 4, b: 4 },
  },
  "those that are not ready go first": {
    wanted: { a: 2, b: 2 },
    applied: { a: 5, b: 5 },
    ready: { a: 5, b: 0 },
    next: { a: 4, b: 2 },
  },
  "a wanted cluster that is not heard from makes the others keep what they have": {
    wanted: { a: 2, b: 4 },
    applied: { a: 4, b: 4 },
    ready: { a: 4 },
    next: { a: 4, b: 4 },
  },
  "a cluster that is no longer wanted makes nobody wait": {
    wanted: { a: 3, c: 3 },
    applied: { a: 4, b: 4, c: 3 },
    ready: { a: 4, c: 3 },
    next: { a: 3, b: 0, c: 3 },
  },
  "what is still ending on a cluster is nothing to rely on": {
    wanted: { a: 2, b: 4 },
    applied: { a: 4, b: 2 },
    ready: { a: 4, b: 4 },
    next: { a: 4, b: 4 },
  },
};

const counts = (record: Counts): ReadonlyMap<string, number> => new Map(Object.entries(record));

describe("steps", () => {
  test.each(Object.entries(rows))("%s", (_, { wanted, applied, ready, next }) => {
    const facts = { wanted: counts(wanted), applied: counts(applied), ready: counts(ready) };
    expect(Object.fromEntries(stepShares(facts))).toEqual(next);
  });
});

const names = ["a", "b", "c", "d", "e"] as const;
const someCounts = fc.array(fc.nat({ max: 9 }), { minLength: 5, maxLength: 5 });
const countsOf = (list: readonly number[]): ReadonlyMap<string, number> =>
  new Map(names.map((name, index) => [name, list[index] ?? 0]));

/** What is left ready after a step: a cluster that shrinks lets those go first that are not ready. */
const readyAfter = (ready: ReadonlyMap<string, number>, next: ReadonlyMap<string, number>): number =>
  sumOf([...next].map(([name, count]) => Math.min(ready.get(name) ?? 0, count)));

/** What a step has done that it must not. */
function broken({ wanted, applied, ready }: StepFacts, next: ReadonlyMap<string, number>): readonly string[] {
  const total = sumOf(wanted.values());
  const places = [...next].map(([name, now]) => ({
    now,
    has: applied.get(name) ?? 0,
    wants: wanted.get(name) ?? 0,
    ready: Math.min(ready.get(name) ?? 0, applied.get(name) ?? 0),
  }));
  const shrinks = places.some(({ now, has }) => now < has);
  const secured = sumOf(places.map(({ now, has, wants, ready: there }) => (has > wants ? now : there)));
  const allReady = sumOf(places.map((place) => place.ready));
  return [
    ...(places.every(({ now, has, wants }) => now >= Math.min(has, wants) && now <= Math.max(has, wants))
      ? []
      : ["went past what is wanted"]),
    ...(places.every(({ now, has, wants }) => has >= wants || now === wants) ? [] : ["held growth back"]),
    ...(shrinks && secured < total ? ["took what nothing has replaced"] : []),
    ...(readyAfter(ready, next) < Math.min(total, allReady) ? ["took what was ready and needed"] : []),
  ];
}

describe("the laws of a step", () => {
  test("nothing goes that is not replaced, and nothing that is ready and needed", () => {
    fc.assert(
      fc.property(someCounts, someCounts, someCounts, (wanted, applied, ready) => {
        const facts = { wanted: countsOf(wanted), applied: countsOf(applied), ready: countsOf(ready) };
        expect(broken(facts, stepShares(facts))).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });

  test("at rest nothing changes", () => {
    fc.assert(
      fc.property(someCounts, someCounts, (wanted, ready) => {
        const at = countsOf(wanted);
        expect([...stepShares({ wanted: at, applied: at, ready: countsOf(ready) })]).toEqual([...at]);
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
  const clusters = names.filter((_, index) => fleet[index]?.isChosen).map((name) => aSyncCluster(name));
  return wantedShares({ rule, total, clusters, current }).shares;
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

describe("a move, step by step", () => {
  test("wants the same all along, breaks no law and ends where it should, whatever is ready when", () => {
    fc.assert(
      fc.property(moves, ({ before, after, from, to, luck }) => {
        let applied = shareOut(before, from, new Map());
        let ready = applied;
        const wanted = shareOut(after, to, applied);
        const served = Math.min(to, sumOf(ready.values()));
        for (let round = 0; round < manyRounds; round += 1) {
          const next = stepShares({ wanted, applied, ready });
          expect(broken({ wanted, applied, ready }, next)).toEqual([]);
          expect([...shareOut(after, to, next)]).toEqual([...wanted]);
          applied = next;
          ready = progress(ready, applied, luck);
          expect(sumOf(ready.values())).toBeGreaterThanOrEqual(served);
          if (isAtRest(wanted, applied, ready)) break;
        }
        expect([...applied].filter(([, count]) => count > 0)).toEqual([...wanted].filter(([, count]) => count > 0));
      }),
      { numRuns: 100 },
    );
  });

  test("is never worse off when a step is cut off between its writes", () => {
    fc.assert(
      fc.property(moves, ({ before, after, from, to, luck }) => {
        let applied = shareOut(before, from, new Map());
        let ready = applied;
        const served = Math.min(to, sumOf(ready.values()));
        for (let round = 0; round < manyRounds; round += 1) {
          const wanted = shareOut(after, to, applied);
          const next = stepShares({ wanted, applied, ready });
          expect(broken({ wanted, applied, ready }, next)).toEqual([]);
          const written = [...next].filter(() => draw(luck, 3) > 0);
          applied = new Map([...applied, ...written]);
          ready = progress(ready, applied, luck);
          expect(sumOf(ready.values())).toBeGreaterThanOrEqual(served);
          if (isAtRest(wanted, applied, ready)) break;
        }
        expect(sumOf(applied.values())).toBe(to);
        expect(isAtRest(shareOut(after, to, applied), applied, ready)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});
