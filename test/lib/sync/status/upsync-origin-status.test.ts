import { describe, expect, it } from "vitest";
import { offeredWorkloads } from "../../../../lib/api/workload-kinds.ts";
import type { WorkloadPlacement } from "../../../../lib/api/workload-placement.ts";
import { decideIntent } from "../../../../lib/sync/decide.ts";
import { upsyncOriginOutcomes } from "../../../../lib/sync/status/upsync-origin-status.ts";

const web = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "shop" },
  spec: { replicas: 2 },
};
const everywhere: WorkloadPlacement = {
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadPlacement",
  metadata: { name: "all" },
  spec: { workloadSelector: {} },
  status: { selectedClusters: ["east", "north", "west"] },
};
const [type] = offeredWorkloads.filter(({ kind }) => kind === "Deployment");
if (type === undefined) throw new Error("Deployments are offered");

describe("an upsynced workload", () => {
  it("an upsynced workload gets no copy on its origin cluster", () => {
    const facts = { workload: web, record: undefined, placement: everywhere, references: [] };
    expect(decideIntent({ ...facts, upsyncOriginCluster: "east" })).toMatchObject({
      targets: ["north", "west"],
      clusters: ["north", "west"],
    });
    expect(decideIntent(facts).targets).toEqual(["east", "north", "west"]);
  });

  it("the original of an upsynced workload is reported as one of the clusters", () => {
    const status = { observedGeneration: 3, replicas: 2, readyReplicas: 2, availableReplicas: 2, updatedReplicas: 2 };
    const copy = { uid: "1", resourceVersion: "9", generation: 3, isDeleting: false, status };
    const [outcome] = upsyncOriginOutcomes({ upsyncOrigin: { targetCluster: "east", copy }, type, workload: web });
    expect(outcome).toMatchObject({
      record: { name: "east", state: "Ready", desiredReplicas: 2, readyReplicas: 2 },
      copy,
    });
    // TMC wrote nothing there.
    expect(outcome?.record).not.toHaveProperty("appliedHash");
  });

  it("an original that cannot be read is reported as stale", () => {
    const [outcome] = upsyncOriginOutcomes({
      upsyncOrigin: { targetCluster: "east", copy: undefined },
      type,
      workload: web,
    });
    expect(outcome).toMatchObject({ record: { name: "east", state: "Stale", reason: "ClusterNotReady" } });
    expect(outcome?.copy).toBeUndefined();
  });

  it("no original is reported for a workload that is not upsynced", () => {
    expect(upsyncOriginOutcomes({ upsyncOrigin: undefined, type, workload: web })).toEqual([]);
  });
});
