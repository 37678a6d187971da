import { describe, expect, it } from "vitest";
import type { CopyState, WorkloadSync } from "../../../lib/api/workload-sync.ts";
import type { PlacementStatus } from "../../../lib/placement/explain.ts";
import {
  placedBounds,
  placedEntry,
  placedWorkloads,
  withPlacedWorkloads,
} from "../../../lib/placement/placed-workloads.ts";

const since = "2030-01-01T00:00:00Z";
const nowMs = Date.parse("2030-01-01T01:00:00Z");

function aSyncRecord(
  name: string,
  { states = ["Ready"], isReady = true }: Readonly<{ states?: readonly CopyState[]; isReady?: boolean }> = {},
): WorkloadSync {
  const clusters = states.map((_, index) => `c${index}`);
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadSync",
    metadata: { name: `deployments-${name}`, namespace: "shop" },
    spec: { workload: { apiVersion: "apps/v1", kind: "Deployment", name }, placement: "web", clusters },
    status: {
      clusters: states.map((state, index) => ({ name: `c${index}`, state })),
      conditions: [
        { type: "Ready", status: isReady ? "True" : "False", reason: "Test", message: "", lastTransitionTime: since },
      ],
    },
  };
}

describe("placedEntry", () => {
  it("shows clusters, state and transition time of a placed workload", () => {
    expect(placedEntry(aSyncRecord("web", { states: ["Ready", "Ready"] }))).toEqual({
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
  it.each(worst)("shows the state %s for a workload whose copies are %j", (state, states) => {
    expect(placedEntry(aSyncRecord("web", { states, isReady: false })).state).toBe(state);
  });

  it("lists at most 10 clusters of a placed workload and counts the others", () => {
    const { clusters, moreClusters } = placedEntry(
      aSyncRecord("web", { states: Array.from({ length: 12 }, () => "Ready") }),
    );
    expect([clusters?.length, moreClusters]).toEqual([10, 2]);
  });
});

describe("status.placedWorkloads", () => {
  it("lists the most urgent workloads first", () => {
    const records = [aSyncRecord("a"), aSyncRecord("b", { states: ["Failed"], isReady: false }), aSyncRecord("c")];
    expect(placedWorkloads(records).placedWorkloads?.map(({ name }) => name)).toEqual(["b", "a", "c"]);
    expect(placedWorkloads(records.toReversed())).toEqual(placedWorkloads(records));
  });

  it("stays within its bounds with a thousand workloads with long names, and counts the omitted ones", () => {
    const long = "x".repeat(240);
    const records = Array.from({ length: 1_000 }, (_, index) =>
      aSyncRecord(`${long}-${index}`, { states: ["Ready", "Ready"] }),
    );
    const list = placedWorkloads(records);
    expect(JSON.stringify(list).length).toBeLessThan(placedBounds.bytes + 500);
    const listed = list.placedWorkloads?.length ?? 0;
    expect(listed).toBeGreaterThan(50);
    expect(list.placedWorkloadsOmitted).toEqual({
      count: 1_000 - listed,
      states: [{ state: "Ready", count: 1_000 - listed }],
    });
  });

  it("writes the placed workloads at once, then not again before the debounce time is over", () => {
    const before: PlacementStatus = { selectedClusters: ["c0"] };
    const first = withPlacedWorkloads({ before, status: before, syncRecords: [aSyncRecord("a")], nowMs });
    expect(first.status.placedWorkloads).toHaveLength(1);
    const { status } = first;
    const syncRecords = [aSyncRecord("a"), aSyncRecord("b")];
    expect(withPlacedWorkloads({ before: status, status, syncRecords, nowMs: nowMs + 2_000 })).toEqual({
      status,
      requeueSeconds: 3,
    });
    const later = withPlacedWorkloads({ before: status, status, syncRecords, nowMs: nowMs + 5_000 });
    expect(later.status.placedWorkloads).toHaveLength(2);
    expect(
      withPlacedWorkloads({ before: later.status, status: later.status, syncRecords, nowMs: nowMs + 9_000 }),
    ).toEqual({
      status: later.status,
    });
  });

  it("writes the placed workloads within the debounce time if the status is written anyway", () => {
    const before: PlacementStatus = {
      ...withPlacedWorkloads({ before: {}, status: {}, syncRecords: [aSyncRecord("a")], nowMs }).status,
    };
    const status = { ...before, selectedClusters: ["c1"] };
    const syncRecords = [aSyncRecord("a"), aSyncRecord("b")];
    expect(
      withPlacedWorkloads({ before, status, syncRecords, nowMs: nowMs + 1_000 }).status.placedWorkloads,
    ).toHaveLength(2);
  });

  it("removes the list when no workload is placed any more", () => {
    const { status } = withPlacedWorkloads({ before: {}, status: {}, syncRecords: [aSyncRecord("a")], nowMs });
    const after = withPlacedWorkloads({ before: status, status, syncRecords: [], nowMs: nowMs + 60_000 });
    expect(after.status.placedWorkloads).toBeUndefined();
  });
});
