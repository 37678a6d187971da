import { beforeEach, describe, expect, it } from "vitest";
import { requeueAfter } from "../../../lib/model/work-item.ts";
import { holdId } from "../../../lib/sync/eviction/deletion-guard.ts";
import { syncFinalizer } from "../../../lib/sync/ownership/record.ts";
import { InMemoryWorld, Killed, replicasOf, startMs } from "../../support/in-memory-world.ts";
import { anInMemoryWorld, inWorld } from "../../support/in-memory-world-helpers.ts";

let world: InMemoryWorld;
beforeEach(() => {
  world = anInMemoryWorld();
});
const { has, running, states } = inWorld(() => world);

describe("a placed workload", () => {
  it("a placed workload is applied to its target clusters and reports their status", async () => {
    await running();
    expect(has("web")).toBe("east west");
    expect(world.workload("web")?.metadata.finalizers).toEqual([syncFinalizer]);
    expect(world.workload("web")?.status).toMatchObject({ replicas: 6, readyReplicas: 6, observedGeneration: 1 });
    expect(world.record("web")?.spec).toMatchObject({ placement: "shop", clusters: ["east", "west"] });
    expect(world.record("web")?.status?.conditions?.[0]).toMatchObject({ type: "Ready", status: "True" });
  });

  it("a copy is not written before finalizer and sync record exist", async () => {
    for (const killAt of [1, 2, 3]) {
      world = new InMemoryWorld();
      world.register("east");
      world.place("shop", ["east"]);
      world.apply("web");
      world.writes = 0;
      world.killAt = killAt;
      const end = await world.reconcile("web").catch((error: unknown) => error);
      expect(has("web"), `killed at write ${killAt}`).toBe("");
      expect(end).toBeInstanceOf(Killed);
    }
    // The third write is the first to a cluster.
    expect(world.workload("web")?.metadata.finalizers).toEqual([syncFinalizer]);
    expect(world.record("web")?.spec.clusters).toEqual(["east"]);
  });

  it("the burst gate delays the copies of a new workload", async () => {
    world.place("shop", ["east"]);
    world.apply("web");
    world.burstGate = {
      reconcileDelaySeconds: () => undefined,
      writeDelaySeconds: (_key, { isNewlyProtected }) => (isNewlyProtected ? 0.3 : undefined),
      forget: () => {},
    };
    expect(await world.reconcile("web")).toEqual(requeueAfter(0.3));
    expect([world.record("web")?.spec.clusters, has("web")]).toEqual([["east"], ""]);
    await world.reconcile("web");
    expect(has("web")).toBe("east");
  });

  it("an unchanged workload causes no writes", async () => {
    await running();
    world.writes = 0;
    world.log.length = 0;
    await world.reconcile("web");
    expect(world.writes).toBe(0);
    expect(world.log.filter((line) => !line.includes(" see "))).toEqual([]);
  });

  it("a changed workload is written once to each cluster and twice upstream", async () => {
    await running();
    world.apply("web", { replicas: 4 });
    world.writes = 0;
    world.log.length = 0;
    await world.reconcile("web");
    expect(world.log.filter((line) => line.includes("apply"))).toEqual([
      "east apply deployments/web",
      "west apply deployments/web",
    ]);
    expect(world.writes).toBeLessThanOrEqual(4);
    expect(
      ["east", "west"].map((name) => replicasOf(world.copy(name, "web") ?? { apiVersion: "", kind: "", metadata: {} })),
    ).toEqual([4, 4]);
  });

  it("observedGeneration does not advance before every cluster has observed the change", async () => {
    await running();
    world.apply("web", { replicas: 4 });
    await world.settle("web");
    expect(world.workload("web")?.status).toMatchObject({ observedGeneration: 1 });
    world.makeReady("east");
    await world.settle("web");
    expect(world.workload("web")?.status).toMatchObject({ observedGeneration: 1 });
    world.makeReady("west");
    await world.settle("web");
    expect(world.workload("web")?.status).toMatchObject({ observedGeneration: 2, readyReplicas: 8 });
  });

  it("a rejection is reported with the cluster's message and does not affect other clusters", async () => {
    world.rejections.set("west", 'admission webhook "policy" denied the request: no such image');
    world.place("shop", ["east", "west"]);
    world.apply("web");
    await world.reconcile("web");
    expect(has("web")).toBe("east");
    expect(world.record("web")?.status?.clusters?.find(({ name }) => name === "west")).toMatchObject({
      state: "Failed",
      reason: "Rejected",
      message: expect.stringContaining("no such image"),
    });
    expect(world.events).toContainEqual(expect.objectContaining({ type: "Warning", reason: "SyncFailed" }));
    world.rejections.clear();
    await world.settle("web");
    expect(has("web")).toBe("east west");
  });
});

describe("a workload that is not placed any more", () => {
  it("a workload that is not placed any more reports zero replicas", async () => {
    await running();
    world.placements.delete("shop");
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(world.workload("web")?.status).toMatchObject({ replicas: 0, readyReplicas: 0 });
  });
});

describe("a deleted workload", () => {
  it("a deleted workload is removed from its clusters before its finalizer is removed", async () => {
    await running();
    world.delete("web");
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(world.workload("web")).toBeUndefined();
    expect(world.record("web")?.metadata.finalizers).toEqual([]);
  });

  it("a deletion waits for a cluster that is not Ready until the deletion timeout", async () => {
    await running();
    world.setReady("west", false);
    world.unreachable.add("west");
    world.delete("web");
    await world.settle("web");
    expect(has("web")).toBe("west");
    expect(world.workload("web")?.metadata.finalizers).toEqual([syncFinalizer]);
    world.nowMs = startMs + 3_601_000;
    await world.settle("web");
    expect(world.workload("web")).toBeUndefined();
    // The record still names the cluster, so the copy is deleted when the cluster is back.
    expect(world.record("web")?.spec).toMatchObject({ deleted: true, clusters: ["west"] });
    world.unreachable.clear();
    world.setReady("west", true);
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(world.record("web")?.metadata.finalizers).toEqual([]);
  });
});

describe("unknown state", () => {
  it("the copy on a cluster that is not Ready is not part of the aggregated status", async () => {
    await running();
    world.setReady("west", false);
    await world.settle("web");
    expect(world.workload("web")?.status).toMatchObject({ replicas: 3, readyReplicas: 3 });
    expect(states("web")).toMatchObject({ west: "ClusterNotReady" });
  });

  it("a workload that vanished keeps its copies until a user confirms the deletion", async () => {
    await running();
    world.workloads.clear();
    await world.settle("web");
    expect(has("web")).toBe("east west");
    expect(states("web")).toEqual({ east: "WorkloadVanished", west: "WorkloadVanished" });
    expect(world.record("web")?.status?.clusters?.[0]?.message).toBe(
      "the workload does not exist upstream, and its deletion was not observed; to delete its copies, run: " +
        "tmc confirm deployments.v1.apps/web -n shop",
    );
    const [id, record] = [...world.records][0] ?? [];
    if (id === undefined || record === undefined) throw new Error("no record");
    const annotations = { "tmc.kcp.io/confirm-deletions": `${holdId(record, "east")},${holdId(record, "west")}` };
    world.records.set(id, { ...record, metadata: { ...record.metadata, annotations } });
    await world.settle("web");
    expect(has("web")).toBe("");
  });

  it("copies are looked up on every cluster if the sync record was lost", async () => {
    await running();
    world.place("shop", ["east"]);
    world.records.clear();
    await world.settle("web");
    world.makeReady("east");
    await world.settle("web");
    expect(has("web")).toBe("east");
  });

  it("a cluster that is not Ready gets no requests", async () => {
    await running();
    world.setReady("west", false);
    world.log.length = 0;
    world.apply("web", { replicas: 5 });
    await world.settle("web");
    expect(world.log.filter((line) => line.startsWith("west"))).toEqual([]);
  });
});

describe("foreign objects and drift", () => {
  it("a foreign object is never overwritten or deleted", async () => {
    world.place("shop", ["east"]);
    world.putCopy("east", "web", (copy) => ({ ...copy, spec: { replicas: 9 } }));
    world.apply("web");
    await world.settle("web");
    expect(states("web")).toEqual({ east: "ForeignObject" });
    world.delete("web");
    await world.settle("web");
    expect(replicasOf(world.copy("east", "web") ?? { apiVersion: "", kind: "", metadata: {} })).toBe(9);
    expect(world.workload("web")).toBeUndefined();
  });

  it("a change of a copy on its cluster is reverted", async () => {
    await running();
    world.putCopy("east", "web", (copy) => ({ ...copy, spec: { ...Object(copy.spec), replicas: 0 } }));
    await world.settle("web");
    expect(replicasOf(world.copy("east", "web") ?? { apiVersion: "", kind: "", metadata: {} })).toBe(3);
    expect(world.copyActions).toContainEqual(expect.objectContaining({ targetCluster: "east", action: "drifted" }));
  });
});

describe("a process that is killed at every write", () => {
  const steps: readonly (readonly [string, (world: InMemoryWorld) => void])[] = [
    ["placed", (each) => each.place("shop", ["east", "west"])],
    ["ready", (each) => each.makeReady("east", "west")],
    ["scaled", (each) => void each.apply("web", { replicas: 5 })],
    ["moved", (each) => each.place("shop", ["west", "north"])],
    ["ready there", (each) => each.makeReady("west", "north")],
    ["deleted", (each) => each.delete("web")],
  ];
  const run = async (each: InMemoryWorld, killAt: number): Promise<boolean> => {
    for (const name of ["east", "west", "north"]) each.register(name);
    each.apply("web");
    each.killAt = killAt;
    let wasKilled = false;
    for (const [, change] of steps) {
      change(each);
      for (;;) {
        try {
          await each.settle("web");
          break;
        } catch (error) {
          if (!(error instanceof Killed)) throw error;
          wasKilled = true;
        }
        const copies = ["east", "west", "north"].filter((name) => each.copy(name, "web") !== undefined);
        // The record names every cluster that has a copy.
        for (const name of copies) expect(each.record("web")?.spec.clusters).toContain(name);
      }
    }
    return wasKilled;
  };

  it("a run that is killed at any write converges to the same state as an undisturbed run", async () => {
    const undisturbed = new InMemoryWorld();
    await run(undisturbed, Number.POSITIVE_INFINITY);
    let killed = 0;
    for (let at = 1; at <= undisturbed.writes; at += 1) {
      const each = new InMemoryWorld();
      if (await run(each, at)) killed += 1;
      expect(["east", "west", "north"].map((name) => each.copy(name, "web"))).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      expect(each.workload("web")).toBeUndefined();
      expect(each.record("web")?.metadata.finalizers ?? []).toEqual([]);
    }
    expect(killed).toBe(undisturbed.writes);
    expect(undisturbed.writes).toBeGreaterThan(20);
  });
});
