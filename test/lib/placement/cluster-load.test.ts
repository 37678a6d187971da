import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { ClusterLoad } from "../../../lib/placement/cluster-load.ts";
import { aPlacement } from "./builders.ts";

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

  it("ignores a reservation for a placement that has changed meanwhile", () => {
    const load = new ClusterLoad();
    load.update([placementOn("p", "2", "b")]);
    load.reserve(placementOn("p", "1"), ["a"]);
    expect(loadExcluding(load)).toEqual({ b: 1 });
  });
});
