import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { requeueAfter } from "../../../lib/model/work-item.ts";
import { capacityRecheckSeconds } from "../../../lib/placement/capacity.ts";
import { ClusterLoad } from "../../../lib/placement/cluster-load.ts";
import { decidePlacement } from "../../../lib/placement/decide.ts";
import type { ClusterFacts } from "../../../lib/placement/observed.ts";
import { explainPlacement } from "../../../lib/placement/what-if.ts";
import { aCluster, ago, aPlacement, decisionFor, now } from "../../support/placement-builders.ts";

const sized = (name: string, cpu: string, memory = "64Gi"): ClusterFacts =>
  aCluster(name, { status: { allocatable: { cpu, memory } } });

function placementNamed(
  name: string,
  spec: WorkloadPlacement["spec"],
  selected: readonly string[] = [],
): WorkloadPlacement {
  return { ...aPlacement(spec, { selected }), metadata: { name, generation: 1, resourceVersion: "1" } };
}

/** Decides a placement beside others, as the reconciler does. */
function decideBeside(
  placement: WorkloadPlacement,
  others: readonly WorkloadPlacement[],
  clusters: readonly ClusterFacts[],
) {
  const usage = new ClusterLoad();
  usage.update([...others, placement]);
  const name = placement.metadata.name ?? "";
  const observed = {
    placement,
    clusters,
    load: usage.excluding(name),
    reserved: usage.reservedExcluding(name),
    nowMs: now,
  };
  return { ...decidePlacement(observed), explanation: explainPlacement(observed) };
}

const twenty = { resources: { cpu: "20" } } as const;

describe("capacity of clusters", () => {
  it("a hundred placements of 20 CPU do not all fit a cluster of 24", () => {
    const placed: WorkloadPlacement[] = [];
    for (let index = 0; index < 100; index++) {
      const placement = placementNamed(`p${index}`, twenty);
      const { status } = decideBeside(placement, placed, [sized("a", "24"), sized("b", "48")]);
      placed.push({ ...placement, status });
    }
    const selected = placed.flatMap(({ status }) => status?.selectedClusters ?? []);
    expect(selected.toSorted()).toEqual(["a", "b", "b"]);
  });

  it("explains a full cluster with what is requested and what is free, and decides again", () => {
    const other = placementNamed("other", { resources: { cpu: "20", memory: "1Gi" } }, ["a"]);
    const { status, next, explanation } = decideBeside(placementNamed("web", twenty), [other], [sized("a", "24")]);
    expect(decisionFor(status, "a")).toMatchObject({
      selected: false,
      reason: "InsufficientCapacity",
      rule: "resources.cpu",
      expected: "20 cpu",
      actual: "4 of 24 cpu",
      message: "resources.cpu requires 20 cpu, the cluster has 4 of 24 cpu free",
    });
    expect(status.conditions).toMatchObject([{ message: "0 of 1 cluster fits: 1 InsufficientCapacity" }]);
    expect(next).toEqual(requeueAfter(capacityRecheckSeconds));
    expect(explanation.decisions).toMatchObject([{ hints: ["20 cpu free"], load: 1 }]);
  });

  it("a cluster that is too small even when it is empty keeps its own reason", () => {
    const { status } = decideBeside(placementNamed("web", twenty), [], [sized("a", "16")]);
    expect(decisionFor(status, "a")?.reason).toBe("InsufficientResources");
  });

  it("a placement keeps its cluster, although the others have reserved all of it", () => {
    const others = ["x", "y"].map((name) => placementNamed(name, twenty, ["a"]));
    const { status } = decideBeside(placementNamed("web", twenty, ["a"]), others, [sized("a", "24"), sized("b", "24")]);
    expect(status.selectedClusters).toEqual(["a"]);
    expect(decisionFor(status, "a")?.reason).toBe("Selected");
  });

  it("a placement does not count against itself when its request grows", () => {
    const { status } = decideBeside(
      placementNamed("web", { ...twenty, numberOfClusters: 2 }, ["a"]),
      [placementNamed("other", twenty, ["b"])],
      [sized("a", "24"), sized("b", "24"), sized("c", "24")],
    );
    expect(status.selectedClusters).toEqual(["a", "c"]);
  });

  it("placements without resources reserve nothing and fit everywhere", () => {
    const others = Array.from({ length: 50 }, (_, index) => placementNamed(`o${index}`, {}, ["a"]));
    const { status } = decideBeside(placementNamed("web", twenty), others, [sized("a", "24")]);
    expect(status.selectedClusters).toEqual(["a"]);
    const full = [placementNamed("full", { resources: { cpu: "24" } }, ["a"])];
    expect(decideBeside(placementNamed("web", {}), full, [sized("a", "24")]).status.selectedClusters).toEqual(["a"]);
  });

  it("a cluster of unknown size is not full", () => {
    const unknown = aCluster("a", { status: { allocatable: {} } });
    const full = [placementNamed("full", { resources: { cpu: "24" } }, ["a"])];
    expect(decideBeside(placementNamed("web", twenty), full, [unknown]).status.selectedClusters).toEqual(["a"]);
  });

  it("a placement does not fail back to a cluster that others have filled meanwhile", () => {
    const failback = { cluster: "a", reason: "NotReady", since: ago(900), standIn: "b", fittingSince: ago(600) };
    const web = {
      ...placementNamed("web", { ...twenty, failback: { afterSeconds: 60 } }),
      status: { selectedClusters: ["b"], failback: [failback] },
    };
    const clusters = [sized("a", "24"), sized("b", "24")];
    expect(decideBeside(web, [], clusters).status.selectedClusters).toEqual(["a"]);
    const full = decideBeside(web, [placementNamed("other", twenty, ["a"])], clusters).status;
    expect(full.selectedClusters).toEqual(["b"]);
    expect(full.failback).toMatchObject([{ cluster: "a", standIn: "b" }]);
    expect(full.failback?.[0]?.fittingSince).toBeUndefined();
  });
});

describe("pods that TMC did not place", () => {
  const busy = (name: string, cpu: string, otherPods: object): ClusterFacts =>
    aCluster(name, { status: { allocatable: { cpu, memory: "64Gi" }, otherPods } });

  it("take room from new placements, next to what placements reserve", () => {
    const web = placementNamed("web", { resources: { cpu: "8" } });
    const other = placementNamed("other", { resources: { cpu: "10" } }, ["a"]);
    const { status, explanation } = decideBeside(web, [other], [busy("a", "24", { cpu: "7", memory: "1Gi" })]);
    expect(decisionFor(status, "a")).toMatchObject({ reason: "InsufficientCapacity", actual: "7 of 24 cpu" });
    expect(explanation.decisions[0]?.use).toEqual([
      { resource: "cpu", allocatable: "24", reserved: "10", otherPods: "7", free: "7" },
    ]);
    expect(decideBeside(web, [], [busy("a", "24", { cpu: "16", memory: "1Gi" })]).status.selectedClusters).toEqual([
      "a",
    ]);
    expect(decideBeside(web, [], [busy("a", "24", { cpu: "17", memory: "1Gi" })]).status.selectedClusters).toEqual([]);
  });

  it("move no placement that is there already", () => {
    const { status } = decideBeside(
      placementNamed("web", twenty, ["a"]),
      [],
      [busy("a", "24", { cpu: "24", memory: "0" }), sized("b", "24")],
    );
    expect(status.selectedClusters).toEqual(["a"]);
  });

  it("count in the share of a cluster", () => {
    const clusters = [busy("a", "10", { cpu: "5", memory: "32Gi" }), busy("b", "10", { cpu: "1", memory: "1Gi" })];
    const selected = (scoring: "LeastAllocated" | "MostAllocated") =>
      decideBeside(placementNamed("web", { scoring, resources: { cpu: "1" } }), [], clusters).status.selectedClusters;
    expect([selected("LeastAllocated"), selected("MostAllocated")]).toEqual([["b"], ["a"]]);
  });

  it("do not count where TMC may not list them, and the explanation has no number for them", () => {
    const { status, explanation } = decideBeside(
      placementNamed("web", twenty),
      [],
      [busy("a", "24", { unknown: "Forbidden" })],
    );
    expect(status.selectedClusters).toEqual(["a"]);
    expect(explanation.decisions[0]?.use).toEqual([{ resource: "cpu", allocatable: "24", reserved: "0", free: "24" }]);
  });
});

describe("spec.scoring", () => {
  const clusters = [sized("a", "10", "10Gi"), sized("b", "20", "20Gi"), sized("c", "10", "10Gi")];
  const others = [
    placementNamed("x", { resources: { cpu: "4", memory: "4Gi" } }, ["a"]),
    placementNamed("y", { resources: { cpu: "6", memory: "6Gi" } }, ["b"]),
  ];
  const resources = { cpu: "2", memory: "2Gi" };
  const select = (spec: WorkloadPlacement["spec"]) =>
    decideBeside(placementNamed("web", { resources, ...spec }), others, clusters).status.selectedClusters;

  it.each(["RoundRobin", "Affinity"] as const)("%s selects by the share that is reserved", (strategy) => {
    // With the own request: a 60 %, b 40 %, c 20 %.
    expect(select({ strategy, scoring: "LeastAllocated" })).toEqual(["c"]);
    expect(select({ strategy, scoring: "MostAllocated" })).toEqual(["a"]);
    expect(select({ strategy, scoring: "LeastAllocated", numberOfClusters: 2 })).toEqual(["b", "c"]);
  });

  it("MostAllocated skips a cluster that is too full", () => {
    expect(select({ scoring: "MostAllocated", resources: { cpu: "8" } })).toEqual(["b"]);
  });

  it("a preference of the user counts before the share", () => {
    expect(select({ scoring: "LeastAllocated", preferredClusters: ["a"] })).toEqual(["a"]);
  });

  it("without scoring, RoundRobin prefers clusters with few placements as before", () => {
    expect(select({})).toEqual(["c"]);
    expect(select({ strategy: "Affinity" })).toEqual(["b"]);
  });
});
