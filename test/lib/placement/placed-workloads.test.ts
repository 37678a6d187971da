import { describe, expect, it } from "vitest";
import type { CopyState, WorkloadSync } from "../../../lib/api/workload-sync.ts";
import type { PlacementStatus } from "../../../lib/placement/explain.ts";
import { placedBounds, placedEntry, placedWorkloads, withPlaced } from "../../../lib/placement/placed-workloads.ts";

const since = "2030-01-01T00:00:00Z";
const nowMs = Date.parse("2030-01-01T01:00:00Z");

function aRecord(
  name: string,
  { states = ["Ready"], isReady = true }: Readonly<{ states?: readonly CopyState[]; isReady?: boolean }> = {},
): WorkloadSync {
  const clusters = states.map((_, at) => `c${at}`);
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadSync",
    metadata: { name: `deployments-${name}`, namespace: "shop" },
    spec: { workload: { apiVersion: "apps/v1", kind: "Deployment", name }, placement: "web", clusters },
    status: {
      clusters: states.map((state, at) => ({ name: `c${at}`, state })),
      conditions: [
        { type: "Ready", status: isReady ? "True" : "False", reason: "Test", message: "", lastTransitionTime: since },
      ],
    },
  };
}

describe("a placed workload", () => {
  it("is shown with its clusters, its state, and since when", () => {
    expect(placedEntry(aRecord("web", { states: ["Ready", "Ready"] }))).toEqual({
      apiVersion: "apps/v1",
      kind: "Deployment",
      namespace: "shop",
      name: "web",
      state: "Ready",
      clusters: ["c0", "c1"],
      since,
    });
  });

  const worst: readonly (readonly [CopyState, readonly CopyState[]])[] = [
    ["Failed", ["Ready", "Failed", "Held"]],
    ["Held", ["Stale", "Held", "Ready"]],
    ["Stale", ["Ready", "Stale", "Pending"]],
    ["Pending", ["Applied", "Pending"]],
    ["Applied", ["Ready", "Applied"]],
    ["Pending", []],
  ];
  it.each(worst)("is %s with copies that are %j", (state, states) => {
    expect(placedEntry(aRecord("web", { states, isReady: false })).state).toBe(state);
  });

  it("names no more clusters than there is room for", () => {
    const { clusters, moreClusters } = placedEntry(
      aRecord("web", { states: Array.from({ length: 12 }, () => "Ready") }),
    );
    expect([clusters?.length, moreClusters]).toEqual([10, 2]);
  });
});

describe("the list of a placement", () => {
  it("has those first that need somebody to look", () => {
    const records = [aRecord("a"), aRecord("b", { states: ["Failed"], isReady: false }), aRecord("c")];
    expect(placedWorkloads(records).placedWorkloads?.map(({ name }) => name)).toEqual(["b", "a", "c"]);
    expect(placedWorkloads(records.toReversed())).toEqual(placedWorkloads(records));
  });

  it("stays below its bounds with a thousand workloads of the longest names, and counts the rest", () => {
    const long = "x".repeat(240);
    const records = Array.from({ length: 1_000 }, (_, at) => aRecord(`${long}-${at}`, { states: ["Ready", "Ready"] }));
    const list = placedWorkloads(records);
    expect(JSON.stringify(list).length).toBeLessThan(placedBounds.bytes + 500);
    const listed = list.placedWorkloads?.length ?? 0;
    expect(listed).toBeGreaterThan(50);
    expect(list.placedWorkloadsOmitted).toEqual({
      count: 1_000 - listed,
      states: [{ state: "Ready", count: 1_000 - listed }],
    });
  });

  it("is written at once after a quiet time, then not before some seconds are over", () => {
    const before: PlacementStatus = { selectedClusters: ["c0"] };
    const first = withPlaced({ before, status: before, records: [aRecord("a")], nowMs });
    expect(first.status.placedWorkloads).toHaveLength(1);
    const { status } = first;
    const records = [aRecord("a"), aRecord("b")];
    expect(withPlaced({ before: status, status, records, nowMs: nowMs + 2_000 })).toEqual({ status, againSeconds: 3 });
    const later = withPlaced({ before: status, status, records, nowMs: nowMs + 5_000 });
    expect(later.status.placedWorkloads).toHaveLength(2);
    expect(withPlaced({ before: later.status, status: later.status, records, nowMs: nowMs + 9_000 })).toEqual({
      status: later.status,
    });
  });

  it("goes along with a decision that is written anyway", () => {
    const before: PlacementStatus = {
      ...withPlaced({ before: {}, status: {}, records: [aRecord("a")], nowMs }).status,
    };
    const status = { ...before, selectedClusters: ["c1"] };
    const records = [aRecord("a"), aRecord("b")];
    expect(withPlaced({ before, status, records, nowMs: nowMs + 1_000 }).status.placedWorkloads).toHaveLength(2);
  });

  it("goes when there are none any more", () => {
    const { status } = withPlaced({ before: {}, status: {}, records: [aRecord("a")], nowMs });
    const after = withPlaced({ before: status, status, records: [], nowMs: nowMs + 60_000 });
    expect(after.status.placedWorkloads).toBeUndefined();
  });
});
