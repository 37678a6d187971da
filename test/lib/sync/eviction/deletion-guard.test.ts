import { describe, expect, it } from "vitest";
import { createDeletionGuard, defaultDeletionGuardSettings } from "../../../../lib/sync/eviction/deletion-guard.ts";
import { remainingClusters } from "../../../../lib/sync/eviction/remaining-clusters.ts";
import type { TargetCluster } from "../../../../lib/sync/sync-objects.ts";

const clusterOf = (name: string, rest: Partial<TargetCluster> = {}): [string, TargetCluster] => [
  name,
  {
    name,
    location: "",
    labels: new Map(),
    isReady: true,
    isDeleting: false,
    isDrained: false,
    lastHeartbeat: undefined,
    apis: undefined,
    milliCpu: undefined,
    ...rest,
  },
];
const workload = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };

type Given = Readonly<{
  /** How many records each placement has, and on which clusters. */
  records: readonly (readonly [count: number, placement: string, clusters: readonly string[], rest?: object])[];
  /** What each placement selects. */
  selected: Readonly<Record<string, readonly string[]>>;
  /** What each placement has left by itself. */
  left?: Readonly<Record<string, readonly string[]>>;
  clusters?: readonly [string, TargetCluster][];
}>;

function brakeOf({ records, selected, left = {}, clusters = [clusterOf("east"), clusterOf("west")] }: Given) {
  const placements = Object.entries(selected).map(([name, selectedClusters]) => ({
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadPlacement" as const,
    metadata: { name },
    spec: {},
    status: {
      selectedClusters,
      evictedClusters: (left[name] ?? []).map((cluster) => ({
        cluster,
        reason: "NotReady",
        at: "2030-01-01T00:00:00Z",
      })),
    },
  }));
  return createDeletionGuard({
    records: records.flatMap(([count, placement, on, rest]) =>
      Array.from({ length: count }, () => ({ metadata: {}, spec: { workload, placement, clusters: on }, ...rest })),
    ),
    staysOn: remainingClusters({ placements, workloadOf: () => undefined, namespaceLabelsOf: () => undefined }),
    placements: new Map(placements.map((placement) => [placement.metadata.name, placement])),
    clusters: new Map(clusters),
    settings: defaultDeletionGuardSettings,
  });
}

describe("the deletion brake", () => {
  const rows: Record<string, readonly [Given, held: readonly string[]]> = {
    "lets a few go, however large their share is": [
      { records: [[10, "shop", ["east"]]], selected: { shop: ["west"] } },
      [],
    ],
    "holds many that are a large share": [
      { records: [[11, "shop", ["east"]]], selected: { shop: ["west"] } },
      ["east", "west"],
    ],
    "lets many go that are a small share": [
      {
        records: [
          [20, "shop", ["east"]],
          [80, "rest", ["east"]],
        ],
        selected: { shop: ["west"], rest: ["east"] },
      },
      [],
    ],
    "holds more than a hundred, whatever share they are": [
      {
        records: [
          [101, "shop", ["east"]],
          [2000, "rest", ["east"]],
        ],
        selected: { shop: ["west"], rest: ["east"] },
      },
      ["east", "west"],
    ],
    "holds only the cluster that many leave": [
      {
        records: [
          [20, "shop", ["west"]],
          [200, "rest", ["east"]],
        ],
        selected: { shop: ["east"], rest: ["east"] },
      },
      ["west"],
    ],
    "holds when the placement has gone": [{ records: [[50, "shop", ["east"]]], selected: {} }, ["east", "west"]],
    "counts none when nothing fits: they stay": [{ records: [[50, "shop", ["east"]]], selected: { shop: [] } }, []],
    "counts none that its owner deleted": [
      { records: [[50, "shop", ["east"], { metadata: { deletionTimestamp: "2030-01-01T00:00:00Z" } }]], selected: {} },
      [],
    ],
    "counts none on a cluster that is drained": [
      {
        records: [[50, "shop", ["east"]]],
        selected: { shop: ["west"] },
        clusters: [clusterOf("east", { isDrained: true }), clusterOf("west")],
      },
      [],
    ],
    "counts none on a cluster that is taken away": [
      {
        records: [[50, "shop", ["east"]]],
        selected: { shop: ["west"] },
        clusters: [clusterOf("east", { isDeleting: true }), clusterOf("west")],
      },
      [],
    ],
    "counts none that were left behind when their cluster died": [
      {
        records: [
          [
            50,
            "shop",
            ["east", "west"],
            { status: { clusters: [{ name: "east", state: "Evicting", reason: "ClusterNotReady" }] } },
          ],
        ],
        selected: { shop: ["west"] },
      },
      [],
    ],
    "counts none on a cluster that the placement has left by itself": [
      { records: [[50, "shop", ["east", "west"]]], selected: { shop: ["west"] }, left: { shop: ["east"] } },
      [],
    ],
    "counts those that another placement has left by itself": [
      {
        records: [[50, "shop", ["east", "west"]]],
        selected: { shop: ["west"], rest: ["west"] },
        left: { rest: ["east"] },
      },
      ["east", "west"],
    ],
  };
  it.each(Object.entries(rows))("%s", (_, [given, held]) => {
    const brake = brakeOf(given);
    expect(["east", "west"].filter((name) => brake(name) !== undefined)).toEqual(held);
  });

  it("says how many, and what to do", () => {
    const brake = brakeOf({ records: [[11, "shop", ["east"]]], selected: {} });
    expect(brake("east")).toBe('11 of 11 copies in the workspace would leave at once; confirm it with "tmc confirm"');
  });
});
