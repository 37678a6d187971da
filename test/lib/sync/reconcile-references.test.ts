import { beforeEach, describe, expect, it } from "vitest";
import { syncFinalizer } from "../../../lib/sync/ownership/record.ts";
import { InMemoryWorld, Killed } from "../../support/in-memory-world.ts";
import { anInMemoryWorld, inWorld } from "../../support/in-memory-world-helpers.ts";

let world: InMemoryWorld;
beforeEach(() => {
  world = anInMemoryWorld();
});
const { has, states } = inWorld(() => world);

/** Creates the Secret that workloads reference. */
function addKey(): void {
  world.references.set("Secret/key", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "key", namespace: "shop", resourceVersion: "7" },
    data: { a: "Yg==" },
  });
}

const needsKey = (replicas = 1) => ({
  replicas,
  template: { spec: { containers: [{ name: "web", image: "web", envFrom: [{ secretRef: { name: "key" } }] }] } },
});

/** Places workloads on one cluster that all reference the same Secret. */
async function sharing(...names: readonly string[]): Promise<void> {
  world.place("shop", ["east"]);
  addKey();
  for (const name of names) world.apply(name, needsKey());
  await world.settle(...names);
  expect(world.copy("east", "key", "secrets")).toBeDefined();
}

describe("dependencies of a placed workload", () => {
  it("a workload waits for its dependencies, which are applied before it and deleted with it", async () => {
    world.place("shop", ["east"]);
    const template = {
      spec: { containers: [{ name: "web", image: "web", envFrom: [{ configMapRef: { name: "settings" } }] }] },
    };
    world.apply("web", { replicas: 1, template });
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(states("web")).toEqual({ east: "ReferenceMissing" });
    // A namespace alone would be of no use, and it would be deleted again.
    expect(world.log).not.toContain("east namespace");
    world.references.set("ConfigMap/settings", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "settings", namespace: "shop", resourceVersion: "7" },
      data: { a: "b" },
    });
    world.log.length = 0;
    await world.settle("web");
    expect(world.log.filter((line) => /apply|namespace/.test(line)).slice(0, 2)).toEqual([
      "east namespace",
      "east apply configmaps/settings",
    ]);
    expect(world.log.filter((line) => line.includes("apply"))).toEqual([
      "east apply configmaps/settings",
      "east apply deployments/web",
    ]);
    world.delete("web");
    await world.settle("web");
    expect(world.copy("east", "settings", "configmaps")).toBeUndefined();
  });

  it("a shared dependency is deleted with the last workload that needs it", async () => {
    await sharing("web", "api");
    world.delete("web");
    await world.settle("web");
    expect(world.copy("east", "key", "secrets")).toBeDefined();
    world.delete("api");
    await world.settle("api");
    expect(world.copy("east", "key", "secrets")).toBeUndefined();
  });

  it.for(["is deleted", "selects them no more"])(
    "a shared dependency is deleted if two workloads are evicted together because their placement %s",
    async (what) => {
      await sharing("web", "api");
      if (what === "is deleted") world.placements.delete("shop");
      else world.place("shop", ["east"], { workloadSelector: { namespaces: ["elsewhere"] } });
      // Concurrently: neither has finished when the other reads the records.
      await Promise.all([world.reconcile("web"), world.reconcile("api")]);
      await world.settle("web", "api");
      expect(has("web") + has("api")).toBe("");
      expect(world.copy("east", "key", "secrets")).toBeUndefined();
    },
  );

  it("a PersistentVolumeClaim that was distributed as a dependency is not deleted, because it holds data", async () => {
    // A placement that selects claims would govern the claim itself.
    world.place("shop", ["east"], {
      workloadSelector: { workloadTypes: [{ apiVersion: "apps/v1", kind: "Deployment" }] },
    });
    world.references.set("PersistentVolumeClaim/data", {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "data", namespace: "shop", resourceVersion: "7" },
    });
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
    world.apply("web", { replicas: 1, template: { spec: { containers: [{ name: "web", image: "web" }], volumes } } });
    await world.settle("web");
    expect(world.copy("east", "data", "persistentvolumeclaims")).toBeDefined();
    world.delete("web");
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(world.copy("east", "data", "persistentvolumeclaims")).toBeDefined();
  });

  it("a dependency that gets a placement of its own is not deleted", async () => {
    await sharing("web");
    world.place("keys", ["east"], { workloadSelector: { workloadTypes: [{ apiVersion: "v1", kind: "Secret" }] } });
    await world.settle("web");
    expect(world.log).not.toContain("east remove secrets/key");
    expect(world.record("web")?.spec.references).toEqual([]);
  });

  it("a dependency that was deleted on a cluster is applied again", async () => {
    await sharing("web");
    world.loseCopy("east", "key", "secrets");
    await world.settle("web");
    expect(world.copy("east", "key", "secrets")).toBeDefined();
  });

  it("the record names dependencies until the last copy is gone", async () => {
    await sharing("web");
    world.lingering.add("deployments");
    world.placements.delete("shop");
    await world.settle("web");
    expect(world.record("web")?.spec.references).toEqual([{ kind: "Secret", name: "key" }]);
    world.endLingering();
    await world.settle("web");
    expect(world.copy("east", "key", "secrets")).toBeUndefined();
    expect(world.record("web")?.spec).toMatchObject({ clusters: [], references: [] });
  });

  it("the namespace is deleted only after all dependencies in it are gone", async () => {
    await sharing("web");
    world.lingering.add("secrets");
    world.placements.delete("shop");
    await world.settle("web");
    expect(world.log).not.toContain("east remove namespace");
    expect(world.record("web")?.spec.clusters).toEqual(["east"]);
    world.endLingering();
    await world.settle("web");
    expect(world.log).toContain("east remove namespace");
    expect(world.record("web")?.spec.clusters).toEqual([]);
  });
});

describe("cleanup of dependencies", () => {
  beforeEach(addKey);

  it("a shared dependency is deleted if all of its users are deleted at the same time", async () => {
    const names = ["web", "api", "job"];
    world.place("shop", ["east"]);
    for (const name of names) world.apply(name, needsKey());
    await world.settle(...names);
    for (const name of names) world.delete(name);
    await Promise.all(names.map((name) => world.reconcile(name)));
    expect(names.map(has)).toEqual(["", "", ""]);
    expect(world.copy("east", "key", "secrets")).toBeUndefined();
    expect(world.log).toContain("east remove namespace");
    for (const name of names) expect(world.record(name)?.metadata.finalizers).toEqual([]);
  });

  it("a shared dependency is deleted even if each user reads an outdated list of records", async () => {
    const names = ["web", "api"];
    world.place("shop", ["east"]);
    for (const name of names) world.apply(name, needsKey());
    await world.settle(...names);
    world.recordsOfBatch = [...world.records.values()];
    for (const name of names) world.delete(name);
    for (const name of names) await world.reconcile(name);
    expect(names.map(has)).toEqual(["", ""]);
    expect(world.copy("east", "key", "secrets")).toBeUndefined();
    expect(world.log).toContain("east remove namespace");
  });

  it("a dependency is kept while a workload with a finalizer has no record yet, and deleted once that workload needs it elsewhere", async () => {
    world.place("shop", ["east", "west"]);
    world.apply("web", needsKey(), { annotations: { "tmc.kcp.io/target-clusters": "east" } });
    await world.settle("web");
    world.apply("api", needsKey(), {
      annotations: { "tmc.kcp.io/target-clusters": "west" },
      finalizers: [syncFinalizer],
    });
    world.delete("web");
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(world.copy("east", "key", "secrets")).toBeDefined();
    expect(await world.reconcile("web")).toMatchObject({ kind: "requeue" });
    await world.settle("api", "web");
    expect(world.copy("east", "key", "secrets")).toBeUndefined();
    expect(world.log).toContain("east remove namespace");
    expect(world.copy("west", "key", "secrets")).toBeDefined();
    expect(world.workload("web")).toBeUndefined();
  });

  it("the last workload in a namespace waits until the others have cleaned up", async () => {
    world.place("shop", ["east"]);
    for (const name of ["web", "api"]) world.apply(name, needsKey());
    await world.settle("web", "api");
    // The other workload has recorded its eviction, counted this one as staying, and is still cleaning up.
    const setPendingCleanup = (pendingCleanup: readonly string[]): void => {
      const record = world.record("api");
      if (record === undefined) throw new Error("api has no record");
      const spec = { ...record.spec, clusters: [], pendingCleanup: [...pendingCleanup] };
      world.records.set(`shop/${record.metadata.name}`, { ...record, spec });
    };
    setPendingCleanup(["east"]);
    world.usedNamespaces.add("east");
    world.delete("web");
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(world.record("web")?.spec.clusters).toEqual(["east"]);
    expect(await world.reconcile("web")).toMatchObject({ kind: "requeue" });
    setPendingCleanup([]);
    world.usedNamespaces.clear();
    world.log.length = 0;
    await world.settle("web");
    expect(world.log).toContain("east remove namespace");
    expect(world.workload("web")).toBeUndefined();
  });

  it("foreign objects in the namespace do not block the deletion of a workload", async () => {
    world.place("shop", ["east"]);
    world.apply("web", needsKey());
    await world.settle("web");
    world.usedNamespaces.add("east");
    world.delete("web");
    await world.settle("web");
    expect(world.workload("web")).toBeUndefined();
  });

  it("a dependency is deleted after a copy that terminates slowly", async () => {
    world.place("shop", ["east"]);
    world.apply("web", needsKey());
    await world.settle("web");
    // A finalizer of the cluster keeps the copy terminating.
    world.putCopy("east", "web", (copy) => ({
      ...copy,
      metadata: { ...copy.metadata, deletionTimestamp: "2030-01-01T00:00:00Z" },
    }));
    world.delete("web");
    await world.settle("web");
    expect(world.copy("east", "key", "secrets")).toBeDefined();
    world.clusters.get("east")?.delete(`deployments/${world.namespaceOf()}/web`);
    await world.settle("web");
    expect(world.copy("east", "key", "secrets")).toBeUndefined();
    expect(world.workload("web")).toBeUndefined();
  });

  it("a dependency is deleted on a cluster that was not Ready when it became unneeded", async () => {
    world.place("shop", ["east", "west"]);
    world.apply("web", needsKey());
    await world.settle("web");
    world.makeReady("east", "west");
    await world.settle("web");
    world.setReady("west", false);
    world.place("shop", ["east"]);
    world.apply("web", { replicas: 2 });
    await world.settle("web");
    world.makeReady("east");
    await world.settle("web");
    expect(world.copy("east", "key", "secrets")).toBeUndefined();
    world.setReady("west", true);
    await world.settle("web");
    expect(has("web")).toBe("east");
    expect(world.copy("west", "key", "secrets")).toBeUndefined();
  });

  it("dependencies are deleted after a crash between eviction and cleanup", async () => {
    const names = ["web", "api"];
    for (let killAt = 1; ; killAt += 1) {
      world = new InMemoryWorld();
      for (const name of ["east", "west", "north"]) world.register(name);
      addKey();
      world.place("shop", ["east"]);
      for (const name of names) world.apply(name, needsKey());
      await world.settle(...names);
      for (const name of names) world.delete(name);
      world.killAt = world.writes + killAt;
      const ends = await Promise.allSettled(names.map((name) => world.reconcile(name)));
      const failed = ends.filter((end) => end.status === "rejected");
      for (const { reason } of failed) expect(reason).toBeInstanceOf(Killed);
      world.killAt = Number.POSITIVE_INFINITY;
      await world.settle(...names);
      expect(world.copy("east", "key", "secrets"), `killed at write ${killAt}`).toBeUndefined();
      expect(names.map((name) => world.workload(name))).toEqual([undefined, undefined]);
      if (failed.length === 0) break;
    }
  });
});
