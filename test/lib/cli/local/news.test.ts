import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../../../lib/api/workload-placement.ts";
import { missingIn } from "../../../../lib/cli/local/facts.ts";
import { clusterNews, placementNews } from "../../../../lib/cli/local/news.ts";

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
const sick = aCluster({}, { conditions: condition("False", "ClusterUnhealthy", "no answer") });
const tainted = { ...ready, spec: { ...ready.spec, taints: [{ key: "a", effect: "NoExecute" as const }] } };

const ofClusters: Record<
  string,
  [ClusterRegistration | undefined, ClusterRegistration | undefined, string | undefined]
> = {
  "it was registered": [undefined, aCluster(), "registered at here"],
  "it turned Ready": [aCluster(), ready, "Ready: v1.36.3"],
  "it is no longer Ready": [ready, sick, "not Ready: ClusterUnhealthy: no answer"],
  "a heartbeat": [ready, aCluster({}, { ...ready.status, lastHeartbeat: "2026-01-01T00:00:00Z" }), undefined],
  "it was tainted": [ready, tainted, "is tainted a:NoExecute"],
  "its taints went": [tainted, ready, "has no more taints"],
  "it was cordoned": [ready, { ...ready, spec: { ...ready.spec, unschedulable: true } }, "takes no new work"],
  "it is leaving": [
    ready,
    { ...ready, metadata: { name: "east", deletionTimestamp: "2026-01-01T00:00:00Z" } },
    "is being unregistered",
  ],
  "it has gone": [ready, undefined, "unregistered"],
};

const onEast = aPlacement({
  selectedClusters: ["east"],
  conditions: condition("True", "PlacementReady", "chose east"),
});
const onWest = aPlacement({
  selectedClusters: ["west"],
  conditions: condition("True", "PlacementReady", "chose west"),
});
const nowhere = aPlacement({ selectedClusters: [], conditions: condition("False", "NoSuitableClusters", "0 fit") });

const ofPlacements: Record<string, [WorkloadPlacement | undefined, WorkloadPlacement | undefined, string | undefined]> =
  {
    "it is not decided yet": [undefined, aPlacement(), undefined],
    "it was decided": [aPlacement(), onEast, "chose east"],
    "it moved": [onEast, onWest, "moved from east: chose west"],
    "it has nowhere to go": [onEast, nowhere, "0 fit"],
    "nothing of it changed": [onEast, { ...onEast, metadata: { name: "web", labels: { a: "b" } } }, undefined],
    "it has gone": [onEast, undefined, "deleted"],
  };

describe("what there is to tell", () => {
  it.each(Object.entries(ofClusters))("of a cluster when %s", (_, [before, after, text]) => {
    expect(clusterNews("east", before, after)?.text).toBe(text);
  });
  it.each(Object.entries(ofPlacements))("of a placement when %s", (_, [before, after, text]) => {
    expect(placementNews("web", before, after)?.text).toBe(text);
  });
});

describe("what is missing until everything is settled", () => {
  const expected = { clusters: ["east"], placements: ["web"], workloads: [] };
  const settled = { ...nowhere, status: { ...nowhere.status, observedGeneration: 1 } };
  it.each([
    ["nothing has been seen", { clusters: [], placements: [] }, ["cluster east: not seen", "placement web: not seen"]],
    [
      "a cluster is not Ready",
      { clusters: [sick], placements: [settled] },
      ["cluster east: ClusterUnhealthy: no answer"],
    ],
    ["nobody has looked", { clusters: [aCluster()], placements: [settled] }, ["cluster east: not looked at"]],
    ["a decision is of an older spec", { clusters: [ready], placements: [nowhere] }, ["placement web: not decided"]],
    ["a placement is decided, even to go nowhere", { clusters: [ready], placements: [settled] }, []],
  ])("when %s", (_, facts, missing) => {
    expect(missingIn({ ...facts, records: [] }, expected)).toEqual(missing);
  });
});
