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
  /** The number of records of each placement, and their clusters. */
  records: readonly (readonly [count: number, placement: string, clusters: readonly string[], rest?: object])[];
  /** The selected clusters by placement. */
  selected: Readonly<Record<string, readonly string[]>>;
  /** The clusters that each placement evicted from by itself. */
  evicted?: Readonly<Record<string, readonly string[]>>;
  clusters?: readonly [string, TargetCluster][];
}>;

function guardOf({ records, selected, evicted = {}, clusters = [clusterOf("east"), clusterOf("west")] }: Given) {
  const placements = Object.entries(selected).map(([name, selectedClusters]) => ({
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadPlacement" as const,
    metadata: { name },
    spec: {},
    status: {
      selectedClusters,
      evictedClusters: (evicted[name] ?? []).map((cluster) => ({
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
    remainingClusters: remainingClusters({
      placements,
      workloadOf: () => undefined,
      namespaceLabelsOf: () => undefined,
    }),
    placements: new Map(placements.map((placement) => [placement.metadata.name, placement])),
    targetClusters: new Map(clusters),
    settings: defaultDeletionGuardSettings,
  });
}

describe("the deletion guard", () => {
  const rows: Record<string, readonly [Given, held: readonly string[]]> = {
    "allows few deletions, however large their share is": [
      { records: [[10, "shop", ["east"]]], selected: { shop: ["west"] } },
      [],
    ],
    "holds many deletions that are a large share": [
      { records: [[11, "shop", ["east"]]], selected: { shop: ["west"] } },
      ["east", "west"],
    ],
    "allows many deletions that are a small share": [
      {
        records: [
          [20, "shop", ["east"]],
          [80, "rest", ["east"]],
        ],
        selected: { shop: ["west"], rest: ["east"] },
      },
      [],
    ],
    "holds more than a hundred deletions, whatever their share is": [
      {
        records: [
          [101, "shop", ["east"]],
          [2000, "rest", ["east"]],
        ],
        selected: { shop: ["west"], rest: ["east"] },
      },
      ["east", "west"],
    ],
    "holds deletions only on the cluster that would lose many copies": [
      {
        records: [
          [20, "shop", ["west"]],
          [200, "rest", ["east"]],
        ],
        selected: { shop: ["east"], rest: ["east"] },
      },
      ["west"],
    ],
    "holds deletions after the placement was deleted": [
      { records: [[50, "shop", ["east"]]], selected: {} },
      ["east", "west"],
    ],
    "counts no deletions if no cluster fits, because the copies are kept": [
      { records: [[50, "shop", ["east"]]], selected: { shop: [] } },
      [],
    ],
    "does not count workloads that their owner deletes": [
      { records: [[50, "shop", ["east"], { metadata: { deletionTimestamp: "2030-01-01T00:00:00Z" } }]], selected: {} },
      [],
    ],
    "does not count copies on a drained cluster": [
      {
        records: [[50, "shop", ["east"]]],
        selected: { shop: ["west"] },
        clusters: [clusterOf("east", { isDrained: true }), clusterOf("west")],
      },
      [],
    ],
    "does not count copies on a cluster whose registration is being deleted": [
      {
        records: [[50, "shop", ["east"]]],
        selected: { shop: ["west"] },
        clusters: [clusterOf("east", { isDeleting: true }), clusterOf("west")],
      },
      [],
    ],
    "counts copies that were to be evicted while their cluster was not Ready": [
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
      ["east", "west"],
    ],
    "does not count copies that the placement evicted by itself": [
      { records: [[50, "shop", ["east", "west"]]], selected: { shop: ["west"] }, evicted: { shop: ["east"] } },
      [],
    ],
    "counts copies that only another placement evicted by itself": [
      {
        records: [[50, "shop", ["east", "west"]]],
        selected: { shop: ["west"], rest: ["west"] },
        evicted: { rest: ["east"] },
      },
      ["east", "west"],
    ],
  };
  it.each(Object.entries(rows))("%s", (_, [given, held]) => {
    const guard = guardOf(given);
    expect(["east", "west"].filter((name) => guard(name, undefined) !== undefined)).toEqual(held);
  });

  it("reports how many deletions are held, what keeps the copies, and the command that deletes them", () => {
    const all = guardOf({ records: [[11, "shop", ["east"]]], selected: {} });
    expect(all("east", "shop")).toBe(
      "11 of 11 copies in the workspace would be deleted at once; to keep them, restore placement shop or the labels that it " +
        "selects; to delete them, run: tmc confirm --all --placement shop",
    );
    const some = guardOf({
      records: [
        [11, "shop", ["east"]],
        [50, "rest", ["west"]],
      ],
      selected: { rest: ["west"] },
    });
    expect(some("east", undefined)).toBe(
      "11 of 11 copies on cluster east would be deleted at once; to delete them, run: tmc confirm --all --cluster east",
    );
  });
});
