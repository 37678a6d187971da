import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../../../lib/api/workload-placement.ts";
import { clusterEvent, placementEvent } from "../../../../lib/cli/local/events.ts";
import { findMissing } from "../../../../lib/cli/local/snapshot.ts";

const apiVersion = "tmc.kcp.io/v1alpha1";
const condition = (status: "True" | "False", reason: string, message = "") => [
  { type: "Ready", status, reason, message, lastTransitionTime: "2026-01-01T00:00:00Z" },
];

function aCluster(
  spec: Partial<ClusterRegistration["spec"]> = {},
  status: NonNullable<ClusterRegistration["status"]> = {},
): ClusterRegistration {
  return {
    apiVersion,
    kind: "ClusterRegistration",
    metadata: { name: "east" },
    spec: { location: "here", ...spec },
    status,
  };
}
function aPlacement(status: NonNullable<WorkloadPlacement["status"]> = {}): WorkloadPlacement {
  return { apiVersion, kind: "WorkloadPlacement", metadata: { name: "web", generation: 1 }, spec: {}, status };
}

const ready = aCluster({}, { conditions: condition("True", "ClusterReady"), kubernetesVersion: "v1.36.3" });
const unhealthy = aCluster({}, { conditions: condition("False", "ClusterUnhealthy", "no answer") });
const tainted = { ...ready, spec: { ...ready.spec, taints: [{ key: "a", effect: "NoExecute" as const }] } };

const clusterRows: Record<
  string,
  [ClusterRegistration | undefined, ClusterRegistration | undefined, string | undefined]
> = {
  "the cluster was registered": [undefined, aCluster(), "registered at here"],
  "the cluster became Ready": [aCluster(), ready, "Ready: v1.36.3"],
  "the cluster is no longer Ready": [ready, unhealthy, "not Ready: ClusterUnhealthy: no answer"],
  "only the heartbeat changed": [
    ready,
    aCluster({}, { ...ready.status, lastHeartbeat: "2026-01-01T00:00:00Z" }),
    undefined,
  ],
  "the cluster was tainted": [ready, tainted, "tainted a:NoExecute"],
  "the taints were removed": [tainted, ready, "taints removed"],
  "the cluster was cordoned": [
    ready,
    { ...ready, spec: { ...ready.spec, unschedulable: true } },
    "marked as unschedulable",
  ],
  "the registration is being deleted": [
    ready,
    { ...ready, metadata: { name: "east", deletionTimestamp: "2026-01-01T00:00:00Z" } },
    "is being unregistered",
  ],
  "the registration was deleted": [ready, undefined, "unregistered"],
};

const onEast = aPlacement({
  selectedClusters: ["east"],
  conditions: condition("True", "PlacementReady", "selected east"),
});
const onWest = aPlacement({
  selectedClusters: ["west"],
  conditions: condition("True", "PlacementReady", "selected west"),
});
const withoutCluster = aPlacement({
  selectedClusters: [],
  conditions: condition("False", "NoSuitableClusters", "0 fit"),
});

const placementRows: Record<
  string,
  [WorkloadPlacement | undefined, WorkloadPlacement | undefined, string | undefined]
> = {
  "the placement is not decided yet": [undefined, aPlacement(), undefined],
  "the placement was decided": [aPlacement(), onEast, "selected east"],
  "the placement selected another cluster": [onEast, onWest, "moved from east: selected west"],
  "no cluster fits any more": [onEast, withoutCluster, "0 fit"],
  "only its labels changed": [onEast, { ...onEast, metadata: { name: "web", labels: { a: "b" } } }, undefined],
  "the placement was deleted": [onEast, undefined, "deleted"],
};

describe("events", () => {
  it.each(Object.entries(clusterRows))("clusterEvent returns the event when %s", (_, [before, after, text]) => {
    expect(clusterEvent("east", before, after)?.message).toBe(text);
  });
  it.each(Object.entries(placementRows))("placementEvent returns the event when %s", (_, [before, after, text]) => {
    expect(placementEvent("web", before, after)?.message).toBe(text);
  });
});

describe("findMissing", () => {
  const expected = { clusters: ["east"], placements: ["web"], workloads: [] };
  const decided = { ...withoutCluster, status: { ...withoutCluster.status, observedGeneration: 1 } };
  it.each([
    [
      "the workspace is empty",
      { registrations: [], placements: [] },
      ["cluster east: not found", "placement web: not found"],
    ],
    [
      "a cluster is not Ready",
      { registrations: [unhealthy], placements: [decided] },
      ["cluster east: ClusterUnhealthy: no answer"],
    ],
    ["a cluster is not probed", { registrations: [aCluster()], placements: [decided] }, ["cluster east: not probed"]],
    [
      "a decision is for an older generation",
      { registrations: [ready], placements: [withoutCluster] },
      ["placement web: not decided"],
    ],
    ["a placement is decided without a fitting cluster", { registrations: [ready], placements: [decided] }, []],
  ])("findMissing lists what is missing when %s", (_, snapshot, missing) => {
    expect(findMissing({ ...snapshot, syncRecords: [] }, expected)).toEqual(missing);
  });
});
