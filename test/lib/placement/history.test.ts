import { describe, expect, it } from "vitest";
import { decide } from "../../../lib/placement/decide.ts";
import type { PlacementStatus } from "../../../lib/placement/explain.ts";
import { type HistoryEntry, historyAfter } from "../../../lib/placement/status.ts";
import { factsOf } from "../../../lib/placement/world.ts";
import { aPlacement, aRegistration } from "./builders.ts";

const nowMs = Date.parse("2030-01-01T00:00:00Z");
const rememberedAfter = (
  before: PlacementStatus,
  selected: readonly string[],
  generation = 1,
): readonly HistoryEntry[] => historyAfter({ before, generation, selected, decisions: [], nowMs });

describe("what a placement remembers", () => {
  it("is nothing while the same clusters are chosen", () => {
    const history: HistoryEntry[] = [{ time: "2029-01-01T00:00:00Z", reason: "FirstDecision", clusters: 2 }];
    expect(rememberedAfter({ selectedClusters: ["a", "b"], history }, ["b", "a"])).toBe(history);
    expect(rememberedAfter({}, [])).toEqual([]);
  });

  it("says what changed, when, and whether a person has changed the placement", () => {
    expect(rememberedAfter({}, ["a"])).toMatchObject([
      { time: "2030-01-01T00:00:00Z", reason: "FirstDecision", clusters: 1, added: ["a"], generation: 1 },
    ]);
    const before = { selectedClusters: ["a", "b"], observedGeneration: 1 };
    expect(rememberedAfter(before, ["b", "c"])).toMatchObject([
      {
        reason: "ClustersChanged",
        added: ["c"],
        removed: ["a"],
        message: "a left: it is not registered any more; c joined: chosen",
      },
    ]);
    expect(rememberedAfter(before, ["b"], 2)).toMatchObject([
      { reason: "PlacementChanged", removed: ["a"], clusters: 1 },
    ]);
  });

  it("is ten decisions at most, the last first, and short however many clusters there are", () => {
    let status: PlacementStatus = {};
    for (let round = 0; round < 15; round += 1) {
      const selected = Array.from({ length: 500 }, (_, at) => `${"cluster".repeat(20)}-${round}-${at}`);
      status = { selectedClusters: selected, history: rememberedAfter(status, selected), observedGeneration: 1 };
    }
    expect(status.history).toHaveLength(10);
    expect(status.history?.[0]?.added?.[0]).toContain("-14-");
    expect(JSON.stringify(status.history).length).toBeLessThan(40_000);
  });

  it("is part of what was decided, with the reason of the cluster that left", () => {
    const clusters = [aRegistration("a"), aRegistration("b")].map(factsOf);
    const placement = aPlacement({ strategy: "Spread" });
    const first = decide({ placement, clusters, nowMs });
    expect(first.status.history).toMatchObject([
      { added: ["a", "b"], message: "a joined: chosen by Spread; b joined: chosen by Spread" },
    ]);
    const again = decide({ placement: { ...placement, status: first.status }, clusters, nowMs: nowMs + 1_000 });
    expect(again.status).toEqual(first.status);
    const named = { ...placement, spec: { ...placement.spec, clusterNames: ["b"] }, status: first.status };
    expect(decide({ placement: named, clusters, nowMs }).status.history?.[0]).toMatchObject({
      removed: ["a"],
      message: "a left: clusterNames does not name it",
    });
  });
});
