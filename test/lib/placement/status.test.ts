import { describe, expect, it } from "vitest";
import { decidePlacement } from "../../../lib/placement/decide.ts";
import type { PlacementStatus } from "../../../lib/placement/explain.ts";
import { type HistoryEntry, historyAfter } from "../../../lib/placement/status.ts";
import { cachedClusterFacts } from "../../../lib/placement/world.ts";
import { aPlacement, aRegistration } from "../../support/placement-builders.ts";

const nowMs = Date.parse("2030-01-01T00:00:00Z");
const nextHistory = (before: PlacementStatus, selected: readonly string[], generation = 1): readonly HistoryEntry[] =>
  historyAfter({ before, generation, selected, decisions: [], nowMs });

describe("status.history of a placement", () => {
  it("adds no entry while the same clusters are selected", () => {
    const history: HistoryEntry[] = [{ time: "2029-01-01T00:00:00Z", reason: "FirstDecision", clusters: 2 }];
    expect(nextHistory({ selectedClusters: ["a", "b"], history }, ["b", "a"])).toBe(history);
    expect(nextHistory({}, [])).toEqual([]);
  });

  it("records what changed, when, and whether the placement or the clusters changed", () => {
    expect(nextHistory({}, ["a"])).toMatchObject([
      { time: "2030-01-01T00:00:00Z", reason: "FirstDecision", clusters: 1, added: ["a"], generation: 1 },
    ]);
    const before = { selectedClusters: ["a", "b"], observedGeneration: 1 };
    expect(nextHistory(before, ["b", "c"])).toMatchObject([
      {
        reason: "ClustersChanged",
        added: ["c"],
        removed: ["a"],
        message: "a removed: it is no longer registered; c added: selected",
      },
    ]);
    expect(nextHistory(before, ["b"], 2)).toMatchObject([{ reason: "PlacementChanged", removed: ["a"], clusters: 1 }]);
  });

  it("keeps ten entries, the latest first, and stays short with many clusters", () => {
    let status: PlacementStatus = {};
    for (let round = 0; round < 15; round += 1) {
      const selected = Array.from({ length: 500 }, (_, index) => `${"cluster".repeat(20)}-${round}-${index}`);
      status = { selectedClusters: selected, history: nextHistory(status, selected), observedGeneration: 1 };
    }
    expect(status.history).toHaveLength(10);
    expect(status.history?.[0]?.added?.[0]).toContain("-14-");
    expect(JSON.stringify(status.history).length).toBeLessThan(40_000);
  });

  it("is part of the decided status and contains the reason of a removed cluster", () => {
    const clusters = [aRegistration("a"), aRegistration("b")].map(cachedClusterFacts);
    const placement = aPlacement({ strategy: "Spread" });
    const first = decidePlacement({ placement, clusters, nowMs });
    expect(first.status.history).toMatchObject([
      { added: ["a", "b"], message: "a added: selected by Spread; b added: selected by Spread" },
    ]);
    const again = decidePlacement({
      placement: { ...placement, status: first.status },
      clusters,
      nowMs: nowMs + 1_000,
    });
    expect(again.status).toEqual(first.status);
    const named = { ...placement, spec: { ...placement.spec, clusterNames: ["b"] }, status: first.status };
    expect(decidePlacement({ placement: named, clusters, nowMs }).status.history?.[0]).toMatchObject({
      removed: ["a"],
      message: "a removed: clusterNames does not name the cluster",
    });
  });
});
