import { beforeEach, describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { holdOf } from "../../../lib/sync/eviction/deletion-guard.ts";
import { aPaperWorld, inWorld } from "./on-paper.ts";
import type { PaperWorld } from "./paper-world.ts";

let world: PaperWorld;
beforeEach(() => {
  world = aPaperWorld();
});
const { has, states } = inWorld(() => world);

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
    expect(world.news.filter(({ action }) => action === "held")).toHaveLength(12);
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
    world.placements.set("shop", { ...moved, status: { ...moved.status, evictedClusters: left } });
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
