import { beforeEach, describe, expect, it } from "vitest";
import { syncFinalizer } from "../../../lib/sync/ownership/record.ts";
import { aPaperWorld, inWorld } from "./on-paper.ts";
import { Killed, PaperWorld } from "./paper-world.ts";

let world: PaperWorld;
beforeEach(() => {
  world = aPaperWorld();
});
const { has, states } = inWorld(() => world);

/** The Secret to which workloads refer. */
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

/** Workloads on one cluster that all refer to the same Secret. */
async function sharing(...names: readonly string[]): Promise<void> {
  world.place("shop", ["east"]);
  addKey();
  for (const name of names) world.apply(name, needsKey());
  await world.settle(...names);
  expect(world.copy("east", "key", "secrets")).toBeDefined();
}

describe("a workload that a placement selects", () => {
  it("waits for what it refers to, and takes it along", async () => {
    world.place("shop", ["east"]);
    const template = {
      spec: { containers: [{ name: "web", image: "web", envFrom: [{ configMapRef: { name: "settings" } }] }] },
    };
    world.apply("web", { replicas: 1, template });
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(states("web")).toEqual({ east: "ReferenceMissing" });
    world.references.set("ConfigMap/settings", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "settings", namespace: "shop", resourceVersion: "7" },
      data: { a: "b" },
    });
    world.log.length = 0;
    await world.settle("web");
    expect(world.log.filter((line) => line.includes("apply"))).toEqual([
      "east apply configmaps/settings",
      "east apply deployments/web",
    ]);
    world.delete("web");
    await world.settle("web");
    expect(world.copy("east", "settings", "configmaps")).toBeUndefined();
  });

  it("shares what it refers to with others, until the last of them goes", async () => {
    await sharing("web", "api");
    world.delete("web");
    await world.settle("web");
    expect(world.copy("east", "key", "secrets")).toBeDefined();
    world.delete("api");
    await world.settle("api");
    expect(world.copy("east", "key", "secrets")).toBeUndefined();
  });

  it.for(["is deleted", "selects them no more"])(
    "has what it refers to cleared away when two that share it leave together, as their placement %s",
    async (what) => {
      await sharing("web", "api");
      if (what === "is deleted") world.placements.delete("shop");
      else world.place("shop", ["east"], { workloadSelector: { namespaces: ["elsewhere"] } });
      // Side by side, step by step: neither has let go when the other looks.
      await Promise.all([world.reconcile("web"), world.reconcile("api")]);
      await world.settle("web", "api");
      expect(has("web") + has("api")).toBe("");
      expect(world.copy("east", "key", "secrets")).toBeUndefined();
    },
  );

  it("leaves a claim that came along where it is, because that holds data", async () => {
    // One that selects claims too would give it a place of its own.
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

  it("leaves what it refers to where that gets a placement of its own", async () => {
    await sharing("web");
    world.place("keys", ["east"], { workloadSelector: { workloadTypes: [{ apiVersion: "v1", kind: "Secret" }] } });
    await world.settle("web");
    expect(world.log).not.toContain("east remove secrets/key");
    expect(world.record("web")?.spec.references).toEqual([]);
  });

  it("has what it refers to put back when somebody removes it on a cluster", async () => {
    await sharing("web");
    world.loseCopy("east", "key", "secrets");
    await world.settle("web");
    expect(world.copy("east", "key", "secrets")).toBeDefined();
  });

  it("remembers what came along until its last copy has gone", async () => {
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

  it("leaves its namespace only when what came along has gone from there", async () => {
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

describe("what came along", () => {
  beforeEach(addKey);

  it("goes with the last user though they all leave at the same moment", async () => {
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

  it("goes with the last user though each goes by a list from before the others left", async () => {
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

  it("stays while another is guarded whose record is not there yet, and goes when that needs it elsewhere", async () => {
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

  it("keeps the last of those that share a namespace until the others have cleared it", async () => {
    world.place("shop", ["east"]);
    for (const name of ["web", "api"]) world.apply(name, needsKey());
    await world.settle("web", "api");
    // The other has said that it left, took this one for one that stays, and is not done yet.
    const leaving = (left: readonly string[]): void => {
      const record = world.record("api");
      if (record === undefined) throw new Error("api has no record");
      const spec = { ...record.spec, clusters: [], pendingCleanup: [...left] };
      world.records.set(`shop/${record.metadata.name}`, { ...record, spec });
    };
    leaving(["east"]);
    world.filled.add("east");
    world.delete("web");
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(world.record("web")?.spec.clusters).toEqual(["east"]);
    expect(await world.reconcile("web")).toMatchObject({ kind: "requeue" });
    leaving([]);
    world.filled.clear();
    world.log.length = 0;
    await world.settle("web");
    expect(world.log).toContain("east remove namespace");
    expect(world.workload("web")).toBeUndefined();
  });

  it("does not keep anybody for what strangers have in the namespace", async () => {
    world.place("shop", ["east"]);
    world.apply("web", needsKey());
    await world.settle("web");
    world.filled.add("east");
    world.delete("web");
    await world.settle("web");
    expect(world.workload("web")).toBeUndefined();
  });

  it("goes though the copy takes its time to go", async () => {
    world.place("shop", ["east"]);
    world.apply("web", needsKey());
    await world.settle("web");
    // A finalizer there keeps it until its cluster has cleared up.
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

  it("goes from a cluster that was away when it was no longer needed", async () => {
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

  it("is cleared away after a crash between going and clearing away", async () => {
    const names = ["web", "api"];
    for (let killAt = 1; ; killAt += 1) {
      world = new PaperWorld();
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
