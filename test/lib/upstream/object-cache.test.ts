import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { compareResourceVersions } from "@tmc/kube/resource-version.ts";
import { describe, expect, test } from "vitest";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { type CacheChange, createObjectCache } from "../../../lib/upstream/object-cache.ts";

const logicalCluster = "tenant1";
const placementKey = (name: string): ObjectKey => ({ logicalCluster, kind: "WorkloadPlacement", name });

function aPlacement(name: string, version: number, selected?: readonly string[]): KubeObject {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadPlacement",
    metadata: { name, uid: `uid-${name}`, resourceVersion: String(version), managedFields: [{ manager: "kubectl" }] },
    spec: { strategy: "RoundRobin" },
    ...(selected === undefined ? {} : { status: { selectedClusters: selected } }),
  };
}

function aCache(...objects: readonly KubeObject[]) {
  const cache = createObjectCache();
  cache.takeList("WorkloadPlacement", logicalCluster, objects);
  return cache;
}
const versionIn = (cache: ReturnType<typeof createObjectCache>, name: string) =>
  cache.get(placementKey(name))?.metadata.resourceVersion;

describe("what is kept", () => {
  test("nothing older takes the place of something newer, whichever way it comes", () => {
    const cache = aCache(aPlacement("web", 9));
    cache.takeAnswer(placementKey("web"), aPlacement("web", 10));
    cache.takeSeen("WorkloadPlacement", logicalCluster, aPlacement("web", 9));
    cache.takeList("WorkloadPlacement", logicalCluster, [aPlacement("web", 8)]);
    expect(versionIn(cache, "web")).toBe("10");
    expect(cache.takeAnswer(placementKey("web"), aPlacement("web", 7)).metadata.resourceVersion).toBe("10");
  });

  test("nothing of a logical cluster that is looked after no more, and its end is told", () => {
    const cache = aCache(aPlacement("web", 9, ["east"]));
    const changes: CacheChange[] = [];
    cache.onChange((change) => changes.push(change));
    const release = cache.reserve(placementKey("web"), ["west"]);
    cache.drop(logicalCluster);
    release();
    expect(cache.get(placementKey("web"))).toBeUndefined();
    expect(cache.isListed(logicalCluster)).toBe(false);
    expect([...cache.load(placementKey("other"))]).toEqual([]);
    expect(changes).toEqual([{ key: placementKey("web"), object: undefined }]);
    // Versions of another endpoint may be lower: nothing is left to compare them with.
    cache.takeSeen("WorkloadPlacement", logicalCluster, aPlacement("web", 2));
    expect(versionIn(cache, "web")).toBe("2");
  });

  test("a late answer does not bring back what the watch has told the end of", () => {
    const cache = aCache(aPlacement("web", 9));
    cache.takeGone(placementKey("web"), "11");
    cache.takeAnswer(placementKey("web"), aPlacement("web", 10));
    expect(cache.get(placementKey("web"))).toBeUndefined();
  });

  test("the end of an object does not take out a newer one of its name", () => {
    const cache = aCache(aPlacement("web", 12));
    cache.takeGone(placementKey("web"), "11");
    expect(versionIn(cache, "web")).toBe("12");
  });

  test("what a list no longer names stays, in doubt, and is answered", () => {
    const cache = aCache(aPlacement("api", 1), aPlacement("web", 2));
    expect(cache.takeList("WorkloadPlacement", logicalCluster, [aPlacement("web", 2)])).toEqual([placementKey("api")]);
    expect(cache.get(placementKey("api"))).toBeDefined();
    expect(cache.isDoubted(placementKey("api"))).toBe(true);
    expect(cache.isDoubted(placementKey("web"))).toBe(false);
    cache.takeGone(placementKey("api"));
    expect(cache.isDoubted(placementKey("api"))).toBe(false);
  });

  test("lists are in the order of names, and the same until something changes", () => {
    const cache = aCache(aPlacement("web", 1), aPlacement("api", 2));
    const before = cache.list("WorkloadPlacement", logicalCluster);
    expect(before.map(({ metadata }) => metadata.name)).toEqual(["api", "web"]);
    expect(cache.list("WorkloadPlacement", logicalCluster)).toBe(before);
    cache.takeSeen("WorkloadPlacement", logicalCluster, aPlacement("db", 3));
    expect(cache.list("WorkloadPlacement", logicalCluster).map(({ metadata }) => metadata.name)).toEqual([
      "api",
      "db",
      "web",
    ]);
    expect(before).toHaveLength(2);
  });

  test("a logical cluster is listed when both kinds are", () => {
    const cache = aCache();
    expect(cache.isListed(logicalCluster)).toBe(false);
    cache.takeList("ClusterRegistration", logicalCluster, []);
    expect(cache.isListed(logicalCluster)).toBe(true);
    expect(cache.isListed("tenant2")).toBe(false);
  });

  test("managed fields and the last applied configuration are let go of, and equal pieces are shared", () => {
    const decisions = [{ cluster: "east", selected: true, reason: "Selected" }];
    const withStatus = (name: string): KubeObject => {
      const placement = aPlacement(name, 1);
      const annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "tmc.kcp.io/preferred-cluster": "a",
      };
      return { ...placement, metadata: { ...placement.metadata, annotations }, status: structuredClone({ decisions }) };
    };
    const cache = aCache(withStatus("api"), withStatus("web"));
    const [one, other] = cache.list("WorkloadPlacement", logicalCluster);
    expect(one?.metadata).toEqual({
      name: "api",
      uid: "uid-api",
      resourceVersion: "1",
      annotations: { "tmc.kcp.io/preferred-cluster": "a" },
    });
    expect(one?.spec).toBe(other?.spec);
    expect(one?.status).toEqual({ decisions });
    expect(Object.isFrozen(one?.spec)).toBe(true);
  });

  test("listeners hear of each change once", () => {
    const cache = createObjectCache();
    const heard: string[] = [];
    const end = cache.onChange(({ key, object }: CacheChange) => {
      heard.push(`${key.name} ${object?.metadata.resourceVersion ?? "gone"}`);
    });
    cache.takeSeen("WorkloadPlacement", logicalCluster, aPlacement("web", 1));
    cache.takeAnswer(placementKey("web"), aPlacement("web", 2));
    cache.takeSeen("WorkloadPlacement", logicalCluster, aPlacement("web", 2));
    cache.takeGone(placementKey("web"), "3");
    end();
    cache.takeSeen("WorkloadPlacement", logicalCluster, aPlacement("web", 4));
    expect(heard).toEqual(["web 1", "web 2", "web gone"]);
  });
});

describe("load", () => {
  const loadFor = (cache: ReturnType<typeof createObjectCache>, name: string) =>
    Object.fromEntries(cache.load(placementKey(name)));

  test("counts the placements that use each cluster, without the one that asks", () => {
    const cache = aCache(aPlacement("a", 1, ["east"]), aPlacement("b", 1, ["east", "west"]), aPlacement("c", 1));
    expect(loadFor(cache, "c")).toEqual({ east: 2, west: 1 });
    expect(loadFor(cache, "b")).toEqual({ east: 1, west: 0 });
    expect(cache.load({ ...placementKey("c"), logicalCluster: "tenant2" }).size).toBe(0);
  });

  test("follows every change", () => {
    const cache = aCache(aPlacement("a", 1, ["east"]), aPlacement("b", 1, ["east"]));
    const load = cache.load(placementKey("c"));
    cache.takeSeen("WorkloadPlacement", logicalCluster, aPlacement("a", 2, ["west"]));
    expect([load.get("east"), load.get("west")]).toEqual([1, 1]);
    cache.takeGone(placementKey("b"));
    expect([load.get("east"), load.get("west"), load.size]).toEqual([undefined, 1, 1]);
  });

  test("counts a decision from the moment it is reserved, and what is written then in its place", () => {
    const cache = aCache(aPlacement("a", 1), aPlacement("b", 1));
    const release = cache.reserve(placementKey("a"), ["east"]);
    expect(loadFor(cache, "b")).toEqual({ east: 1 });
    cache.takeAnswer(placementKey("a"), aPlacement("a", 2, ["east"]));
    release();
    expect(loadFor(cache, "b")).toEqual({ east: 1 });
  });

  test("takes back a reservation whose write failed, and one that a newer object overtook", () => {
    const cache = aCache(aPlacement("a", 1, ["west"]), aPlacement("b", 1));
    const release = cache.reserve(placementKey("a"), ["east"]);
    release();
    expect(loadFor(cache, "b")).toEqual({ west: 1 });
    cache.reserve(placementKey("a"), ["east"]);
    cache.takeSeen("WorkloadPlacement", logicalCluster, aPlacement("a", 2, ["west"]));
    expect(loadFor(cache, "b")).toEqual({ west: 1 });
  });
});

test.each([
  ["9", "10", -1],
  ["10", "9", 1],
  ["10", "10", 0],
  ["99999999999999999998", "99999999999999999999", -1],
  ["abc", "10", 0],
  [undefined, "10", 0],
] as const)("resourceVersions are ordered as numbers of any length: %s and %s", (one, other, sign) => {
  expect(Math.sign(compareResourceVersions(one, other))).toBe(sign);
});
