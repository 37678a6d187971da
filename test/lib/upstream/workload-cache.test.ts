import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { describe, expect, test } from "vitest";
import { workloadKindsWith } from "../../../lib/api/workload-kinds.ts";
import { namespaceLane, recordLane, workloadLanes } from "../../../lib/upstream/watched-resources.ts";
import { createWorkloadCache, type SeenAddress, type WorkloadCache } from "../../../lib/upstream/workload-cache.ts";

const types = workloadKindsWith();
const deployments = { group: "apps", version: "v1", plural: "deployments" };
const configMaps = { group: "", version: "v1", plural: "configmaps" };

const at = (name: string, type: ResourceType = deployments): SeenAddress => ({
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

describe("what is known", () => {
  const older: Record<string, (cache: WorkloadCache) => void> = {
    "a list": (cache) => void cache.takeList(deployments, "c", [web("9")]),
    "a watch": (cache) => cache.takeSeen(deployments, "c", web("9")),
    "an answer": (cache) => void cache.takeAnswer(at("web"), web("9")),
    "the end of an earlier one": (cache) => cache.takeGone(at("web"), "9"),
  };
  test.each(Object.keys(older))("nothing older takes the place of something newer: %s", (way) => {
    const cache = aCache();
    cache.takeSeen(deployments, "c", web("10"));
    older[way]?.(cache);
    expect(versionOf(cache)).toBe("10");
  });

  test("what a list no longer names stays, in doubt", () => {
    const cache = aCache();
    cache.takeList(deployments, "c", [web("1"), web("2", {}, "api")]);
    expect(cache.takeList(deployments, "c", [web("3")])).toEqual([at("api")]);
    expect([cache.isDoubted(at("api")), cache.isDoubted(at("web")), versionOf(cache, at("api"))]).toEqual([
      true,
      false,
      "2",
    ]);
    cache.takeGone(at("api"), "2");
    expect([cache.isDoubted(at("api")), cache.get(at("api"))]).toEqual([false, undefined]);
  });

  test("a type that is not served counts as listed, and takes nothing away", () => {
    const cache = aCache();
    cache.takeSeen(deployments, "c", web("1"));
    cache.takeAbsent(deployments, "c");
    expect([cache.isListed("c", deployments), versionOf(cache), cache.isDoubted(at("web"))]).toEqual([
      true,
      "1",
      false,
    ]);
  });

  test("everything is listed when each type is", () => {
    const cache = aCache();
    const lanes = workloadLanes(types);
    for (const { type } of lanes) {
      expect(cache.isListed("c")).toBe(false);
      cache.takeList(type, "c", []);
    }
    expect([cache.isListed("c"), cache.isListed("another")]).toEqual([true, false]);
  });

  test("a list is in order, and the same one while nothing changes", () => {
    const cache = aCache();
    for (const name of ["b", "a", "c"]) cache.takeSeen(deployments, "c", web("1", {}, name));
    const listed = cache.list(deployments, "c");
    expect(listed.map(({ metadata }) => metadata.name)).toEqual(["a", "b", "c"]);
    expect(cache.list(deployments, "c")).toBe(listed);
    cache.takeSeen(deployments, "c", web("2", {}, "a"));
    expect(cache.list(deployments, "c")).not.toBe(listed);
  });

  test("one that is dropped is as one never seen, and nobody's late word brings it back", () => {
    const cache = aCache();
    cache.takeSeen(deployments, "c", web("1"));
    const admit = cache.admit(at("new"));
    cache.drop("c");
    admit(web("5", {}, "new"));
    cache.takeAnswer(at("web"), web("6"));
    cache.doubt(at("web"));
    expect([cache.clusters(), cache.get(at("web")), cache.get(at("new")), cache.isDoubted(at("web"))]).toEqual([
      [],
      undefined,
      undefined,
      false,
    ]);
  });
});

describe("answers", () => {
  test("of what no watch has told of are given, and not kept", () => {
    const cache = aCache();
    cache.takeList(deployments, "c", []);
    expect(cache.takeAnswer(at("web"), web("1")).metadata.resourceVersion).toBe("1");
    expect(cache.get(at("web"))).toBeUndefined();
  });

  test("of something that was made here are kept", () => {
    const cache = aCache();
    cache.takeList(deployments, "c", []);
    const admit = cache.admit(at("web"));
    admit(web("5"));
    expect(versionOf(cache)).toBe("5");
  });

  test("of something whose end was told meanwhile are not", () => {
    const cache = aCache();
    cache.takeList(deployments, "c", []);
    const admit = cache.admit(at("web"));
    cache.takeSeen(deployments, "c", web("5"));
    cache.takeGone(at("web"), "6");
    admit(web("5"));
    expect(cache.get(at("web"))).toBeUndefined();
  });

  test("of something that was changed meanwhile do not take it back", () => {
    const cache = aCache();
    cache.takeList(deployments, "c", []);
    const admit = cache.admit(at("web"));
    cache.takeSeen(deployments, "c", web("7"));
    admit(web("5"));
    expect(versionOf(cache)).toBe("7");
  });
});

describe("what is kept", () => {
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
  test("of what comes along, no more than the metadata, and not what kubectl keeps in there", () => {
    const cache = aCache();
    cache.takeList(configMaps, "c", [secret]);
    expect(JSON.stringify(cache.get(at("conf", configMaps)))).not.toContain("hidden");
    expect(cache.get(at("conf", configMaps))?.metadata.annotations).toEqual({ mine: "a" });
    expect(JSON.stringify(cache.takeAnswer(at("conf", configMaps), secret))).not.toContain("hidden");
  });

  test("of metadata alone, under the name of its kind", () => {
    const cache = aCache();
    const partial = { ...secret, apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata" };
    cache.takeSeen(configMaps, "c", partial);
    expect(cache.get(at("conf", configMaps))).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
  });

  test("of workloads, all but what nobody reads", () => {
    const cache = aCache();
    cache.takeSeen(deployments, "c", web("1", { replicas: 2 }));
    const metadata = { name: "web", namespace: "shop", resourceVersion: "1" };
    expect(cache.get(at("web"))).toEqual({ ...web("1", { replicas: 2 }), metadata });
  });

  test("of namespaces, their labels", () => {
    const cache = aCache();
    const metadata = { name: "shop", resourceVersion: "1", labels: { team: "a" } };
    cache.takeSeen(namespaceLane.type, "c", { apiVersion: "v1", kind: "Namespace", metadata, spec: {} });
    const address = { logicalCluster: "c", type: namespaceLane.type, namespace: "", name: "shop" };
    expect(cache.get(address)).toEqual({ apiVersion: "v1", kind: "Namespace", metadata });
  });
});

describe("who has to do with what", () => {
  const conf = { logicalCluster: "c", kind: "ConfigMap", namespace: "shop", name: "conf" } as const;
  const referrers = (cache: WorkloadCache, reference: Parameters<WorkloadCache["referrers"]>[0] = conf) =>
    cache.referrers(reference).map(({ name }) => name);

  test("workloads are found by what they refer to, now and not before", () => {
    const cache = aCache();
    cache.takeSeen(deployments, "c", web("1", mounting("conf")));
    cache.takeSeen(deployments, "c", web("1", mounting("conf"), "api"));
    expect(referrers(cache)).toEqual(["deployments.v1.apps/shop/api", "deployments.v1.apps/shop/web"]);
    cache.takeSeen(deployments, "c", web("2", mounting("other")));
    cache.takeGone(at("api"));
    expect(referrers(cache)).toEqual([]);
    expect(referrers(cache, { ...conf, name: "other" })).toEqual(["deployments.v1.apps/shop/web"]);
    expect(referrers(cache, { ...conf, name: "other", logicalCluster: "d" })).toEqual([]);
    expect(referrers(cache, { ...conf, name: "other", namespace: "store" })).toEqual([]);
  });

  test("and by what their records say comes along with them", () => {
    const cache = aCache();
    cache.takeSeen(recordLane.type, "c", record("web", { references: [{ kind: "Secret", name: "pull" }] }));
    expect(referrers(cache, { ...conf, kind: "Secret", name: "pull" })).toEqual(["deployments.v1.apps/shop/web"]);
  });

  test("records are found by their clusters and by their placement", () => {
    const cache = aCache();
    cache.takeList(recordLane.type, "c", [
      record("web", { clusters: ["east", "west"], placement: "all" }),
      record("api", { clusters: ["east"], placement: "some" }),
    ]);
    const names = (records: readonly { metadata: { name?: string } }[]) => records.map(({ metadata }) => metadata.name);
    expect(names(cache.recordsOn("c", "east"))).toEqual(["api", "web"]);
    expect(names(cache.recordsOn("c", "west"))).toEqual(["web"]);
    expect(names(cache.recordsUnder("c", "some"))).toEqual(["api"]);
    cache.takeSeen(recordLane.type, "c", record("web", { clusters: ["north"], placement: "some" }, "2"));
    cache.takeGone(at("api", recordLane.type));
    expect(names(cache.recordsOn("c", "east"))).toEqual([]);
    expect(names(cache.recordsUnder("c", "some"))).toEqual(["web"]);
    expect(names(cache.records("c"))).toEqual(["web"]);
  });
});
