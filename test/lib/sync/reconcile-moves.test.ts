import { beforeEach, describe, expect, it } from "vitest";
import { type InMemoryWorld, replicasOf } from "../../support/in-memory-world.ts";
import { anInMemoryWorld, inWorld } from "../../support/in-memory-world-helpers.ts";

let world: InMemoryWorld;
beforeEach(() => {
  world = anInMemoryWorld();
});
const { has, running, states } = inWorld(() => world);

describe("moves between clusters", () => {
  it("a move keeps the old copy until the new one is ready", async () => {
    await running();
    world.place("shop", ["west", "north"]);
    await world.settle("web");
    expect(has("web")).toBe("east north west");
    expect(states("web")).toMatchObject({ east: "WaitingForReplacement" });
    world.makeReady("north");
    await world.settle("web");
    expect(has("web")).toBe("north west");
    expect(world.record("web")?.spec.clusters).toEqual(["north", "west"]);
  });

  it("a copy that another registration of the same cluster adopts is counted once", async () => {
    const cluster = world.clusters.get("east") ?? new Map();
    world.clusters.set("west", cluster);
    world.place("shop", ["east"]);
    world.apply("web");
    await world.settle("web");
    world.makeReady("east");
    await world.settle("web");
    world.place("shop", ["west"], { adoption: "Always" });
    world.apply("web", { replicas: 3, paused: true });
    await world.reconcile("web");
    expect(states("web")).toMatchObject({ east: "WaitingForReplacement", west: "LatestGenerationNotObserved" });
    expect(world.workload("web")?.status).toMatchObject({ readyReplicas: 3 });
    world.makeReady("west");
    await world.settle("web");
    expect(has("web")).toBe("east west");
    expect(world.record("web")?.spec.clusters).toEqual(["west"]);
    expect(world.workload("web")?.status).toMatchObject({ readyReplicas: 3 });
  });

  it("a deletion does not finish if another controller applied the copy again", async () => {
    await running();
    const copy = world.copy("east", "web");
    if (copy === undefined) throw new Error("east has no copy");
    // Another controller that has not observed the deletion yet applies the copy while this one writes its report.
    const set = world.records.set.bind(world.records);
    let isPutBack = false;
    world.records.set = (id, record) => {
      if (!isPutBack && has("web") === "") {
        isPutBack = true;
        world.putCopy("east", "web", () => copy);
      }
      return set(id, record);
    };
    world.delete("web");
    while (!isPutBack) await world.reconcile("web");
    expect(world.workload("web")).toBeDefined();
    expect(world.record("web")?.spec.clusters).toContain("east");
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(world.workload("web")).toBeUndefined();
  });

  it("a registration does not adopt a copy from another target registration of the same cluster", async () => {
    world.clusters.set("west", world.clusters.get("east") ?? new Map());
    world.place("shop", ["east", "west"], { adoption: "Always" });
    world.apply("web");
    await world.settle("web");
    world.makeReady("east");
    await world.settle("web");
    expect(states("web")).toEqual({ east: "Ready", west: "ForeignObject" });
    expect(world.workload("web")?.status).toMatchObject({ readyReplicas: 3 });
  });

  it("the last copies are kept if no cluster fits", async () => {
    await running();
    world.place("shop", []);
    await world.settle("web");
    expect(has("web")).toBe("east west");
    expect(states("web")).toMatchObject({ east: "LastCopy", west: "LastCopy" });
  });

  it("the record of a last copy has the number of ready replicas that the cluster reports", async () => {
    await running();
    world.place("shop", []);
    await world.settle("web");
    world.putCopy("east", "web", (copy) => ({ ...copy, status: { readyReplicas: 1 } }));
    await world.settle("web");
    const entry = world.record("web")?.status?.clusters?.find(({ name }) => name === "east");
    expect(entry).toMatchObject({ state: "Applied", reason: "LastCopy", readyReplicas: 1 });
  });

  it("the copy on a cluster that is not Ready is deleted when the cluster is back", async () => {
    await running();
    world.setReady("west", false);
    world.unreachable.add("west");
    world.place("shop", ["east", "north"]);
    await world.settle("web");
    world.makeReady("east", "north");
    await world.settle("web");
    expect(states("web")).toMatchObject({ west: "ClusterNotReady" });
    expect(world.workload("web")?.status).toMatchObject({ readyReplicas: 6 });
    world.unreachable.clear();
    world.setReady("west", true);
    await world.settle("web");
    expect(has("web")).toBe("east north");
  });

  it("the copy on a recovered cluster is kept until its replacement is ready", async () => {
    await running();
    world.setReady("west", false);
    world.place("shop", ["north"]);
    await world.settle("web");
    world.setReady("west", true);
    await world.settle("web");
    expect(has("web")).toBe("east north west");
    expect(states("web")).toMatchObject({ east: "WaitingForReplacement", west: "WaitingForReplacement" });
    world.makeReady("north");
    await world.settle("web");
    expect(has("web")).toBe("north");
  });

  it("the old copy is kept if the new one fails between read and deletion", async () => {
    await running();
    world.place("shop", ["north"]);
    await world.settle("web");
    world.makeReady("north");
    // Its watch lags: the cached copy is still ready.
    world.watched.set("north", new Map(world.clusters.get("north")));
    world.putCopy("north", "web", (copy) => ({ ...copy, status: { observedGeneration: 1, readyReplicas: 0 } }));
    const next = await world.reconcile("web");
    expect(has("web")).toBe("east north west");
    expect(states("web")).toMatchObject({ east: "WaitingForReplacement", west: "WaitingForReplacement" });
    expect(next).toEqual({ kind: "requeue", afterSeconds: 10 });
    world.watched.clear();
    world.makeReady("north");
    await world.settle("web");
    expect(has("web")).toBe("north");
  });

  it.each([
    ["was deleted on its cluster", () => world.clusters.get("north")?.clear()],
    ["cannot be read", () => world.unreachable.add("north")],
  ])("the old copy is kept if the new one %s", async (_, spoil) => {
    await running();
    world.place("shop", ["north"]);
    await world.settle("web");
    world.makeReady("north");
    await world.reconcile("web");
    expect(has("web")).toBe("north");
    world.place("shop", ["east"]);
    await world.settle("web");
    world.place("shop", ["north"]); // moved back before the replacement was ready
    world.watched.set("north", new Map(world.clusters.get("north")));
    spoil();
    await world.reconcile("web");
    expect(world.copy("east", "web")).toBeDefined();
  });

  it("a replacement is confirmed with one read for all evicted copies", async () => {
    await running();
    world.place("shop", ["north"]);
    await world.settle("web");
    world.makeReady("north");
    world.log.length = 0;
    await world.reconcile("web");
    expect(world.log.filter((line) => line.includes("confirm"))).toEqual([
      `north confirm deployments/${world.namespaceOf()}/web`,
    ]);
    expect(has("web")).toBe("north");
  });

  it("a divided workload grows on new clusters before it shrinks on old ones", async () => {
    const ready = () =>
      ["east", "west", "north"].reduce((sum, name) => {
        const copy = world.copy(name, "web");
        const status: unknown = copy?.status;
        const count = typeof status === "object" && status !== null && "readyReplicas" in status ? status : {};
        return sum + Math.min(Number(Object(count).readyReplicas ?? 0), copy === undefined ? 0 : replicasOf(copy));
      }, 0);
    const divided = { replicas: { mode: "Divided" as const } };
    world.place("shop", ["east", "west"], divided);
    world.apply("web", { replicas: 6 });
    await world.settle("web");
    world.makeReady("east", "west");
    await world.settle("web");
    expect(ready()).toBe(6);
    world.place("shop", ["north", "west"], divided);
    for (let round = 0; round < 6; round += 1) {
      await world.reconcile("web");
      expect(ready()).toBeGreaterThanOrEqual(6);
      if (round === 3) world.makeReady("north");
    }
    await world.settle("web");
    expect(has("web")).toBe("north west");
    expect(ready()).toBe(6);
  });

  it("the deletion policy Orphan leaves the copy on the cluster", async () => {
    await running();
    world.place("shop", ["east"], { deletionPolicy: "Orphan" });
    await world.settle("web");
    expect(has("web")).toBe("east west");
    expect(world.record("web")?.spec.clusters).toEqual(["east"]);
  });
});
