import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { mayConcern } from "../../../lib/placement/affected.ts";
import { decide, type Plan } from "../../../lib/placement/decide.ts";
import { rejection } from "../../../lib/placement/filters.ts";
import { type ClusterFacts, clusterFacts } from "../../../lib/placement/observed.ts";
import { InvalidWish, tryReadWish } from "../../../lib/placement/parsed-spec.ts";
import { now } from "./builders.ts";
import { Chance, clusterNames, randomPlacement, randomRegistration, rewritten } from "./random.ts";

/** Runs a law for many seeds; a seed that breaks it is printed and can be given again. */
function forSeeds(piece: number, count: number, law: (chance: Chance) => void): void {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      law(new Chance(seed));
    }),
    { numRuns: count, seed: 0x7a3c + piece },
  );
}

function must(holds: boolean, what: string, ...facts: readonly unknown[]): void {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(facts, null, 1)}`);
}

type Twice = Readonly<{ facts: ClusterFacts; same: ClusterFacts }>;

// Worlds are put together from a stock of clusters, each of them written in two orders: making them is the slow part.
const stock = new Map(
  clusterNames.map((name, at) => {
    const chance = new Chance(at);
    const all = Array.from({ length: 300 }, (): Twice => {
      const registration = randomRegistration(chance, name);
      return { facts: clusterFacts(registration), same: clusterFacts(rewritten(chance, registration)) };
    });
    return [name as string, all] as const;
  }),
);
/** In stock, but in no world. */
const newcomer = clusterNames.at(-1) ?? "";

function fromStock(chance: Chance, name: string): Twice {
  const all = stock.get(name) ?? [];
  const taken = all[chance.below(all.length)];
  if (taken === undefined) throw new Error(`no cluster ${name} in stock`);
  return taken;
}

const randomWorld = (chance: Chance): Twice[] =>
  chance.shuffle(clusterNames.slice(0, chance.below(clusterNames.length))).map((name) => fromStock(chance, name));

const withStatus = (placement: WorkloadPlacement, { status }: Plan): WorkloadPlacement => ({ ...placement, status });

function checkPlan(placement: WorkloadPlacement, clusters: readonly ClusterFacts[], plan: Plan): void {
  const wish = tryReadWish(placement);
  if (wish instanceof InvalidWish) return;
  const selected = new Set(plan.status.selectedClusters);
  const before = new Set(placement.status?.selectedClusters);
  must(selected.size <= (wish.wanted ?? Infinity), "more clusters than wanted", plan);
  for (const cluster of clusters) {
    const { name } = cluster;
    const fits = rejection(wish, cluster) === undefined;
    must(!selected.has(name) || fits || before.has(name), "new work where it does not fit", name, plan);
    const areTooMany = before.size > (wish.wanted ?? Infinity);
    const isStandIn = placement.status?.failback?.some(({ standIn }) => standIn === name) === true;
    const isNeedless = fits && before.has(name) && !selected.has(name) && !areTooMany && !isStandIn;
    must(!isNeedless, "moved without need", name, plan);
  }
  for (const { cluster, standIn, fittingSince } of plan.status.failback ?? []) {
    must(wish.failbackSeconds !== undefined, "returns although nobody asks for it", plan);
    must(!selected.has(cluster), "returns to where it is", plan);
    must(standIn === undefined || selected.has(standIn), "returns from where it is not", plan);
    const facts = clusters.find(({ name }) => name === cluster);
    const fits = facts !== undefined && rejection(wish, facts) === undefined;
    must(fits === (fittingSince !== undefined), "counts the time of a cluster that does not fit", plan);
  }
  const listed = plan.status.decisions?.map(({ cluster }) => cluster) ?? [];
  const unknown = [...(wish.names ?? [])].filter((name) => !clusters.some((cluster) => cluster.name === name));
  const expected = [...clusters.map(({ name }) => name), ...unknown].toSorted();
  must(listed.toSorted().join() === expected.join(), "not every cluster is explained", listed, expected);
}

describe("over 100,000 random worlds", () => {
  // In pieces, so that a slow machine shows how far it has come.
  const pieces = Array.from({ length: 10 }, (_, at) => at);

  it.each(pieces)(
    "the same facts in any order give the same bytes, a quarter of them run again (piece %i)",
    (piece) => {
      forSeeds(piece, 10_000, (chance) => {
        const placement = randomPlacement(chance);
        const world = randomWorld(chance);
        const clusters = world.map(({ facts }) => facts);
        const load = new Map(clusters.map(({ name }) => [name, chance.below(3)]));
        const plan = decide({ placement, clusters, load, nowMs: now });
        const bytes = JSON.stringify(plan.status);
        checkPlan(placement, clusters, plan);

        const turned = chance.shuffle(world).map(({ same }) => same);
        const other = decide({ placement, clusters: turned, load, nowMs: now });
        must(JSON.stringify(other.status) === bytes, "the order has left a trace", plan, other);

        if (!chance.once(4)) return;
        // No time that random clusters are borne for ends within a second.
        const again = decide({ placement: withStatus(placement, plan), clusters, nowMs: now + chance.below(1000) });
        must(JSON.stringify(again.status) === bytes, "asks for more", plan, again);
      });
    },
  );
});

describe("whom a change concerns", () => {
  it("leaves no placement asleep that would decide or say otherwise, in 10,000 random changes", () => {
    let woken = 0;
    let changed = 0;
    forSeeds(0, 10_000, (chance) => {
      const placement = randomPlacement(chance);
      const clusters = randomWorld(chance).map(({ facts }) => facts);
      const settled = withStatus(placement, decide({ placement, clusters, nowMs: now }));
      const before = clusters[chance.below(clusters.length + 1)];
      const after =
        before !== undefined && chance.once(6) ? undefined : fromStock(chance, before?.name ?? newcomer).facts;
      const others = clusters.filter((cluster) => cluster !== before);
      const observed = { placement: settled, clusters: after === undefined ? others : [...others, after], nowMs: now };
      const { status } = decide(observed);

      const differs = JSON.stringify(status) !== JSON.stringify(settled.status);
      const concerned = mayConcern(settled, before, after);
      if (differs) changed += 1;
      if (concerned) woken += 1;
      must(!differs || concerned, "left asleep", settled, status);
      // Without a memory of how it was the answer may be less sharp, but never wrong.
      const sleeps = after !== undefined && !mayConcern(settled, undefined, after);
      must(!differs || !sleeps, "left asleep without a memory", settled, status);
    });
    // Random changes touch nearly everything at once; still hardly anyone is woken in vain.
    expect(changed).toBeGreaterThan(1000);
    expect(woken).toBeLessThan(changed * 1.1);
  });
});
