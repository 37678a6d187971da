import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { mayAffect } from "../../../lib/placement/affected.ts";
import { capacityFilter } from "../../../lib/placement/capacity.ts";
import { decidePlacement, type PlacementPlan } from "../../../lib/placement/decide.ts";
import { rejectingFilter } from "../../../lib/placement/filters.ts";
import { type ClusterFacts, clusterFacts, type ObservedPlacement } from "../../../lib/placement/observed.ts";
import { InvalidSpec, tryParseSpec } from "../../../lib/placement/parsed-spec.ts";
import { now } from "../../support/placement-builders.ts";
import { clusterNames, Random, randomPlacement, randomRegistration, reordered } from "./random.ts";

/** Checks a law for many seeds; fast-check prints a failing seed. */
function forSeeds(piece: number, count: number, law: (random: Random) => void): void {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      law(new Random(seed));
    }),
    { numRuns: count, seed: 0x7a3c + piece },
  );
}

function must(holds: boolean, violation: string, ...facts: readonly unknown[]): void {
  if (!holds) throw new Error(`${violation}: ${JSON.stringify(facts, null, 1)}`);
}

type ClusterPair = Readonly<{ facts: ClusterFacts; reorderedFacts: ClusterFacts }>;

// Clusters come from a stock, each in two orders of its lists: building them is the slow part.
const stock = new Map(
  clusterNames.map((name, index) => {
    const random = new Random(index);
    const all = Array.from({ length: 300 }, (): ClusterPair => {
      const registration = randomRegistration(random, name);
      return { facts: clusterFacts(registration), reorderedFacts: clusterFacts(reordered(random, registration)) };
    });
    return [name as string, all] as const;
  }),
);
/** In stock, but in none of the random lists of clusters. */
const unusedName = clusterNames.at(-1) ?? "";

function fromStock(random: Random, name: string): ClusterPair {
  const all = stock.get(name) ?? [];
  const pair = all[random.below(all.length)];
  if (pair === undefined) throw new Error(`no cluster ${name} in stock`);
  return pair;
}

const randomClusters = (random: Random): ClusterPair[] =>
  random.shuffle(clusterNames.slice(0, random.below(clusterNames.length))).map((name) => fromStock(random, name));

const withStatus = (placement: WorkloadPlacement, { status }: PlacementPlan): WorkloadPlacement => ({
  ...placement,
  status,
});

function checkPlan(
  { placement, clusters, reserved = new Map() }: Omit<ObservedPlacement, "nowMs">,
  plan: PlacementPlan,
): void {
  const spec = tryParseSpec(placement);
  if (spec instanceof InvalidSpec) return;
  const selected = new Set(plan.status.selectedClusters);
  const before = new Set(placement.status?.selectedClusters);
  must(selected.size <= (spec.numberOfClusters ?? Infinity), "more clusters selected than requested", plan);
  const capacity = capacityFilter(reserved);
  for (const cluster of clusters) {
    const { name } = cluster;
    const fits = rejectingFilter(spec, cluster) === undefined;
    const hasRoom = !capacity.fails(spec, cluster);
    must(
      !selected.has(name) || (fits && hasRoom) || before.has(name),
      "a new cluster is selected that does not fit",
      name,
      plan,
    );
    const wereTooMany = before.size > (spec.numberOfClusters ?? Infinity);
    const isStandIn = placement.status?.failback?.some(({ standIn }) => standIn === name) === true;
    const isNeedless = fits && before.has(name) && !selected.has(name) && !wereTooMany && !isStandIn;
    must(!isNeedless, "evicted from a cluster that fits", name, plan);
  }
  for (const { cluster, standIn, fittingSince } of plan.status.failback ?? []) {
    must(spec.failbackSeconds !== undefined, "failback targets without spec.failback", plan);
    must(!selected.has(cluster), "a selected cluster is a failback target", plan);
    must(standIn === undefined || selected.has(standIn), "a stand-in is not selected", plan);
    const facts = clusters.find(({ name }) => name === cluster);
    const fits = facts !== undefined && rejectingFilter(spec, facts) === undefined && !capacity.fails(spec, facts);
    must(fits === (fittingSince !== undefined), "fittingSince does not agree with the filters", plan);
  }
  const listed = plan.status.decisions?.map(({ cluster }) => cluster) ?? [];
  const unknown = [...(spec.clusterNames ?? [])].filter((name) => !clusters.some((cluster) => cluster.name === name));
  const expected = [...clusters.map(({ name }) => name), ...unknown].toSorted();
  must(listed.toSorted().join() === expected.join(), "not every cluster has a decision", listed, expected);
}

describe("decidePlacement with 100,000 random inputs", () => {
  // Ten tests instead of one, so that a slow machine shows progress.
  const pieces = Array.from({ length: 10 }, (_, index) => index);

  it.each(pieces)(
    "the same facts in any order give the same status, and a second decision changes nothing (piece %i)",
    (piece) => {
      forSeeds(piece, 10_000, (random) => {
        const placement = randomPlacement(random);
        const pairs = randomClusters(random);
        const clusters = pairs.map(({ facts }) => facts);
        const load = new Map(clusters.map(({ name }) => [name, random.below(3)]));
        const reserved = new Map(
          random.some(clusters).map(({ name }) => [name, { cpu: BigInt(random.below(9)) * 10n ** 9n, memory: 0n }]),
        );
        const plan = decidePlacement({ placement, clusters, load, reserved, nowMs: now });
        const bytes = JSON.stringify(plan.status);
        checkPlan({ placement, clusters, reserved }, plan);

        const shuffled = random.shuffle(pairs).map(({ reorderedFacts }) => reorderedFacts);
        const other = decidePlacement({ placement, clusters: shuffled, load, reserved, nowMs: now });
        must(JSON.stringify(other.status) === bytes, "the order changes the status", plan, other);

        if (!random.once(4)) return;
        // No tolerated time of a random cluster ends within this second.
        const again = decidePlacement({
          placement: withStatus(placement, plan),
          clusters,
          reserved,
          nowMs: now + random.below(1000),
        });
        must(JSON.stringify(again.status) === bytes, "a second decision changes the status", plan, again);
      });
    },
  );
});

describe("mayAffect with random changes", () => {
  it("returns true for every placement whose status would change, in 10,000 random changes of a cluster", () => {
    let affected = 0;
    let changed = 0;
    forSeeds(0, 10_000, (random) => {
      const placement = randomPlacement(random);
      const clusters = randomClusters(random).map(({ facts }) => facts);
      const decided = withStatus(placement, decidePlacement({ placement, clusters, nowMs: now }));
      const before = clusters[random.below(clusters.length + 1)];
      const after =
        before !== undefined && random.once(6) ? undefined : fromStock(random, before?.name ?? unusedName).facts;
      const others = clusters.filter((cluster) => cluster !== before);
      const observed = { placement: decided, clusters: after === undefined ? others : [...others, after], nowMs: now };
      const { status } = decidePlacement(observed);

      const differs = JSON.stringify(status) !== JSON.stringify(decided.status);
      const isAffected = mayAffect(decided, before, after);
      if (differs) changed += 1;
      if (isAffected) affected += 1;
      must(!differs || isAffected, "an affected placement is missed", decided, status);
      // Without the facts before the change there may be false positives, but no false negatives.
      const isMissed = after !== undefined && !mayAffect(decided, undefined, after);
      must(!differs || !isMissed, "an affected placement is missed without the facts before", decided, status);
    });
    // Random changes touch nearly all facts at once; still fewer than 10 % of the positives are false.
    expect(changed).toBeGreaterThan(1000);
    expect(affected).toBeLessThan(changed * 1.1);
  });
});
