import { beforeEach, describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { checkAgain } from "../../../lib/model/next.ts";
import { holdOf } from "../../../lib/sync/hold.ts";
import { syncFinalizer } from "../../../lib/sync/record.ts";
import { Killed, PaperWorld, replicasOf, startMs } from "./paper-world.ts";

let world: PaperWorld;
beforeEach(() => {
  world = new PaperWorld();
  for (const name of ["east", "west", "north"]) world.register(name);
});

/** The state of each copy, as the record has it. */
const states = (name: string) =>
  Object.fromEntries(
    (world.record(name)?.status?.clusters ?? []).map((each) => [each.name, each.reason ?? each.state]),
  );
const has = (name: string) =>
  ["east", "north", "west"].filter((cluster) => world.copy(cluster, name) !== undefined).join(" ");

async function running(name = "web"): Promise<void> {
  world.place("shop", ["east", "west"]);
  world.apply(name);
  await world.settle(name);
  world.makeReady("east", "west");
  await world.settle(name);
}

/** Workloads on one cluster that all refer to the same Secret. */
async function sharing(...names: readonly string[]): Promise<void> {
  world.place("shop", ["east"]);
  world.references.set("Secret/key", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "key", namespace: "shop", resourceVersion: "7" },
    data: { a: "Yg==" },
  });
  const template = {
    spec: { containers: [{ name: "web", image: "web", envFrom: [{ secretRef: { name: "key" } }] }] },
  };
  for (const name of names) world.apply(name, { replicas: 1, template });
  await world.settle(...names);
  expect(world.copy("east", "key", "secrets")).toBeDefined();
}

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
    world.place("shop", ["east"]);
    world.apply("web");
    for (const killAt of [1, 2]) {
      world.writes = 0;
      world.killAt = killAt;
      await expect(world.reconcile("web")).rejects.toThrow(Killed);
      expect(has("web")).toBe("");
    }
  });

  it("lets others be made safe first in a rush", async () => {
    world.place("shop", ["east"]);
    world.apply("web");
    world.rush = {
      restSeconds: () => undefined,
      waitSeconds: (_key, { isMadeSafe }) => (isMadeSafe ? 0.3 : undefined),
      forget: () => {},
    };
    expect(await world.reconcile("web")).toEqual(checkAgain(0.3));
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
      reason: "Refused",
      message: expect.stringContaining("no such image"),
    });
    expect(world.events).toContainEqual(expect.objectContaining({ type: "Warning", reason: "SyncFailed" }));
    world.refusals.clear();
    await world.settle("web");
    expect(has("web")).toBe("east west");
  });

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
    world.place("shop", ["east"]);
    world.references.set("Secret/key", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "key", namespace: "shop", resourceVersion: "7" },
      data: { a: "Yg==" },
    });
    const template = {
      spec: { containers: [{ name: "web", image: "web", envFrom: [{ secretRef: { name: "key" } }] }] },
    };
    world.apply("web", { replicas: 1, template });
    world.apply("api", { replicas: 1, template });
    await world.settle("web", "api");
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

describe("a workload that no placement selects any more", () => {
  it("does not go on saying that it runs", async () => {
    await running();
    world.placements.delete("shop");
    await world.settle("web");
    expect(has("web")).toBe("");
    expect(world.workload("web")?.status).toMatchObject({ replicas: 0, readyReplicas: 0 });
  });
});

describe("what came along", () => {
  const needsKey = (replicas = 1) => ({
    replicas,
    template: { spec: { containers: [{ name: "web", image: "web", envFrom: [{ secretRef: { name: "key" } }] }] } },
  });
  beforeEach(() => {
    world.references.set("Secret/key", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "key", namespace: "shop", resourceVersion: "7" },
      data: { a: "Yg==" },
    });
  });

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
      world.references.set("Secret/key", {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "key", namespace: "shop", resourceVersion: "7" },
      });
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

describe("moves", () => {
  it("break nothing before the other copy is ready", async () => {
    await running();
    world.place("shop", ["west", "north"]);
    await world.settle("web");
    expect(has("web")).toBe("east north west");
    expect(states("web")).toMatchObject({ east: "WaitingForOthers" });
    world.makeReady("north");
    await world.settle("web");
    expect(has("web")).toBe("north west");
    expect(world.record("web")?.spec.clusters).toEqual(["north", "west"]);
  });

  it("leave the last copy alone when nothing fits", async () => {
    await running();
    world.place("shop", []);
    await world.settle("web");
    expect(has("web")).toBe("east west");
    expect(states("web")).toMatchObject({ east: "LastCopy", west: "LastCopy" });
  });

  it("leave the copy of a dead cluster until that is back", async () => {
    await running();
    world.setReady("west", false);
    world.away.add("west");
    world.place("shop", ["east", "north"]);
    await world.settle("web");
    world.makeReady("east", "north");
    await world.settle("web");
    expect(states("web")).toMatchObject({ west: "ClusterNotReady" });
    expect(world.workload("web")?.status).toMatchObject({ readyReplicas: 6 });
    world.away.clear();
    world.setReady("west", true);
    await world.settle("web");
    expect(has("web")).toBe("east north");
  });

  it("leave the copy of a cluster that is back until the other is ready", async () => {
    await running();
    world.setReady("west", false);
    world.place("shop", ["north"]);
    await world.settle("web");
    world.setReady("west", true);
    await world.settle("web");
    expect(has("web")).toBe("east north west");
    expect(states("web")).toMatchObject({ east: "WaitingForOthers", west: "WaitingForOthers" });
    world.makeReady("north");
    await world.settle("web");
    expect(has("web")).toBe("north");
  });

  it("keep the old copy when the new one fails between the look and the removal", async () => {
    await running();
    world.place("shop", ["north"]);
    await world.settle("web");
    world.makeReady("north");
    // Its watch has fallen behind: what it told last was a copy that is ready.
    world.watched.set("north", new Map(world.clusters.get("north")));
    world.putCopy("north", "web", (copy) => ({ ...copy, status: { observedGeneration: 1, readyReplicas: 0 } }));
    const next = await world.reconcile("web");
    expect(has("web")).toBe("east north west");
    expect(states("web")).toMatchObject({ east: "WaitingForOthers", west: "WaitingForOthers" });
    expect(next).toEqual({ kind: "check-again", afterSeconds: 10 });
    world.watched.clear();
    world.makeReady("north");
    await world.settle("web");
    expect(has("web")).toBe("north");
  });

  it.each([
    ["was deleted there", () => world.clusters.get("north")?.clear()],
    ["cannot be asked after", () => world.away.add("north")],
  ])("keep the old copy when the new one %s", async (_, spoil) => {
    await running();
    world.place("shop", ["north"]);
    await world.settle("web");
    world.makeReady("north");
    await world.reconcile("web");
    expect(has("web")).toBe("north");
    world.place("shop", ["east"]);
    await world.settle("web");
    world.place("shop", ["north"]); // back before the other was ready
    world.watched.set("north", new Map(world.clusters.get("north")));
    spoil();
    await world.reconcile("web");
    expect(world.copy("east", "web")).toBeDefined();
  });

  it("ask the clusters once, however many copies leave", async () => {
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

  it("make a divided workload grow elsewhere before it shrinks anywhere", async () => {
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

  it("end with an orphan where the placement says so", async () => {
    await running();
    world.place("shop", ["east"], { deletionPolicy: "Orphan" });
    await world.settle("web");
    expect(has("web")).toBe("east west");
    expect(world.record("web")?.spec.clusters).toEqual(["east"]);
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
    expect(world.news).toContainEqual(expect.objectContaining({ cluster: "east", did: "drifted" }));
  });
});

/** What its owner writes to let a held copy go. */
const confirmed = (name: string, ...clusters: readonly string[]) => ({
  annotations: {
    "tmc.kcp.io/confirm-deletions": clusters.map((cluster) => holdOf(world.record(name), cluster)).join(","),
  },
});

describe("the brake", () => {
  const names = Array.from({ length: 12 }, (_, index) => `web-${index}`);
  async function held(): Promise<void> {
    world.place("shop", ["east"]);
    for (const name of names) world.apply(name);
    await world.settle(...names);
    world.makeReady("east");
    await world.settle(...names);
    world.placements.clear();
    await world.settle(...names);
  }

  it("holds when very many would leave at once, and lets go when it is confirmed", async () => {
    await held();
    expect(names.filter((name) => has(name) === "east")).toHaveLength(12);
    expect(world.record("web-3")?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: "DeletionsHeld", status: "True" }),
    );
    expect(world.events).toContainEqual(expect.objectContaining({ type: "Warning", reason: "DeletionsHeld" }));
    expect(world.news.filter(({ did }) => did === "held")).toHaveLength(12);
    world.apply("web-3", { replicas: 3 }, confirmed("web-3", "east"));
    await world.settle("web-3");
    expect(has("web-3")).toBe("");
    expect(has("web-4")).toBe("east");
  });

  it("goes on holding what nobody confirmed, however few are left", async () => {
    await held();
    for (const name of names.slice(0, 11)) world.apply(name, { replicas: 3 }, confirmed(name, "east"));
    await world.settle(...names);
    expect(names.filter((name) => has(name) === "east")).toEqual(["web-11"]);
  });

  it("takes no confirmation that does not say which hold it is about", async () => {
    await held();
    world.apply("web-3", { replicas: 3 }, { annotations: { "tmc.kcp.io/confirm-deletions": "east" } });
    await world.settle("web-3");
    expect(has("web-3")).toBe("east");
  });

  it("holds again what was confirmed for another time", async () => {
    await held();
    const { annotations } = confirmed("web-3", "east");
    world.nowMs += 60_000;
    world.place("shop", ["east"]); // somebody puts it right before anybody looks
    await world.settle(...names);
    expect(world.record("web-3")?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: "DeletionsHeld", status: "False" }),
    );
    world.nowMs += 60_000;
    world.apply("web-3", { replicas: 3 }, { annotations });
    world.placements.clear();
    await world.settle(...names);
    expect(has("web-3")).toBe("east");
    expect(states("web-3")).toEqual({ east: "DeletionsHeld" });
  });

  it("lets go of what a placement has left by itself, however much that is", async () => {
    world.place("shop", ["east"]);
    for (const name of names) world.apply(name);
    await world.settle(...names);
    world.place("shop", ["west"]);
    const moved = world.placements.get("shop");
    if (moved === undefined) throw new Error("no placement");
    const left = [{ cluster: "east", reason: "Returned", at: "2030-01-01T00:00:00Z" }];
    world.placements.set("shop", { ...moved, status: { ...moved.status, left } });
    await world.settle(...names);
    world.makeReady("west");
    await world.settle(...names);
    expect(names.map(has)).toEqual(names.map(() => "west"));
  });
});

describe("a slip of the pen", () => {
  const names = Array.from({ length: 12 }, (_, index) => `web-${index}`);
  const slips: Readonly<Record<string, Partial<WorkloadPlacement["spec"]>>> = {
    "a selector of other labels": { workloadSelector: { labelSelector: { matchLabels: { kept: "yse" } } } },
    "a selector of other namespaces": { workloadSelector: { namespaces: ["shpo"] } },
    "a selector of other types": {
      workloadSelector: { workloadTypes: [{ apiVersion: "apps/v1", kind: "Deploymnet" }] },
    },
    "a selector of no types": { workloadSelector: { workloadTypes: [] } },
  };
  it.each(Object.entries(slips))("sends nothing away where many lose their placement by %s", async (_, spec) => {
    world.place("shop", ["east"], { workloadSelector: { labelSelector: { matchLabels: { kept: "yes" } } } });
    for (const name of names) world.apply(name, { replicas: 3 }, { labels: { kept: "yes" } });
    await world.settle(...names);
    world.place("shop", ["east"], spec);
    await world.settle(...names);
    expect(names.filter((name) => has(name) === "east")).toEqual(names);
    expect(world.record("web-0")?.status?.clusters).toMatchObject([{ state: "Held", reason: "DeletionsHeld" }]);
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
