import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../../lib/api/cluster-registration.ts";
import { offeredWorkloads } from "../../../../lib/api/workload-kinds.ts";
import type { WorkloadPlacement } from "../../../../lib/api/workload-placement.ts";
import type { WorkloadSync } from "../../../../lib/api/workload-sync.ts";
import { clusterEvent, placementEvent, workloadEvent } from "../../../../lib/cli/local/events.ts";
import {
  findMissing,
  type SnapshotWorkload,
  snapshotWorkloads,
  type WorkspaceSnapshot,
} from "../../../../lib/cli/local/snapshot.ts";

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

const deletedAt = "2026-01-01T00:00:00Z";
const aRecord = (reason: string, message: string, clusters: readonly string[] = []): WorkloadSync => ({
  apiVersion,
  kind: "WorkloadSync",
  metadata: { name: "deployments.apps-web", namespace: "shop" },
  spec: { workload: { apiVersion: "apps/v1", kind: "Deployment", name: "web" }, placement: "shop" },
  status: {
    conditions: condition(reason === "Ready" ? "True" : "False", reason, message),
    clusters: clusters.map((name) => ({ name, state: "Evicting" })),
  },
});
const selectsNothing = aRecord("NoCluster", "the placement selects no cluster");
const workloadRows: Record<string, [WorkloadSync | undefined, WorkloadPlacement | undefined, string | undefined]> = {
  "it is ready": [aRecord("Ready", "ready on 1 of 1 clusters"), onEast, "Deployment ready on 1 of 1 clusters"],
  "its placement has no cluster": [selectsNothing, withoutCluster, "Deployment the placement selects no cluster"],
  "its placement is not decided yet": [selectsNothing, aPlacement(), undefined],
  "its placement was decided after the report": [selectsNothing, onEast, undefined],
  "it is being deleted": [
    aRecord("Deleted", "still on east", ["east"]),
    onEast,
    "Deployment is being deleted: still on east",
  ],
  "its last copy is deleted": [aRecord("Deleted", "no cluster has a copy"), onEast, undefined],
  "no placement selects it any more": [
    aRecord("NotPlaced", "still on east", ["east"]),
    undefined,
    "Deployment is selected by no placement any more: still on east",
  ],
};

/** What users ask for themselves, and what has not become worse. */
const unalarmingRows: Record<string, ReturnType<typeof clusterEvent>> = {
  "a user taints a cluster": clusterEvent("east", ready, tainted),
  "a user cordons a cluster": clusterEvent("east", ready, { ...ready, spec: { ...ready.spec, unschedulable: true } }),
  "a cluster that is being unregistered is not Ready": clusterEvent("east", ready, {
    ...unhealthy,
    metadata: { name: "east", deletionTimestamp: deletedAt },
  }),
  "a user deletes a placement": placementEvent("web", onEast, {
    ...withoutCluster,
    metadata: { name: "web", deletionTimestamp: deletedAt },
  }),
  "a placement without clusters still has none": placementEvent(
    "web",
    withoutCluster,
    aPlacement({ selectedClusters: [], conditions: condition("False", "NoSuitableClusters", "0 of 1 fits") }),
  ),
  "a user deletes a workload": workloadEvent(undefined, aRecord("Deleted", "still on east", ["east"]), () => onEast),
};

describe("events", () => {
  it.each(Object.entries(workloadRows))("workloadEvent returns the event when %s", (_, [after, placement, text]) => {
    expect(workloadEvent(undefined, after, () => placement)?.message).toBe(text);
  });
  it.each(Object.entries(unalarmingRows))("an event is not shown as a fault when %s", (_, event) => {
    expect(event?.tone).toBe("plain");
  });
  it("an event is shown as a fault when a placement loses its clusters", () => {
    expect(placementEvent("web", onEast, withoutCluster)?.tone).toBe("bad");
    expect(clusterEvent("east", ready, unhealthy)?.tone).toBe("bad");
  });
  it.each(Object.entries(clusterRows))("clusterEvent returns the event when %s", (_, [before, after, text]) => {
    expect(clusterEvent("east", before, after)?.message).toBe(text);
  });
  it.each(Object.entries(placementRows))("placementEvent returns the event when %s", (_, [before, after, text]) => {
    expect(placementEvent("web", before, after)?.message).toBe(text);
  });
});

const emptySnapshot: WorkspaceSnapshot = {
  registrations: [],
  placements: [],
  syncRecords: [],
  workloads: [],
  namespaces: [],
};

describe("snapshotWorkloads", () => {
  const workload = (kind: string, metadata: KubeObject["metadata"] = {}): SnapshotWorkload[] =>
    offeredWorkloads
      .filter((type) => type.kind === kind)
      .map((type) => ({
        type,
        object: { apiVersion: type.apiVersion, kind, metadata: { name: "blog", namespace: "blog", ...metadata } },
      }));
  const selecting = { ...onEast, spec: { workloadSelector: { namespaceSelector: { matchLabels: { team: "a" } } } } };
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "blog", labels: { team: "a" } } };

  it("a workload that no placement selects is listed with that reason", () => {
    const [listed] = snapshotWorkloads({
      ...emptySnapshot,
      placements: [selecting],
      workloads: workload("Deployment"),
    });
    expect(listed).toMatchObject({ namespace: "blog", title: "deployment.apps/blog", placement: undefined });
    expect(listed?.view).toMatchObject({ status: "NotPlaced", readiness: { message: "no placement selects it" } });
  });

  it.each<[string, Partial<WorkspaceSnapshot>]>([
    [
      "that a placement selects by its namespace",
      { placements: [selecting], namespaces: [namespace], workloads: workload("Deployment") },
    ],
    ["that is being deleted", { workloads: workload("Deployment", { deletionTimestamp: "2026-01-01T00:00:00Z" }) }],
    [
      "that mirrors an object of a cluster",
      { workloads: workload("Service", { annotations: { "tmc.kcp.io/upsync-origin": "{}" } }) },
    ],
    ["in a reserved namespace", { workloads: workload("Deployment", { namespace: "kube-system" }) }],
    ["that is synced as a dependency", { workloads: workload("PersistentVolumeClaim") }],
  ])("a workload %s is not listed as unselected", (_, snapshot) => {
    expect(snapshotWorkloads({ ...emptySnapshot, ...snapshot })).toEqual([]);
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
    expect(findMissing({ ...emptySnapshot, ...snapshot }, expected)).toEqual(missing);
  });
});
