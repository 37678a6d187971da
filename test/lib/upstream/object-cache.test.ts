import { compareResourceVersions } from "@tmc/kube/informer/resource-version.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
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
  cache.replace("WorkloadPlacement", logicalCluster, objects);
  return cache;
}
const versionIn = (cache: ReturnType<typeof createObjectCache>, name: string) =>
  cache.get(placementKey(name))?.metadata.resourceVersion;

describe("objects in the cache", () => {
  test("the object cache keeps the newest version from watch, list and request", () => {
    const cache = aCache(aPlacement("web", 9));
    cache.request(placementKey("web"))(aPlacement("web", 10));
    cache.upsert("WorkloadPlacement", logicalCluster, aPlacement("web", 9));
    cache.replace("WorkloadPlacement", logicalCluster, [aPlacement("web", 8)]);
    expect(versionIn(cache, "web")).toBe("10");
    const answered = cache.request(placementKey("web"));
    cache.upsert("WorkloadPlacement", logicalCluster, aPlacement("web", 11));
    expect(answered(aPlacement("web", 7))?.metadata.resourceVersion).toBe("11");
  });

  test("the object cache believes a list and an answer with an older version: the server was restored", () => {
    const cache = aCache();
    cache.replace("WorkloadPlacement", logicalCluster, [aPlacement("api", 95), aPlacement("web", 90)], "100");
    cache.replace("WorkloadPlacement", logicalCluster, [aPlacement("api", 95), aPlacement("web", 40)], "100050");
    expect(versionIn(cache, "web")).toBe("40");
    expect(cache.request(placementKey("api"))(aPlacement("api", 41))?.metadata.resourceVersion).toBe("41");
    expect(versionIn(cache, "api")).toBe("41");
  });

  test("a dropped logical cluster has no cached objects, and listeners are notified of their removal", () => {
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
    // Another endpoint may have lower versions, so the dropped ones must not be compared with them.
    cache.upsert("WorkloadPlacement", logicalCluster, aPlacement("web", 2));
    expect(versionIn(cache, "web")).toBe("2");
  });

  test("the object cache does not restore a deleted object from a late answer", () => {
    const cache = aCache(aPlacement("web", 9));
    cache.remove(placementKey("web"), "11");
    cache.request(placementKey("web"))(aPlacement("web", 10));
    expect(cache.get(placementKey("web"))).toBeUndefined();
  });

  test("a deletion does not remove a newer object of the same name", () => {
    const cache = aCache(aPlacement("web", 12));
    cache.remove(placementKey("web"), "11");
    expect(versionIn(cache, "web")).toBe("12");
  });

  test("an object that a list lacks is kept as stale and still returned", () => {
    const cache = aCache(aPlacement("api", 1), aPlacement("web", 2));
    expect(cache.replace("WorkloadPlacement", logicalCluster, [aPlacement("web", 2)])).toEqual([placementKey("api")]);
    expect(cache.get(placementKey("api"))).toBeDefined();
    expect(cache.isStale(placementKey("api"))).toBe(true);
    expect(cache.isStale(placementKey("web"))).toBe(false);
    cache.remove(placementKey("api"));
    expect(cache.isStale(placementKey("api"))).toBe(false);
  });

  test("the object cache returns a sorted list, and the same array until something changes", () => {
    const cache = aCache(aPlacement("web", 1), aPlacement("api", 2));
    const before = cache.list("WorkloadPlacement", logicalCluster);
    expect(before.map(({ metadata }) => metadata.name)).toEqual(["api", "web"]);
    expect(cache.list("WorkloadPlacement", logicalCluster)).toBe(before);
    cache.upsert("WorkloadPlacement", logicalCluster, aPlacement("db", 3));
    expect(cache.list("WorkloadPlacement", logicalCluster).map(({ metadata }) => metadata.name)).toEqual([
      "api",
      "db",
      "web",
    ]);
    expect(before).toHaveLength(2);
  });

  test("a logical cluster is listed when both kinds are listed", () => {
    const cache = aCache();
    expect(cache.isListed(logicalCluster)).toBe(false);
    cache.replace("ClusterRegistration", logicalCluster, []);
    expect(cache.isListed(logicalCluster)).toBe(true);
    expect(cache.isListed("tenant2")).toBe(false);
  });

  test("objects are cached without managed fields and last-applied-configuration, and equal parts are shared", () => {
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

  test("listeners are notified once of each change", () => {
    const cache = createObjectCache();
    const notified: string[] = [];
    const end = cache.onChange(({ key, object }: CacheChange) => {
      notified.push(`${key.name} ${object?.metadata.resourceVersion ?? "gone"}`);
    });
    cache.upsert("WorkloadPlacement", logicalCluster, aPlacement("web", 1));
    cache.request(placementKey("web"))(aPlacement("web", 2));
    cache.upsert("WorkloadPlacement", logicalCluster, aPlacement("web", 2));
    cache.remove(placementKey("web"), "3");
    end();
    cache.upsert("WorkloadPlacement", logicalCluster, aPlacement("web", 4));
    expect(notified).toEqual(["web 1", "web 2", "web gone"]);
  });
});

describe("load of clusters", () => {
  const loadFor = (cache: ReturnType<typeof createObjectCache>, name: string) =>
    Object.fromEntries(cache.load(placementKey(name)));

  test("load counts the placements that use each cluster, except the given one", () => {
    const cache = aCache(aPlacement("a", 1, ["east"]), aPlacement("b", 1, ["east", "west"]), aPlacement("c", 1));
    expect(loadFor(cache, "c")).toEqual({ east: 2, west: 1 });
    expect(loadFor(cache, "b")).toEqual({ east: 1, west: 0 });
    expect(cache.load({ ...placementKey("c"), logicalCluster: "tenant2" }).size).toBe(0);
  });

  test("load follows every change of a placement", () => {
    const cache = aCache(aPlacement("a", 1, ["east"]), aPlacement("b", 1, ["east"]));
    const load = cache.load(placementKey("c"));
    cache.upsert("WorkloadPlacement", logicalCluster, aPlacement("a", 2, ["west"]));
    expect([load.get("east"), load.get("west")]).toEqual([1, 1]);
    cache.remove(placementKey("b"));
    expect([load.get("east"), load.get("west"), load.size]).toEqual([undefined, 1, 1]);
  });

  test("load counts a reserved decision, and counts it once after it is written", () => {
    const cache = aCache(aPlacement("a", 1), aPlacement("b", 1));
    const release = cache.reserve(placementKey("a"), ["east"]);
    expect(loadFor(cache, "b")).toEqual({ east: 1 });
    cache.request(placementKey("a"))(aPlacement("a", 2, ["east"]));
    release();
    expect(loadFor(cache, "b")).toEqual({ east: 1 });
  });

  test("reserved sums the resources of the other placements, also of decisions that are not written yet", () => {
    const sized = (name: string, version: number, selected: readonly string[], cpu: string) => ({
      ...aPlacement(name, version, selected),
      spec: { resources: { cpu, memory: "1Ki" } },
    });
    const cache = aCache(sized("a", 1, ["east"], "2"), sized("b", 1, ["east", "west"], "500m"), sized("c", 1, [], "4"));
    const cpuFor = (name: string) =>
      ["east", "west"].map((cluster) => Number(cache.reserved(placementKey(name)).get(cluster)?.cpu ?? 0n) / 1e9);
    expect(cpuFor("c")).toEqual([2.5, 0.5]);
    expect(cpuFor("b"), "without its own").toEqual([2, 0]);
    const release = cache.reserve(placementKey("c"), ["west"]);
    expect(cpuFor("a")).toEqual([0.5, 4.5]);
    release();
    cache.upsert("WorkloadPlacement", logicalCluster, sized("a", 2, ["west"], "3"));
    expect(cpuFor("c")).toEqual([0.5, 3.5]);
    cache.remove(placementKey("a"));
    expect(cpuFor("c")).toEqual([0.5, 0.5]);
  });

  test("load drops a released reservation, and one that a newer object replaces", () => {
    const cache = aCache(aPlacement("a", 1, ["west"]), aPlacement("b", 1));
    const release = cache.reserve(placementKey("a"), ["east"]);
    release();
    expect(loadFor(cache, "b")).toEqual({ west: 1 });
    cache.reserve(placementKey("a"), ["east"]);
    cache.upsert("WorkloadPlacement", logicalCluster, aPlacement("a", 2, ["west"]));
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
