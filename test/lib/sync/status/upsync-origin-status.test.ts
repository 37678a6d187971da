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

describe("a workload that was born on a cluster", () => {
  it("never returns there as a copy", () => {
    const facts = { workload: web, record: undefined, placement: everywhere, references: [] };
    expect(decideIntent({ ...facts, birthplace: "east" })).toMatchObject({
      targets: ["north", "west"],
      clusters: ["north", "west"],
    });
    expect(decideIntent(facts).targets).toEqual(["east", "north", "west"]);
  });

  it("counts its original as one of the clusters, as that is there", () => {
    const status = { observedGeneration: 3, replicas: 2, readyReplicas: 2, availableReplicas: 2, updatedReplicas: 2 };
    const copy = { uid: "1", resourceVersion: "9", generation: 3, isDeleting: false, status };
    const [outcome] = upsyncOriginOutcomes({ upsyncOrigin: { name: "east", copy }, type, workload: web });
    expect(outcome).toMatchObject({
      record: { name: "east", state: "Ready", desiredReplicas: 2, readyReplicas: 2 },
      copy,
    });
    // Nothing was written there, and the record does not say so.
    expect(outcome?.record).not.toHaveProperty("applied");
  });

  it("says nothing of an original that is not heard from but that", () => {
    const [outcome] = upsyncOriginOutcomes({ upsyncOrigin: { name: "east", copy: undefined }, type, workload: web });
    expect(outcome).toMatchObject({ record: { name: "east", state: "Stale", reason: "ClusterNotReady" } });
    expect(outcome?.copy).toBeUndefined();
  });

  it("has no original where nobody follows it", () => {
    expect(upsyncOriginOutcomes({ upsyncOrigin: undefined, type, workload: web })).toEqual([]);
  });
});
