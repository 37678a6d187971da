import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { describe, expect, test } from "vitest";
import { allWorkloadTypes } from "../../../lib/api/workload-kinds.ts";
import { namespaceResource, recordResource, watchedResources } from "../../../lib/upstream/watched-resources.ts";
import { type CachedAddress, createWorkloadCache, type WorkloadCache } from "../../../lib/upstream/workload-cache.ts";

const types = allWorkloadTypes();
const deployments = { group: "apps", version: "v1", plural: "deployments" };
const configMaps = { group: "", version: "v1", plural: "configmaps" };

const at = (name: string, type: ResourceType = deployments): CachedAddress => ({
  logicalCluster: "c",
  type,
  namespace: "shop",
  name,
});
const web = (version: string, spec: object = {}, name = "web"): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "shop", resourceVersion: version, managedFields: [] },
  spec,
});
const mounting = (configMap: string) => ({
  template: { spec: { containers: [], volumes: [{ name: "v", configMap: { name: configMap } }] } },
});
const record = (name: string, spec: object, version = "1"): KubeObject => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadSync",
  metadata: { name, namespace: "shop", resourceVersion: version },
  spec: { workload: { apiVersion: "apps/v1", kind: "Deployment", name }, ...spec },
});

const aCache = (): WorkloadCache => createWorkloadCache({ types });
const versionOf = (cache: WorkloadCache, address = at("web")) => cache.get(address)?.metadata.resourceVersion;

describe("versions in the workload cache", () => {
  const older: Record<string, (cache: WorkloadCache) => void> = {
    "a list": (cache) => void cache.replace(deployments, "c", [web("9")]),
    "a watch": (cache) => cache.upsert(deployments, "c", web("9")),
    "the answer of an earlier request": (cache) => {
      const answered = cache.request(at("web"));
      cache.upsert(deployments, "c", web("10"));
      answered(web("9"));
    },
    "the deletion of an earlier version": (cache) => cache.remove(at("web"), "9"),
  };
  test.each(Object.keys(older))("an older version does not replace a newer one: %s", (way) => {
    const cache = aCache();
    cache.upsert(deployments, "c", web(way === "the answer of an earlier request" ? "8" : "10"));
    older[way]?.(cache);
    expect(versionOf(cache)).toBe("10");
  });

  test("a list and an answer with an older version are believed: the server was restored", () => {
    const cache = aCache();
    cache.replace(deployments, "c", [web("90")], "100");
    cache.replace(deployments, "c", [web("40")], "100050");
    expect(versionOf(cache)).toBe("40");
    expect(cache.request(at("web"))(web("39"))?.metadata.resourceVersion).toBe("39");
    expect(versionOf(cache)).toBe("39");
  });

  test("an object that a list lacks is kept as stale", () => {
    const cache = aCache();
    cache.replace(deployments, "c", [web("1"), web("2", {}, "api")]);
    expect(cache.replace(deployments, "c", [web("3")])).toEqual([at("api")]);
    expect([cache.isStale(at("api")), cache.isStale(at("web")), versionOf(cache, at("api"))]).toEqual([
      true,
      false,
      "2",
    ]);
    cache.remove(at("api"), "2");
    expect([cache.isStale(at("api")), cache.get(at("api"))]).toEqual([false, undefined]);
  });

  test("a type that is not served counts as listed, and its cached objects are kept", () => {
    const cache = aCache();
    cache.upsert(deployments, "c", web("1"));
    cache.markListed(deployments, "c");
    expect([cache.isListed("c", deployments), versionOf(cache), cache.isStale(at("web"))]).toEqual([true, "1", false]);
  });

  test("a logical cluster is listed when all watched resources are listed", () => {
    const cache = aCache();
    const resources = watchedResources(types);
    for (const { type } of resources) {
      expect(cache.isListed("c")).toBe(false);
      cache.replace(type, "c", []);
    }
    expect([cache.isListed("c"), cache.isListed("another")]).toEqual([true, false]);
  });

  test("the workload cache returns a sorted list, and the same array until something changes", () => {
    const cache = aCache();
    for (const name of ["b", "a", "c"]) cache.upsert(deployments, "c", web("1", {}, name));
    const listed = cache.list(deployments, "c");
    expect(listed.map(({ metadata }) => metadata.name)).toEqual(["a", "b", "c"]);
    expect(cache.list(deployments, "c")).toBe(listed);
    cache.upsert(deployments, "c", web("2", {}, "a"));
    expect(cache.list(deployments, "c")).not.toBe(listed);
  });

  test("a dropped logical cluster has no cached objects, and late answers do not restore them", () => {
    const cache = aCache();
    cache.upsert(deployments, "c", web("1"));
    const admit = cache.request(at("new"));
    cache.drop("c");
    admit(web("5", {}, "new"));
    cache.request(at("web"))(web("6"));
    cache.markStale(at("web"));
    expect([cache.logicalClusters(), cache.get(at("web")), cache.get(at("new")), cache.isStale(at("web"))]).toEqual([
      [],
      undefined,
      undefined,
      false,
    ]);
  });
});

describe("answers of requests", () => {
  test("the answer of a read is returned, but not cached before a watch has reported the object", () => {
    const cache = aCache();
    cache.replace(deployments, "c", []);
    expect(cache.request(at("web"))(web("1"))?.metadata.resourceVersion).toBe("1");
    expect(cache.get(at("web"))).toBeUndefined();
  });

  test("the answer of a create is cached", () => {
    const cache = aCache();
    cache.replace(deployments, "c", [], "4");
    const answered = cache.request(at("web"));
    answered(web("5"));
    expect(versionOf(cache)).toBe("5");
  });

  test("a late answer does not restore an object whose deletion the watch has reported", () => {
    const cache = aCache();
    cache.replace(deployments, "c", [], "4");
    const answered = cache.request(at("web"));
    cache.upsert(deployments, "c", web("5"));
    cache.remove(at("web"), "6");
    answered(web("5"));
    expect(cache.get(at("web"))).toBeUndefined();
  });

  test("a late answer does not replace a newer version", () => {
    const cache = aCache();
    cache.replace(deployments, "c", [], "4");
    const answered = cache.request(at("web"));
    cache.upsert(deployments, "c", web("7"));
    answered(web("5"));
    expect(versionOf(cache)).toBe("7");
  });
});

describe("cached fields", () => {
  const secret: KubeObject = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: "conf",
      namespace: "shop",
      resourceVersion: "1",
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": "hidden", mine: "a" },
    },
    data: { a: "hidden" },
  };
  test("dependencies are cached as metadata without the last-applied-configuration annotation", () => {
    const cache = aCache();
    cache.replace(configMaps, "c", [secret]);
    expect(JSON.stringify(cache.get(at("conf", configMaps)))).not.toContain("hidden");
    expect(cache.get(at("conf", configMaps))?.metadata.annotations).toEqual({ mine: "a" });
    expect(JSON.stringify(cache.request(at("conf", configMaps))(secret))).not.toContain("hidden");
  });

  test("a PartialObjectMetadata is cached with the kind of its object", () => {
    const cache = aCache();
    const partial = { ...secret, apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata" };
    cache.upsert(configMaps, "c", partial);
    expect(cache.get(at("conf", configMaps))).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
  });

  test("workloads are cached without managed fields", () => {
    const cache = aCache();
    cache.upsert(deployments, "c", web("1", { replicas: 2 }));
    const metadata = { name: "web", namespace: "shop", resourceVersion: "1" };
    expect(cache.get(at("web"))).toEqual({ ...web("1", { replicas: 2 }), metadata });
  });

  test("namespaces are cached with their labels only", () => {
    const cache = aCache();
    const metadata = { name: "shop", resourceVersion: "1", labels: { team: "a" } };
    cache.upsert(namespaceResource.type, "c", { apiVersion: "v1", kind: "Namespace", metadata, spec: {} });
    const address = { logicalCluster: "c", type: namespaceResource.type, namespace: "", name: "shop" };
    expect(cache.get(address)).toEqual({ apiVersion: "v1", kind: "Namespace", metadata });
  });
});

describe("indexes of the workload cache", () => {
  const conf = { logicalCluster: "c", kind: "ConfigMap", namespace: "shop", name: "conf" } as const;
  const referrers = (cache: WorkloadCache, reference: Parameters<WorkloadCache["referrers"]>[0] = conf) =>
    cache.referrers(reference).map(({ name }) => name);

  test("workloads are found by their current references", () => {
    const cache = aCache();
    cache.upsert(deployments, "c", web("1", mounting("conf")));
    cache.upsert(deployments, "c", web("1", mounting("conf"), "api"));
    expect(referrers(cache)).toEqual(["deployments.v1.apps/shop/api", "deployments.v1.apps/shop/web"]);
    cache.upsert(deployments, "c", web("2", mounting("other")));
    cache.remove(at("api"));
    expect(referrers(cache)).toEqual([]);
    expect(referrers(cache, { ...conf, name: "other" })).toEqual(["deployments.v1.apps/shop/web"]);
    expect(referrers(cache, { ...conf, name: "other", logicalCluster: "d" })).toEqual([]);
    expect(referrers(cache, { ...conf, name: "other", namespace: "store" })).toEqual([]);
  });

  test("workloads are found by the references in their sync records", () => {
    const cache = aCache();
    cache.upsert(recordResource.type, "c", record("web", { references: [{ kind: "Secret", name: "pull" }] }));
    expect(referrers(cache, { ...conf, kind: "Secret", name: "pull" })).toEqual(["deployments.v1.apps/shop/web"]);
  });

  test("sync records are found by cluster and by placement", () => {
    const cache = aCache();
    cache.replace(recordResource.type, "c", [
      record("web", { clusters: ["east", "west"], placement: "all" }),
      record("api", { clusters: ["east"], placement: "some" }),
    ]);
    const names = (records: readonly { metadata: { name?: string } }[]) => records.map(({ metadata }) => metadata.name);
    expect(names(cache.recordsOn("c", "east"))).toEqual(["api", "web"]);
    expect(names(cache.recordsOn("c", "west"))).toEqual(["web"]);
    expect(names(cache.recordsUnder("c", "some"))).toEqual(["api"]);
    cache.upsert(recordResource.type, "c", record("web", { clusters: ["north"], placement: "some" }, "2"));
    cache.remove(at("api", recordResource.type));
    expect(names(cache.recordsOn("c", "east"))).toEqual([]);
    expect(names(cache.recordsUnder("c", "some"))).toEqual(["web"]);
    expect(names(cache.records("c"))).toEqual(["web"]);
  });
});
