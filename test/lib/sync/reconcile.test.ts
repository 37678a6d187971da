import { beforeEach, describe, expect, it } from "vitest";
import { requeueAfter } from "../../../lib/model/next.ts";
import { holdOf } from "../../../lib/sync/eviction/deletion-guard.ts";
import { syncFinalizer } from "../../../lib/sync/ownership/record.ts";
import { aPaperWorld, inWorld } from "./on-paper.ts";
import { Killed, PaperWorld, replicasOf, startMs } from "./paper-world.ts";

let world: PaperWorld;
beforeEach(() => {
  world = aPaperWorld();
});
const { has, running, states } = inWorld(() => world);

describe("a workload that a placement selects", () => {
  it("is on the chosen clusters, and says so", async () => {
    await running();
    expect(has("web")).toBe("east west");
    expect(world.workload("web")?.metadata.finalizers).toEqual([syncFinalizer]);
    expect(world.workload("web")?.status).toMatchObject({ replicas: 6, readyReplicas: 6, observedGeneration: 1 });
    expect(world.record("web")?.spec).toMatchObject({ placement: "shop", clusters: ["east", "west"] });
    expect(world.record("web")?.status?.conditions?.[0]).toMatchObject({ type: "Ready", status: "True" });
  });

  it("is not written before finalizer and record say where it will be", async () => {
    for (const killAt of [1, 2, 3]) {
      world = new PaperWorld();
      world.register("east");
      world.place("shop", ["east"]);
      world.apply("web");
      world.writes = 0;
      world.killAt = killAt;
      const end = await world.reconcile("web").catch((error: unknown) => error);
      expect(has("web"), `killed at write ${killAt}`).toBe("");
      expect(end).toBeInstanceOf(Killed);
    }
    // The third is the first to a cluster.
    expect(world.workload("web")?.metadata.finalizers).toEqual([syncFinalizer]);
    expect(world.record("web")?.spec.clusters).toEqual(["east"]);
  });

  it("lets others be made safe first in a rush", async () => {
    world.place("shop", ["east"]);
    world.apply("web");
    world.rush = {
      restSeconds: () => undefined,
      waitSeconds: (_key, { isMadeSafe }) => (isMadeSafe ? 0.3 : undefined),
      forget: () => {},
    };
    expect(await world.reconcile("web")).toEqual(requeueAfter(0.3));
    expect([world.record("web")?.spec.clusters, has("web")]).toEqual([["east"], ""]);
    await world.reconcile("web");
    expect(has("web")).toBe("east");
  });

  it("costs nothing at rest", async () => {
    await running();
    world.writes = 0;
    world.log.length = 0;
    await world.reconcile("web");
    expect(world.writes).toBe(0);
    expect(world.log.filter((line) => !line.includes(" see "))).toEqual([]);
  });

  it("is written once to each cluster for a change, and twice to the hub", async () => {
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

  it("does not say that a change is done before every cluster has taken it up", async () => {
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

  it("says in the cluster's words what it refuses, and is on the others all the same", async () => {
    world.refusals.set("west", 'admission webhook "policy" denied the request: no such image');
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
    world.refusals.clear();
    await world.settle("web");
    expect(has("web")).toBe("east west");
  });
});

describe("a workload that no placement selects any more", () => {
  it("does not go on saying that it runs", async () => {
    await running();
    world.placements.delete("shop");
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(world.workload("web")?.status).toMatchObject({ replicas: 0, readyReplicas: 0 });
  });
});

describe("a workload that is deleted", () => {
  it("goes from its clusters first, and then from the hub", async () => {
    await running();
    world.delete("web");
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(world.workload("web")).toBeUndefined();
    expect(world.record("web")?.metadata.finalizers).toEqual([]);
  });

  it("waits for a cluster that is not heard from, and not for ever", async () => {
    await running();
    world.setReady("west", false);
    world.away.add("west");
    world.delete("web");
    await world.settle("web");
    expect(has("web")).toBe("west");
    expect(world.workload("web")?.metadata.finalizers).toEqual([syncFinalizer]);
    world.nowMs = startMs + 3_601_000;
    await world.settle("web");
    expect(world.workload("web")).toBeUndefined();
    // The record still knows, and the copy goes when the cluster is back.
    expect(world.record("web")?.spec).toMatchObject({ deleted: true, clusters: ["west"] });
    world.away.clear();
    world.setReady("west", true);
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(world.record("web")?.metadata.finalizers).toEqual([]);
  });
});

describe("what is not known", () => {
  it("is not in the sum", async () => {
    await running();
    world.setReady("west", false);
    await world.settle("web");
    expect(world.workload("web")?.status).toMatchObject({ replicas: 3, readyReplicas: 3 });
    expect(states("web")).toMatchObject({ west: "ClusterNotReady" });
  });

  it("is not taken for gone: a workload that vanished keeps its copies until somebody confirms", async () => {
    await running();
    world.workloads.clear();
    await world.settle("web");
    expect(has("web")).toBe("east west");
    expect(states("web")).toEqual({ east: "WorkloadVanished", west: "WorkloadVanished" });
    const [id, record] = [...world.records][0] ?? [];
    if (id === undefined || record === undefined) throw new Error("no record");
    const annotations = { "tmc.kcp.io/confirm-deletions": `${holdOf(record, "east")},${holdOf(record, "west")}` };
    world.records.set(id, { ...record, metadata: { ...record.metadata, annotations } });
    await world.settle("web");
    expect(has("web")).toBe("");
  });

  it("is looked for on every cluster when the record was lost", async () => {
    await running();
    world.place("shop", ["east"]);
    world.records.clear();
    await world.settle("web");
    world.makeReady("east");
    await world.settle("web");
    expect(has("web")).toBe("east");
  });

  it("costs a dead cluster nothing", async () => {
    await running();
    world.setReady("west", false);
    world.log.length = 0;
    world.apply("web", { replicas: 5 });
    await world.settle("web");
    expect(world.log.filter((line) => line.startsWith("west"))).toEqual([]);
  });
});

describe("strangers", () => {
  it("are never overwritten, nor removed", async () => {
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

  it("have what they changed on a copy put back", async () => {
    await running();
    world.putCopy("east", "web", (copy) => ({ ...copy, spec: { ...Object(copy.spec), replicas: 0 } }));
    await world.settle("web");
    expect(replicasOf(world.copy("east", "web") ?? { apiVersion: "", kind: "", metadata: {} })).toBe(3);
    expect(world.news).toContainEqual(expect.objectContaining({ targetCluster: "east", action: "drifted" }));
  });
});

describe("killed at every write", () => {
  const story: readonly (readonly [string, (world: PaperWorld) => void])[] = [
    ["placed", (each) => each.place("shop", ["east", "west"])],
    ["ready", (each) => each.makeReady("east", "west")],
    ["scaled", (each) => void each.apply("web", { replicas: 5 })],
    ["moved", (each) => each.place("shop", ["west", "north"])],
    ["ready there", (each) => each.makeReady("west", "north")],
    ["deleted", (each) => each.delete("web")],
  ];
  const play = async (each: PaperWorld, killAt: number): Promise<boolean> => {
    for (const name of ["east", "west", "north"]) each.register(name);
    each.apply("web");
    each.killAt = killAt;
    let wasKilled = false;
    for (const [, happen] of story) {
      happen(each);
      for (;;) {
        try {
          await each.settle("web");
          break;
        } catch (error) {
          if (!(error instanceof Killed)) throw error;
          wasKilled = true;
        }
        const copies = ["east", "west", "north"].filter((name) => each.copy(name, "web") !== undefined);
        // Whatever is on a cluster, the hub knows of it.
        for (const name of copies) expect(each.record("web")?.spec.clusters).toContain(name);
      }
    }
    return wasKilled;
  };

  it("ends where a run without a fault ends", async () => {
    const calm = new PaperWorld();
    await play(calm, Number.POSITIVE_INFINITY);
    let killed = 0;
    for (let at = 1; at <= calm.writes; at += 1) {
      const each = new PaperWorld();
      if (await play(each, at)) killed += 1;
      expect(["east", "west", "north"].map((name) => each.copy(name, "web"))).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      expect(each.workload("web")).toBeUndefined();
      expect(each.record("web")?.metadata.finalizers ?? []).toEqual([]);
    }
    expect(killed).toBe(calm.writes);
    expect(calm.writes).toBeGreaterThan(20);
  });
});
