import { beforeEach, describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { findCondition } from "../../../lib/model/condition.ts";
import type { InMemoryWorld } from "../../support/in-memory-world.ts";
import { anInMemoryWorld, inWorld } from "../../support/in-memory-world-helpers.ts";

let world: InMemoryWorld;
beforeEach(() => {
  world = anInMemoryWorld();
});
const { has, states } = inWorld(() => world);

const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
const template = { metadata: {}, spec: { containers: [{ name: "main", image: "postgres" }], volumes } };

/** A Deployment with a claim that runs on one cluster. */
async function runningOn(cluster: string, spec: Partial<WorkloadPlacement["spec"]> = {}): Promise<void> {
  world.references.set("PersistentVolumeClaim/data", {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data", namespace: "shop", uid: "uid-data", resourceVersion: "1" },
    spec: { storageClassName: "fast" },
  });
  world.place("shop", [cluster], { ...deploymentsOnly, ...spec });
  world.apply("db", { replicas: 1, template });
  await world.settle("db");
  world.makeReady(cluster);
  await world.settle("db");
  expect(states("db")).toEqual({ [cluster]: "Ready" });
}

const deploymentsOnly: Partial<WorkloadPlacement["spec"]> = {
  workloadSelector: { workloadTypes: [{ apiVersion: "apps/v1", kind: "Deployment" }] },
};
const held = () => findCondition(world.record("db")?.status?.conditions, "EvictionHeld");
const reasons = () => world.events.map(({ reason }) => reason);

describe("a workload that uses a PersistentVolumeClaim", () => {
  it("stays where its data is if the placement selects another cluster, and starts no empty copy there", async () => {
    await runningOn("east");
    world.place("shop", ["west"], deploymentsOnly);
    await world.settle("db");
    expect(has("db")).toBe("east");
    expect(world.copy("west", "data", "persistentvolumeclaims")).toBeUndefined();
    expect(states("db")).toEqual({ east: "VolumeNotMovable" });
    expect(world.record("db")?.spec.clusters).toEqual(["east"]);
    expect(held()).toMatchObject({ status: "True", reason: "VolumeNotMovable" });
    expect(reasons()).toContain("VolumeNotMovable");
    expect(findCondition(world.record("db")?.status?.conditions, "Ready")).toMatchObject({ status: "True" });
  });

  it("gets changes of its spec where it is held", async () => {
    await runningOn("east");
    world.place("shop", ["west"], deploymentsOnly);
    world.apply("db", { replicas: 4, template });
    await world.settle("db");
    expect(world.copy("east", "db")?.spec).toMatchObject({ replicas: 4 });
  });

  it("does not fail over from a cluster that is not Ready", async () => {
    await runningOn("east");
    world.setReady("east", false);
    world.place("shop", ["west"], deploymentsOnly);
    await world.settle("db");
    expect(has("db")).toBe("east");
    expect(states("db")).toEqual({ east: "ClusterNotReady" });
    expect(held()).toMatchObject({ status: "True", reason: "VolumeNotMovable" });
    world.setReady("east", true);
    await world.settle("db");
    expect(states("db")).toEqual({ east: "VolumeNotMovable" });
  });

  it("is added to further clusters while no copy leaves", async () => {
    await runningOn("east");
    world.place("shop", ["east", "west"], deploymentsOnly);
    await world.settle("db");
    expect(has("db")).toBe("east west");
    expect(held()).toBeUndefined();
  });

  it("is released from the hold when the placement selects its cluster again", async () => {
    await runningOn("east");
    world.place("shop", ["west"], deploymentsOnly);
    await world.settle("db");
    world.place("shop", ["east"], deploymentsOnly);
    await world.settle("db");
    expect(states("db")).toEqual({ east: "Ready" });
    expect(held()).toMatchObject({ status: "False", reason: "NoEvictionHeld" });
  });

  it("moves with volumes Recreate, and leaves the claim behind", async () => {
    await runningOn("east", { volumes: "Recreate" });
    world.place("shop", ["west"], { ...deploymentsOnly, volumes: "Recreate" });
    await world.settle("db");
    world.makeReady("west");
    await world.settle("db");
    expect(has("db")).toBe("west");
    expect(world.copy("east", "data", "persistentvolumeclaims")).toBeDefined();
    expect(reasons()).toContain("VolumeLeftBehind");
  });

  it("moves if the storage class of its claim is shared", async () => {
    const shared = { ...deploymentsOnly, sharedStorageClasses: ["fast"] };
    await runningOn("east", shared);
    world.place("shop", ["west"], shared);
    await world.settle("db");
    world.makeReady("west");
    await world.settle("db");
    expect(has("db")).toBe("west");
  });

  it("is not held on a cluster that never had a copy of it", async () => {
    world.references.set("PersistentVolumeClaim/data", {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "data", namespace: "shop", uid: "uid-data", resourceVersion: "1" },
    });
    world.rejections.set("east", "no room");
    world.place("shop", ["east"], deploymentsOnly);
    world.apply("db", { replicas: 1, template });
    await world.settle("db");
    world.place("shop", ["west"], deploymentsOnly);
    await world.settle("db");
    expect(has("db")).toBe("west");
  });

  it("starts elsewhere when the registration of its cluster is gone", async () => {
    await runningOn("east");
    world.registrations.delete("east");
    world.place("shop", ["west"], deploymentsOnly);
    await world.settle("db");
    expect(has("db")).toBe("east west");
    expect(world.record("db")?.spec.clusters).toEqual(["west"]);
  });

  it("is deleted with its owner and with its placement", async () => {
    await runningOn("east");
    world.place("shop", ["west"], deploymentsOnly);
    await world.settle("db");
    world.placements.clear();
    await world.settle("db");
    expect(has("db")).toBe("");
  });

  it("keeps its copy if the record was lost with the state of its copies", async () => {
    await runningOn("east");
    world.records.clear();
    world.place("shop", ["west"], deploymentsOnly);
    await world.settle("db");
    world.makeReady("west");
    await world.settle("db");
    expect(has("db")).toContain("east");
    expect(states("db")).toMatchObject({ east: "VolumeNotMovable" });
  });
});
