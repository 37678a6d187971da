import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { mayAffect } from "../../../lib/placement/affected.ts";
import { decidePlacement } from "../../../lib/placement/decide.ts";
import type { ClusterFacts } from "../../../lib/placement/observed.ts";
import { aCluster, ago, aPlacement, now } from "../../support/placement-builders.ts";

const east = aCluster("east", { labels: { region: "eu" } });
const west = aCluster("west", { labels: { region: "us" } });
const downEast = aCluster("east", { labels: { region: "eu" }, ready: "False", since: ago(1) });

function decided(placement: WorkloadPlacement, ...clusters: readonly ClusterFacts[]): WorkloadPlacement {
  return { ...placement, status: decidePlacement({ placement, clusters, nowMs: now }).status };
}

type Row = Readonly<{
  placement: WorkloadPlacement;
  before?: ClusterFacts;
  after: ClusterFacts | undefined;
  isAffected: boolean;
}>;
const inUs = { locationSelector: { matchLabels: { region: "us" } } };
const rows: Record<string, Row> = {
  "is affected by a selected cluster that loses Ready": {
    placement: decided(aPlacement(), east, west),
    after: downEast,
    isAffected: true,
  },
  "is affected by an unselected cluster that fits and loses Ready": {
    placement: decided(aPlacement({}, { selected: ["west"] }), east, west),
    after: downEast,
    isAffected: true,
  },
  "is not affected by a rejected cluster that loses Ready too": {
    placement: decided(aPlacement(inUs), east, west),
    after: downEast,
    isAffected: false,
  },
  "is not affected by a cluster that clusterNames excludes": {
    placement: decided(aPlacement({ clusterNames: ["west"] }), east, west),
    after: downEast,
    isAffected: false,
  },
  "is affected by a rejected cluster that is not Ready with another status": {
    placement: decided(aPlacement({}, { selected: ["west"] }), downEast, west),
    after: aCluster("east", { labels: { region: "eu" }, ready: "Unknown" }),
    isAffected: true,
  },
  "is not affected by a new transition time of an unselected cluster that is not Ready": {
    placement: decided(aPlacement({}, { selected: ["west"] }), downEast, west),
    after: aCluster("east", { labels: { region: "eu" }, ready: "False", since: ago(99) }),
    isAffected: false,
  },
  "is affected by a new transition time of a selected cluster that is not Ready": {
    placement: decided(aPlacement({}, { selected: ["east"] }), downEast, west),
    after: aCluster("east", { labels: { region: "eu" }, ready: "False", since: ago(99) }),
    isAffected: true,
  },
  "is not affected by an unchanged selected cluster that is not Ready": {
    placement: decided(aPlacement({}, { selected: ["east"] }), downEast, west),
    after: downEast,
    isAffected: false,
  },
  "is not affected by a label that the spec does not use": {
    placement: decided(aPlacement(), east, west),
    after: aCluster("east", { labels: { region: "eu", tier: "gold" } }),
    isAffected: false,
  },
  "is affected by a label that a preferred term matches": {
    placement: decided(
      aPlacement({
        affinity: { clusterAffinity: { preferred: [{ weight: 1, term: { matchLabels: { tier: "gold" } } }] } },
      }),
      east,
      west,
    ),
    after: aCluster("east", { labels: { region: "eu", tier: "gold" } }),
    isAffected: true,
  },
  "is affected by another value of a topology key": {
    placement: decided(aPlacement({ strategy: "Spread", spreadConstraints: [{ topologyKey: "region" }] }), east, west),
    before: east,
    after: aCluster("east", { labels: { region: "us" } }),
    isAffected: true,
  },
  "is not affected by a label that is not a topology key": {
    placement: decided(aPlacement({ strategy: "Spread", spreadConstraints: [{ topologyKey: "region" }] }), east, west),
    before: east,
    after: aCluster("east", { labels: { region: "eu", tier: "gold" } }),
    isAffected: false,
  },
  "is affected by another label value that does not match either, since the decision shows it": {
    placement: decided(aPlacement(inUs), east, west),
    after: aCluster("east", { labels: { region: "ap" } }),
    isAffected: true,
  },
  "is affected by a label that satisfies a requirement that no cluster satisfied": {
    placement: decided(aPlacement({ locationSelector: { matchLabels: { a: "1", b: "1" } } }), east, west),
    after: aCluster("east", { labels: { region: "eu", b: "1" } }),
    isAffected: true,
  },
  "is affected by a new cluster": { placement: decided(aPlacement(inUs), west), after: east, isAffected: true },
  "is affected by the removal of a cluster": {
    placement: decided(aPlacement(inUs), east, west),
    before: east,
    after: undefined,
    isAffected: true,
  },
  "is not affected by the removal of a cluster without a decision": {
    placement: decided(aPlacement(), west),
    before: east,
    after: undefined,
    isAffected: false,
  },
  "is affected by the registration of a name that was not found": {
    placement: decided(aPlacement({ clusterNames: ["east", "west"] }), west),
    after: east,
    isAffected: true,
  },
  "is affected by any change before its first decision": {
    placement: aPlacement(inUs),
    after: downEast,
    isAffected: true,
  },
  "is affected by any change if its spec has changed since the decision": {
    placement: { ...decided(aPlacement(inUs), east, west), metadata: { name: "web", generation: 2 } },
    after: downEast,
    isAffected: true,
  },
  "is not affected by any change if it is being deleted": {
    placement: { ...aPlacement(), metadata: { name: "web", deletionTimestamp: ago(1) } },
    after: downEast,
    isAffected: false,
  },
  "is not affected by the change of a cluster if its spec is invalid": {
    placement: decided(aPlacement({ resources: { cpu: "lots" } }), east, west),
    after: downEast,
    isAffected: false,
  },
};

describe("mayAffect", () => {
  it.each(Object.entries(rows))("a placement %s", (_, { placement, before, after, isAffected }) => {
    expect(mayAffect(placement, before, after)).toBe(isAffected);
  });
});

describe("mayAffect with omitted decisions", () => {
  const many = Array.from({ length: 150 }, (_, index) => aCluster(`c${String(index).padStart(3, "0")}`));
  const last = aCluster("c149");
  const downLast = aCluster("c149", { ready: "False" });

  it("compares the facts before and after for a cluster whose decision is omitted", () => {
    const any = decided(aPlacement(), ...many);
    expect(mayAffect(any, last, downLast)).toBe(true);
    expect(mayAffect(any, last, aCluster("c149", { labels: { tier: "gold" } }))).toBe(false);
    const named = decided(aPlacement({ clusterNames: ["c000"] }), ...many);
    expect(mayAffect(named, last, downLast)).toBe(false);
    // Without the facts before the change a false positive is better than a missed change.
    expect(mayAffect(named, undefined, downLast)).toBe(true);
  });
});

it("a cluster that loses Ready affects exactly those of 1,000 placements that could select it", () => {
  const clusters = ["eu", "us", "ap"].map((region) => aCluster(region, { labels: { region } }));
  const regionOf = (index: number) => ["eu", "us", "ap"][index % 3] ?? "";
  const placements = Array.from({ length: 1000 }, (_, index) =>
    decided(aPlacement({ locationSelector: { matchLabels: { region: regionOf(index) } } }), ...clusters),
  );
  const after = aCluster("eu", { labels: { region: "eu" }, ready: "False" });
  const affected = placements.flatMap((placement, index) =>
    mayAffect(placement, undefined, after) ? [regionOf(index)] : [],
  );
  expect(affected).toHaveLength(334);
  expect(new Set(affected)).toEqual(new Set(["eu"]));
});
