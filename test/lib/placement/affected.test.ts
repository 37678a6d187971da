import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { mayConcern } from "../../../lib/placement/affected.ts";
import { decide } from "../../../lib/placement/decide.ts";
import type { ClusterFacts } from "../../../lib/placement/observed.ts";
import { aCluster, ago, aPlacement, now } from "./builders.ts";

const east = aCluster("east", { labels: { region: "eu" } });
const west = aCluster("west", { labels: { region: "us" } });
const downEast = aCluster("east", { labels: { region: "eu" }, ready: "False", since: ago(1) });

function decided(placement: WorkloadPlacement, ...clusters: readonly ClusterFacts[]): WorkloadPlacement {
  return { ...placement, status: decide({ placement, clusters, nowMs: now }).status };
}

type Row = Readonly<{
  placement: WorkloadPlacement;
  before?: ClusterFacts;
  after: ClusterFacts | undefined;
  concerned: boolean;
}>;
const inUs = { locationSelector: { matchLabels: { region: "us" } } };
const rows: Record<string, Row> = {
  "a chosen cluster that fails": { placement: decided(aPlacement(), east, west), after: downEast, concerned: true },
  "a cluster that fits and fails": {
    placement: decided(aPlacement({}, { selected: ["west"] }), east, west),
    after: downEast,
    concerned: true,
  },
  "a cluster that is rejected and fails on top of it": {
    placement: decided(aPlacement(inUs), east, west),
    after: downEast,
    concerned: false,
  },
  "a cluster that is not named": {
    placement: decided(aPlacement({ clusterNames: ["west"] }), east, west),
    after: downEast,
    concerned: false,
  },
  "a cluster that fails otherwise than before": {
    placement: decided(aPlacement({}, { selected: ["west"] }), downEast, west),
    after: aCluster("east", { labels: { region: "eu" }, ready: "Unknown" }),
    concerned: true,
  },
  "a cluster that is still down, since another time": {
    placement: decided(aPlacement({}, { selected: ["west"] }), downEast, west),
    after: aCluster("east", { labels: { region: "eu" }, ready: "False", since: ago(99) }),
    concerned: false,
  },
  "a chosen cluster that is still down, since another time": {
    placement: decided(aPlacement({}, { selected: ["east"] }), downEast, west),
    after: aCluster("east", { labels: { region: "eu" }, ready: "False", since: ago(99) }),
    concerned: true,
  },
  "a chosen cluster that is still down": {
    placement: decided(aPlacement({}, { selected: ["east"] }), downEast, west),
    after: downEast,
    concerned: false,
  },
  "a label that nobody asks for": {
    placement: decided(aPlacement(), east, west),
    after: aCluster("east", { labels: { region: "eu", tier: "gold" } }),
    concerned: false,
  },
  "a label that is preferred": {
    placement: decided(
      aPlacement({
        affinity: { clusterAffinity: { preferred: [{ weight: 1, term: { matchLabels: { tier: "gold" } } }] } },
      }),
      east,
      west,
    ),
    after: aCluster("east", { labels: { region: "eu", tier: "gold" } }),
    concerned: true,
  },
  "a label over which it spreads": {
    placement: decided(aPlacement({ strategy: "Spread", spreadConstraints: [{ topologyKey: "region" }] }), east, west),
    before: east,
    after: aCluster("east", { labels: { region: "us" } }),
    concerned: true,
  },
  "a label over which it does not spread": {
    placement: decided(aPlacement({ strategy: "Spread", spreadConstraints: [{ topologyKey: "region" }] }), east, west),
    before: east,
    after: aCluster("east", { labels: { region: "eu", tier: "gold" } }),
    concerned: false,
  },
  "another value that does not match either": {
    placement: decided(aPlacement(inUs), east, west),
    after: aCluster("east", { labels: { region: "ap" } }),
    concerned: true,
  },
  "a label that no cluster had": {
    placement: decided(aPlacement({ locationSelector: { matchLabels: { a: "1", b: "1" } } }), east, west),
    after: aCluster("east", { labels: { region: "eu", b: "1" } }),
    concerned: true,
  },
  "a cluster that is new": { placement: decided(aPlacement(inUs), west), after: east, concerned: true },
  "a cluster that is gone": {
    placement: decided(aPlacement(inUs), east, west),
    before: east,
    after: undefined,
    concerned: true,
  },
  "a cluster that was never known and is gone": {
    placement: decided(aPlacement(), west),
    before: east,
    after: undefined,
    concerned: false,
  },
  "a name that was not found and is registered": {
    placement: decided(aPlacement({ clusterNames: ["east", "west"] }), west),
    after: east,
    concerned: true,
  },
  "any change, when it has not been decided yet": { placement: aPlacement(inUs), after: downEast, concerned: true },
  "any change, when it has been changed since": {
    placement: { ...decided(aPlacement(inUs), east, west), metadata: { name: "web", generation: 2 } },
    after: downEast,
    concerned: true,
  },
  "any change, when it is being deleted": {
    placement: { ...aPlacement(), metadata: { name: "web", deletionTimestamp: ago(1) } },
    after: downEast,
    concerned: false,
  },
  "a change of a cluster, when it cannot be read": {
    placement: decided(aPlacement({ resources: { cpu: "lots" } }), east, west),
    after: downEast,
    concerned: false,
  },
};

describe("a placement is told of", () => {
  it.each(Object.entries(rows))("%s, or not", (_, { placement, before, after, concerned }) => {
    expect(mayConcern(placement, before, after)).toBe(concerned);
  });
});

describe("among many clusters", () => {
  const many = Array.from({ length: 150 }, (_, at) => aCluster(`c${String(at).padStart(3, "0")}`));
  const last = aCluster("c149");
  const downLast = aCluster("c149", { ready: "False" });

  it("one that the list has no room for is judged by what it was", () => {
    const any = decided(aPlacement(), ...many);
    expect(mayConcern(any, last, downLast)).toBe(true);
    expect(mayConcern(any, last, aCluster("c149", { labels: { tier: "gold" } }))).toBe(false);
    const named = decided(aPlacement({ clusterNames: ["c000"] }), ...many);
    expect(mayConcern(named, last, downLast)).toBe(false);
    // Nobody remembers: better woken in vain than left asleep.
    expect(mayConcern(named, undefined, downLast)).toBe(true);
  });
});

it("a cluster that fails wakes exactly those of 1,000 placements that could choose it", () => {
  const clusters = ["eu", "us", "ap"].map((region) => aCluster(region, { labels: { region } }));
  const regionOf = (at: number) => ["eu", "us", "ap"][at % 3] ?? "";
  const placements = Array.from({ length: 1000 }, (_, at) =>
    decided(aPlacement({ locationSelector: { matchLabels: { region: regionOf(at) } } }), ...clusters),
  );
  const after = aCluster("eu", { labels: { region: "eu" }, ready: "False" });
  const woken = placements.flatMap((placement, at) => (mayConcern(placement, undefined, after) ? [regionOf(at)] : []));
  expect(woken).toHaveLength(334);
  expect(new Set(woken)).toEqual(new Set(["eu"]));
});
