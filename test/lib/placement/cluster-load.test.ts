import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { ClusterLoad } from "../../../lib/placement/cluster-load.ts";
import { aPlacement } from "../../support/placement-builders.ts";

function placementOn(name: string, resourceVersion: string, ...selected: readonly string[]): WorkloadPlacement {
  return { ...aPlacement({}, { selected }), metadata: { name, resourceVersion } };
}
const loadExcluding = (load: ClusterLoad, name = "other") => Object.fromEntries(load.excluding(name));

describe("ClusterLoad", () => {
  it("counts every placement for each of its clusters, except the excluded placement", () => {
    const load = new ClusterLoad();
    load.update([placementOn("p", "1", "a", "b"), placementOn("q", "1", "a")]);
    expect(loadExcluding(load)).toEqual({ a: 2, b: 1 });
    expect(loadExcluding(load, "p")).toEqual({ a: 1, b: 0 });
    expect(loadExcluding(load)).toEqual({ a: 2, b: 1 });
  });

  it("updates the load when a placement changes or is deleted", () => {
    const load = new ClusterLoad();
    load.update([placementOn("p", "1", "a"), placementOn("q", "1", "a")]);
    load.update([placementOn("p", "2", "b"), placementOn("q", "1", "a")]);
    expect(loadExcluding(load)).toEqual({ a: 1, b: 1 });
    load.update([placementOn("r", "1", "c")]);
    expect(loadExcluding(load)).toEqual({ c: 1 });
  });

  it("counts a reserved decision until the list shows a newer version of the placement", () => {
    const load = new ClusterLoad();
    load.update([placementOn("p", "1")]);
    load.reserve(placementOn("p", "1"), ["a"]);
    expect(loadExcluding(load)).toEqual({ a: 1 });
    // Listed again, before the decision is written.
    load.update([placementOn("p", "1")]);
    expect(loadExcluding(load)).toEqual({ a: 1 });
    // Another decision was written.
    load.update([placementOn("p", "2", "b")]);
    expect(loadExcluding(load)).toEqual({ b: 1 });
    load.update([placementOn("p", "1", "c")]);
    expect(loadExcluding(load)).toEqual({ c: 1 });
  });

  it("sums what placements reserve on each cluster, without the excluded placement", () => {
    const sized = (name: string, version: string, cpu: string, ...selected: readonly string[]): WorkloadPlacement => ({
      ...placementOn(name, version, ...selected),
      spec: { resources: { cpu } },
    });
    const load = new ClusterLoad();
    const cpuOn = (name: string, cluster: string) => Number(load.reservedExcluding(name).get(cluster)?.cpu ?? 0n) / 1e9;
    load.update([sized("p", "1", "2", "a", "b"), sized("q", "1", "500m", "a"), sized("r", "1", "-4", "a")]);
    expect([cpuOn("other", "a"), cpuOn("p", "a"), cpuOn("q", "b")]).toEqual([2.5, 0.5, 2]);
    load.reserve(sized("q", "1", "500m", "a"), ["b"]);
    expect([cpuOn("other", "a"), cpuOn("other", "b")]).toEqual([2, 2.5]);
    load.update([sized("q", "2", "3", "b")]);
    expect([cpuOn("other", "a"), cpuOn("other", "b"), cpuOn("q", "b")]).toEqual([0, 3, 0]);
  });

  it("ignores a reservation for a placement that has changed meanwhile", () => {
    const load = new ClusterLoad();
    load.update([placementOn("p", "2", "b")]);
    load.reserve(placementOn("p", "1"), ["a"]);
    expect(loadExcluding(load)).toEqual({ b: 1 });
  });
});
