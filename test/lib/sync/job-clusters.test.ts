import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import type { WorkloadSync } from "../../../lib/api/workload-sync.ts";
import { decideIntent, type IntentFacts } from "../../../lib/sync/decide.ts";
import type { Workload } from "../../../lib/sync/sync-objects.ts";

const aJob = (metadata: Partial<Workload["metadata"]> = {}, kind = "Job"): Workload => ({
  apiVersion: "batch/v1",
  kind,
  metadata: { name: "migrate", namespace: "shop", uid: "u1", ...metadata },
  spec: {},
});

type Decisions = NonNullable<NonNullable<WorkloadPlacement["status"]>["decisions"]>;
const decided = (cluster: string, score: number, reason = "Selected"): Decisions[number] => ({
  cluster,
  selected: true,
  reason,
  message: "",
  score,
});

const aPlacement = (selectedClusters: readonly string[], decisions: Decisions = []): WorkloadPlacement => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadPlacement",
  metadata: { name: "shop" },
  spec: { strategy: "Spread" },
  status: { selectedClusters, decisions },
});

/** A record that names clusters; to those with a hash a copy was written. */
const aRecord = (clusters: readonly string[], written: readonly string[] = []): WorkloadSync => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadSync",
  metadata: { name: "migrate", namespace: "shop" },
  spec: { workload: { apiVersion: "batch/v1", kind: "Job", name: "migrate" }, clusters },
  status: { clusters: written.map((name) => ({ name, state: "Ready", appliedHash: "1" })) },
});

const both = ["east", "west"];
const targetsOf = (facts: Partial<IntentFacts>): readonly string[] =>
  decideIntent({
    workload: aJob(),
    record: undefined,
    placement: aPlacement(both, [decided("east", 1), decided("west", 2)]),
    references: [],
    ...facts,
  }).targets;

describe("the cluster of a Job", () => {
  const rows: Record<string, readonly [Partial<IntentFacts>, readonly string[]]> = {
    "a new Job goes to the cluster with the highest score": [{}, ["west"]],
    "a new Job avoids a cluster that accepts no new workloads": [
      { placement: aPlacement(both, [decided("east", 1), decided("west", 2, "KeptTolerated")]) },
      ["east"],
    ],
    "a Job stays where it was written, whatever the scores": [{ record: aRecord(["east"], ["east"]) }, ["east"]],
    "a Job stays where the record names it, before it was written": [{ record: aRecord(["east"]) }, ["east"]],
    "a Job that was written to several clusters stays on all of them": [{ record: aRecord(both, both) }, both],
    "a Job that was written once ignores a cluster to which it was not written": [
      { record: aRecord(both, ["east"]) },
      ["east"],
    ],
    "a Job stays where it was found after its record was lost": [{ unrecordedClusters: ["east"] }, ["east"]],
    "a Job moves when its cluster is not selected any more": [{ record: aRecord(["north"], ["north"]) }, ["west"]],
    "a Job runs where its annotations allow it": [
      { workload: aJob({ annotations: { "tmc.kcp.io/exclude-clusters": "west" } }) },
      ["east"],
    ],
    "a Job has no cluster if none is selected": [{ placement: aPlacement([]) }, []],
    "a Job runs on all clusters if its annotation says so": [
      { workload: aJob({ annotations: { "tmc.kcp.io/job-clusters": "all" } }) },
      both,
    ],
    "a CronJob runs on all clusters": [{ workload: aJob({}, "CronJob") }, both],
  };
  it.each(Object.entries(rows))("%s", (_, [facts, targets]) => {
    expect(targetsOf(facts)).toEqual(targets);
  });

  it("Jobs are distributed to clusters with the same score, always in the same way", () => {
    const placement = aPlacement(both, [decided("east", 1), decided("west", 1)]);
    const reversed = aPlacement(both.toReversed(), [decided("west", 1), decided("east", 1)]);
    const names = Array.from({ length: 40 }, (_, at) => `job-${at}`);
    const chosen = names.map((name) => targetsOf({ workload: aJob({ name }), placement }).join());
    expect(names.map((name) => targetsOf({ workload: aJob({ name }), placement: reversed }).join())).toEqual(chosen);
    expect(chosen.filter((each) => each === "east").length).toBeGreaterThan(10);
    expect(chosen.filter((each) => each === "west").length).toBeGreaterThan(10);
  });
});
