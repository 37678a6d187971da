import { beforeEach, describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { holdId } from "../../../lib/sync/eviction/deletion-guard.ts";
import type { InMemoryWorld } from "../../support/in-memory-world.ts";
import { anInMemoryWorld, inWorld } from "../../support/in-memory-world-helpers.ts";

let world: InMemoryWorld;
beforeEach(() => {
  world = anInMemoryWorld();
});
const { has, states } = inWorld(() => world);

/** The annotation by which the owner confirms held deletions. */
const confirmed = (name: string, ...clusters: readonly string[]) => ({
  annotations: {
    "tmc.kcp.io/confirm-deletions": clusters.map((cluster) => holdId(world.record(name), cluster)).join(","),
  },
});

describe("the deletion guard in reconciles", () => {
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

  it("many deletions at once are held until a user confirms them", async () => {
    await held();
    expect(names.filter((name) => has(name) === "east")).toHaveLength(12);
    expect(world.record("web-3")?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: "DeletionsHeld", status: "True" }),
    );
    expect(world.record("web-3")?.spec.placement).toBe("shop");
    const command = "; to delete them, run: tmc confirm --all --placement shop";
    expect(world.record("web-3")?.status?.clusters?.[0]?.message).toContain(command);
    expect(world.events).toContainEqual(expect.objectContaining({ type: "Warning", reason: "DeletionsHeld" }));
    expect(world.copyActions.filter(({ action }) => action === "held")).toHaveLength(12);
    world.apply("web-3", { replicas: 3 }, confirmed("web-3", "east"));
    await world.settle("web-3");
    expect(has("web-3")).toBe("");
    expect(has("web-4")).toBe("east");
  });

  it("unconfirmed deletions stay held, however few remain", async () => {
    await held();
    for (const name of names.slice(0, 11)) world.apply(name, { replicas: 3 }, confirmed(name, "east"));
    await world.settle(...names);
    expect(names.filter((name) => has(name) === "east")).toEqual(["web-11"]);
  });

  it("a deletion stays held when its cluster was not Ready meanwhile, however few remain", async () => {
    await held();
    for (const name of names.slice(0, 11)) world.apply(name, { replicas: 3 }, confirmed(name, "east"));
    await world.settle(...names);
    world.setReady("east", false);
    await world.settle(...names);
    expect(states("web-11")).toEqual({ east: "DeletionsHeld" });
    world.setReady("east", true);
    await world.settle(...names);
    expect(has("web-11")).toBe("east");
  });

  it("deletions that are decided while their cluster is not Ready are held, and stay so when it is back", async () => {
    world.place("shop", ["east"]);
    for (const name of names) world.apply(name);
    await world.settle(...names);
    world.setReady("east", false);
    world.placements.clear();
    await world.settle(...names);
    expect(states("web-3")).toEqual({ east: "DeletionsHeld" });
    world.setReady("east", true);
    await world.settle(...names);
    expect(names.map(has)).toEqual(names.map(() => "east"));
  });

  it("a deletion that is confirmed while its cluster is not Ready is done when it is back", async () => {
    await held();
    world.setReady("east", false);
    world.apply("web-3", { replicas: 3 }, confirmed("web-3", "east"));
    await world.settle(...names);
    expect(states("web-3")).toEqual({ east: "ClusterNotReady" });
    world.setReady("east", true);
    await world.settle(...names);
    expect(names.filter((name) => has(name) === "")).toEqual(["web-3"]);
  });

  it("a deletion stays held that another controller holds while this one has decided to delete", async () => {
    world.place("shop", ["east"]);
    for (const name of names) world.apply(name);
    await world.settle(...names);
    const before = world.record("web-3");
    if (before === undefined) throw new Error("no record");
    world.placements.clear();
    await world.settle(...names);
    // This controller still has the record as it was, and counts no other copy.
    world.cachedRecords.set(`shop/${before.metadata.name}`, before);
    world.recordsOfBatch = [before];
    await expect(world.reconcile("web-3")).rejects.toThrow("has changed");
    expect(has("web-3")).toBe("east");
    expect(world.copyActions.filter(({ action }) => action !== "new")).toHaveLength(12);
    world.apply("web-3", { replicas: 3 }, confirmed("web-3", "east"));
    await expect(world.reconcile("web-3")).rejects.toThrow("has changed");
    expect(has("web-3")).toBe("");
  });

  it("a confirmation without the id of the held deletion is ignored", async () => {
    await held();
    world.apply("web-3", { replicas: 3 }, { annotations: { "tmc.kcp.io/confirm-deletions": "east" } });
    await world.settle("web-3");
    expect(has("web-3")).toBe("east");
  });

  it("a confirmation does not apply to a later held deletion", async () => {
    await held();
    const { annotations } = confirmed("web-3", "east");
    world.nowMs += 60_000;
    world.place("shop", ["east"]); // corrected before the next reconcile
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

  it("copies that the placement evicted by itself are deleted, however many they are", async () => {
    world.place("shop", ["east"]);
    for (const name of names) world.apply(name);
    await world.settle(...names);
    world.place("shop", ["west"]);
    const moved = world.placements.get("shop");
    if (moved === undefined) throw new Error("no placement");
    const evictedClusters = [{ cluster: "east", reason: "Returned", at: "2030-01-01T00:00:00Z" }];
    world.placements.set("shop", { ...moved, status: { ...moved.status, evictedClusters } });
    await world.settle(...names);
    world.makeReady("west");
    await world.settle(...names);
    expect(names.map(has)).toEqual(names.map(() => "west"));
  });
});

describe("a typo in a placement", () => {
  const names = Array.from({ length: 12 }, (_, index) => `web-${index}`);
  const slips: Readonly<Record<string, Partial<WorkloadPlacement["spec"]>>> = {
    "a selector with wrong labels": { workloadSelector: { labelSelector: { matchLabels: { kept: "yse" } } } },
    "a selector with a wrong namespace": { workloadSelector: { namespaces: ["shpo"] } },
    "a selector with a wrong type": {
      workloadSelector: { workloadTypes: [{ apiVersion: "apps/v1", kind: "Deploymnet" }] },
    },
    "a selector with an empty list of types": { workloadSelector: { workloadTypes: [] } },
  };
  it.each(Object.entries(slips))("no copy is deleted if many workloads lose their placement by %s", async (_, spec) => {
    world.place("shop", ["east"], { workloadSelector: { labelSelector: { matchLabels: { kept: "yes" } } } });
    for (const name of names) world.apply(name, { replicas: 3 }, { labels: { kept: "yes" } });
    await world.settle(...names);
    world.place("shop", ["east"], spec);
    await world.settle(...names);
    expect(names.filter((name) => has(name) === "east")).toEqual(names);
    expect(world.record("web-0")?.status?.clusters).toMatchObject([{ state: "Held", reason: "DeletionsHeld" }]);
  });
});
