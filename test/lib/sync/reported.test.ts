import { beforeEach, describe, expect, it } from "vitest";
import { findCondition } from "../../../lib/model/condition.ts";
import { PaperWorld } from "./paper-world.ts";

let world: PaperWorld;
beforeEach(() => {
  world = new PaperWorld();
  for (const name of ["east", "north", "west"]) world.register(name);
});

type Spec = NonNullable<Parameters<PaperWorld["place"]>[2]>;

/** The state of each copy, as the record has it. */
const states = () =>
  Object.fromEntries(
    (world.record("web")?.status?.clusters ?? []).map((each) => [each.name, each.reason ?? each.state]),
  );
const condition = (type: string) => findCondition(world.record("web")?.status?.conditions, type);
const reasons = () => world.events.map(({ reason }) => reason);

async function running(spec: Spec = {}, ...ready: readonly string[]): Promise<void> {
  world.place("shop", ["east", "north", "west"], spec);
  world.apply("web");
  await world.settle("web");
  world.makeReady(...ready);
  await world.settle("web");
}

describe("when a workload counts as ready", () => {
  const rows: readonly (readonly ["All" | "Any" | "Majority" | undefined, readonly string[], string])[] = [
    [undefined, ["east", "north"], "False"],
    ["All", ["east", "north"], "False"],
    ["All", ["east", "north", "west"], "True"],
    ["Any", [], "False"],
    ["Any", ["north"], "True"],
    ["Majority", ["east"], "False"],
    ["Majority", ["east", "west"], "True"],
  ];
  it.each(rows)("health %s, ready on %j: %s", async (health, ready, status) => {
    await running(health === undefined ? {} : { status: { health } }, ...ready);
    expect(condition("Ready")).toMatchObject({ status });
    expect(condition("Ready")?.message).toContain(`ready on ${ready.length} of 3 clusters`);
  });

  it("is missing on a cluster by name, whatever the rule", async () => {
    await running({ status: { health: "Any" } }, "east", "north");
    expect(condition("Ready")?.message).toMatch(/^ready on 2 of 3 clusters: west /);
  });
});

describe("copies that do not all say the same", () => {
  const image = (value: string) => [{ op: "add" as const, path: "/spec/image", value }];

  it("are shown with the paths: by overrides", async () => {
    await running({ overrides: [{ clusterNames: ["west"], patches: image("other") }] });
    expect(condition("SpecsDiffer")).toMatchObject({ status: "True", reason: "SpecsDiffer", message: "spec.image" });
    world.place("shop", ["east", "north", "west"]);
    await world.settle("web");
    expect(condition("SpecsDiffer")).toMatchObject({ status: "False", reason: "SpecsAlike" });
  });

  it("are shown with the paths: by somebody who may change them", async () => {
    await running({ drift: "Report" }, "east", "north", "west");
    world.putCopy("west", "web", (copy) => ({ ...copy, spec: { replicas: 7 } }));
    await world.settle("web");
    expect(states()).toMatchObject({ west: "Drifted" });
    expect(condition("SpecsDiffer")).toMatchObject({ status: "True", message: "spec.replicas" });
  });

  it("are no difference where replicas are divided", async () => {
    await running({
      replicas: { mode: "Divided", clusters: [{ name: "west", weight: 3 }] },
      overrides: [{ labels: { team: "shop" } }],
    });
    expect(condition("SpecsDiffer")).toBeUndefined();
  });
});

describe("what cannot be written", () => {
  it("stalls after some tries, with its cause, and recovers when that goes", async () => {
    world.refusals.set("west", "no room");
    await running({}, "east", "north");
    expect(condition("Stalled")).toBeUndefined();
    world.nowMs += 299_000;
    expect(await world.reconcile("web")).toEqual({ kind: "requeue", afterSeconds: 1 });
    world.nowMs += 1_000;
    await world.settle("web");
    expect(condition("Stalled")).toMatchObject({ status: "True", reason: "Rejected", message: "west: no room" });
    expect(reasons().filter((reason) => reason === "Stalled")).toHaveLength(1);

    world.writes = 0;
    world.nowMs += 600_000;
    // Every two minutes since it was refused, whenever somebody asks: fifteen have gone by.
    expect(await world.reconcile("web")).toEqual({ kind: "requeue", afterSeconds: 60 });
    expect([world.writes, reasons().filter((reason) => reason === "Stalled").length]).toEqual([0, 1]);

    world.refusals.clear();
    await world.settle("web");
    expect(condition("Stalled")).toMatchObject({ status: "False", reason: "NotStalled" });
    expect(world.copy("west", "web")).toBeDefined();
  });

  it("because its type is not served comes when it is, whatever the registration still says", async () => {
    const east = world.registrations.get("east");
    if (east === undefined) throw new Error("no east");
    world.registrations.set("east", {
      ...east,
      status: { ...east.status, apis: [{ groupVersion: "v1", kinds: ["Pod"] }] },
    });
    await running();
    expect(states()).toMatchObject({ east: "TypeNotServed" });
    expect(world.copy("east", "web")).toBeUndefined();
    expect(world.log.some((line) => line.startsWith("east see"))).toBe(false);
    world.serving.add("east");
    await world.settle("web");
    expect(world.copy("east", "web")).toBeDefined();
  });
});

describe("a cluster that hangs", () => {
  it("keeps nobody from being written to, nor from being heard", async () => {
    await running({}, "east", "north", "west");
    world.apply("web", { replicas: 5 });
    world.hanging.add("west");
    const look = world.reconcile("web");
    // Everything that needs no time has happened; only the cluster that hangs is waited for.
    await new Promise((resolve) => setImmediate(resolve));
    world.pass(5_000);
    await look;
    expect(world.copy("east", "web")?.spec).toEqual({ replicas: 5 });
    expect(world.copy("north", "web")?.spec).toEqual({ replicas: 5 });
    expect(world.record("web")?.status?.clusters).toMatchObject([
      { name: "east", generation: 2 },
      { name: "north", generation: 2 },
      { name: "west", state: "Stale", message: "cluster west: no answer in time" },
    ]);
    expect(world.workload("web")?.status).toMatchObject({ replicas: 6 });
  });
});

describe("people", () => {
  it("hear of what happens once, and of nothing at rest", async () => {
    world.refusals.set("west", "no room");
    await running(
      { overrides: [{ name: "label", clusterNames: ["east"], labels: { site: "{{cluster.name}}" } }] },
      "north",
    );
    expect(world.events.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      "Transformed: changed for east by the placement's overrides",
      "Synced: written to east",
      "Synced: written to north",
      "SyncFailed: west: no room",
    ]);
    await world.reconcile("web");
    expect(world.events).toHaveLength(4);
  });

  it("hear that somebody's change on a cluster was put back", async () => {
    await running({}, "east", "north", "west");
    world.putCopy("west", "web", (copy) => ({ ...copy, spec: { replicas: 0 } }));
    await world.settle("web");
    expect(world.events.at(-1)).toMatchObject({ reason: "DriftReverted" });
  });

  it("hear of a strategy that there is none of", async () => {
    world.place("shop", ["east"]);
    world.apply("web", { replicas: 3 }, { annotations: { "tmc.kcp.io/status-strategy": "vote" } });
    await world.settle("web");
    expect(condition("StatusRuleKnown")).toMatchObject({ status: "False", reason: "UnknownStrategy" });
    expect(condition("StatusRuleKnown")?.message).toContain('"vote"');
  });
});

describe("a placement", () => {
  it("is told when what it shows of a workload has changed, and of nothing else", async () => {
    await running();
    const before = world.told.length;
    expect(new Set(world.told)).toEqual(new Set(["shop"]));
    await world.reconcile("web");
    expect(world.told).toHaveLength(before);
    world.makeReady("east", "north", "west");
    await world.reconcile("web");
    expect(world.told).toHaveLength(before + 1);
    world.delete("web");
    await world.settle("web");
    expect(world.told.length).toBeGreaterThan(before + 1);
  });
});
