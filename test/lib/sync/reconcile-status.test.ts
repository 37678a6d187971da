import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { findCondition } from "../../../lib/model/condition.ts";
import { createStatusDebounce } from "../../../lib/sync/status/debounce.ts";
import { InMemoryWorld } from "../../support/in-memory-world.ts";

let world: InMemoryWorld;
beforeEach(() => {
  world = new InMemoryWorld();
  for (const name of ["east", "north", "west"]) world.register(name);
});

type Spec = NonNullable<Parameters<InMemoryWorld["place"]>[2]>;

/** The reason or state of each copy in the record. */
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

describe("the Ready condition of a sync record", () => {
  const rows: readonly (readonly ["All" | "Any" | "Majority" | undefined, readonly string[], string])[] = [
    [undefined, ["east", "north"], "False"],
    ["All", ["east", "north"], "False"],
    ["All", ["east", "north", "west"], "True"],
    ["Any", [], "False"],
    ["Any", ["north"], "True"],
    ["Majority", ["east"], "False"],
    ["Majority", ["east", "west"], "True"],
  ];
  it.each(rows)("with health rule %s and ready copies on %j, Ready is %s", async (health, ready, status) => {
    await running(health === undefined ? {} : { status: { health } }, ...ready);
    expect(condition("Ready")).toMatchObject({ status });
    expect(condition("Ready")?.message).toContain(`ready on ${ready.length} of 3 clusters`);
  });

  it("the Ready message names clusters that are not ready, whatever the health rule", async () => {
    await running({ status: { health: "Any" } }, "east", "north");
    expect(condition("Ready")?.message).toMatch(/^ready on 2 of 3 clusters: west /);
  });
});

describe("the SpecsDiffer condition", () => {
  const image = (value: string) => [{ op: "add" as const, path: "/spec/image", value }];

  it("SpecsDiffer lists the paths at which overrides make copies differ", async () => {
    await running({ overrides: [{ clusterNames: ["west"], patches: image("other") }] });
    expect(condition("SpecsDiffer")).toMatchObject({ status: "True", reason: "SpecsDiffer", message: "spec.image" });
    world.place("shop", ["east", "north", "west"]);
    await world.settle("web");
    expect(condition("SpecsDiffer")).toMatchObject({ status: "False", reason: "SpecsAlike" });
  });

  it("SpecsDiffer lists the paths of tolerated drift", async () => {
    await running({ drift: "Report" }, "east", "north", "west");
    world.putCopy("west", "web", (copy) => ({ ...copy, spec: { replicas: 7 } }));
    await world.settle("web");
    expect(states()).toMatchObject({ west: "Drifted" });
    expect(condition("SpecsDiffer")).toMatchObject({ status: "True", message: "spec.replicas" });
  });

  it("divided replicas and labels are not differences between specs", async () => {
    await running({
      replicas: { mode: "Divided", clusters: [{ name: "west", weight: 3 }] },
      overrides: [{ labels: { team: "shop" } }],
    });
    expect(condition("SpecsDiffer")).toBeUndefined();
  });
});

describe("copies that cannot or must not be written", () => {
  it.each(["Report", "Pause"] as const)(
    "a copy that was deleted on its cluster is not Ready while the drift policy %s keeps it from being written",
    async (drift) => {
      await running({ drift }, "east", "north", "west");
      world.loseCopy("west", "web");
      await world.settle("web");
      const entry = world.record("web")?.status?.clusters?.find(({ name }) => name === "west");
      expect(entry).toMatchObject({ state: "Paused", reason: "Drifted" });
      expect(entry?.readyReplicas).toBeUndefined();
      expect(condition("Ready")).toMatchObject({ status: "False", message: "ready on 2 of 3 clusters: west Drifted" });
    },
  );

  it("a rejected copy stalls after five minutes and recovers once the cluster accepts it", async () => {
    world.rejections.set("west", "no room");
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
    // Retries are every two minutes since the rejection, whenever the workload is reconciled: fifteen minutes have passed.
    expect(await world.reconcile("web")).toEqual({ kind: "requeue", afterSeconds: 60 });
    expect([world.writes, reasons().filter((reason) => reason === "Stalled").length]).toEqual([0, 1]);

    world.rejections.clear();
    await world.settle("web");
    expect(condition("Stalled")).toMatchObject({ status: "False", reason: "NotStalled" });
    expect(world.copy("west", "web")).toBeDefined();
  });

  it("a copy is written once its type is served, even if the registration is outdated", async () => {
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
  it("a cluster that hangs delays neither writes to other clusters nor their status", async () => {
    await running({}, "east", "north", "west");
    world.apply("web", { replicas: 5 });
    world.hanging.add("west");
    const reconciled = world.reconcile("web");
    // All other work is done; only the cluster that hangs is waited for.
    await new Promise((resolve) => setImmediate(resolve));
    world.advance(5_000);
    await reconciled;
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

describe("Events and conditions for users", () => {
  it("each change is recorded as one Event, and an unchanged workload as none", async () => {
    world.rejections.set("west", "no room");
    await running(
      { overrides: [{ name: "label", clusterNames: ["east"], labels: { cluster: "{{cluster.name}}" } }] },
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

  it("reverted drift is recorded as an Event", async () => {
    await running({}, "east", "north", "west");
    world.putCopy("west", "web", (copy) => ({ ...copy, spec: { replicas: 0 } }));
    await world.settle("web");
    expect(world.events.at(-1)).toMatchObject({ reason: "DriftReverted" });
  });

  it("Events about writes are recorded although the status write of that reconcile is delayed", async () => {
    const clock = createManualClock();
    world.debounce = createStatusDebounce({ clock });
    await running({ overrides: [{ name: "label", clusterNames: ["east"], labels: { region: "east" } }] }, "north");
    world.putCopy("west", "web", (copy) => ({ ...copy, spec: { replicas: 0 } }));
    const { status } = world.record("web") ?? {};
    await world.reconcile("web");
    expect(world.record("web")?.status, "the status write is delayed").toEqual(status);
    expect(reasons()).toEqual(["Transformed", "DriftReverted"]);
    clock.advance(1_000);
    await world.reconcile("web");
    expect(reasons(), "and each is recorded once").toEqual([
      "Transformed",
      "DriftReverted",
      ...["Synced", "Synced", "Synced"],
    ]);
  });

  it("an unknown status strategy sets StatusRuleKnown to False", async () => {
    world.place("shop", ["east"]);
    world.apply("web", { replicas: 3 }, { annotations: { "tmc.kcp.io/status-strategy": "vote" } });
    await world.settle("web");
    expect(condition("StatusRuleKnown")).toMatchObject({ status: "False", reason: "UnknownStrategy" });
    expect(condition("StatusRuleKnown")?.message).toContain('"vote"');
  });
});

describe("the AnnotationsValid condition", () => {
  const annotate = (value?: string): void => {
    const annotations: Record<string, string> = value === undefined ? {} : { "tmc.kcp.io/sync": value };
    world.apply("web", { replicas: 3 }, { annotations });
  };

  it("an unknown value of the sync annotation sets AnnotationsValid to False and does not stop sync", async () => {
    world.place("shop", ["east"]);
    annotate("stop");
    await world.settle("web");
    expect(condition("AnnotationsValid")).toMatchObject({
      status: "False",
      reason: "InvalidAnnotation",
      message:
        'tmc.kcp.io/sync is "stop", which is ignored; accepted values: disable, disabled, enable, enabled, pause, paused',
    });
    expect(world.copy("east", "web")).toBeDefined();
  });

  it.each([undefined, "pause", "enabled"])("AnnotationsValid is removed once the value is %s", async (value) => {
    await running({}, "east", "north", "west");
    expect(condition("AnnotationsValid")).toBeUndefined();
    annotate("stop");
    await world.settle("web");
    expect(condition("AnnotationsValid")).toMatchObject({ status: "False" });
    annotate(value);
    await world.settle("web");
    expect(condition("AnnotationsValid")).toBeUndefined();
    expect(states().east).toBe(value === "pause" ? "SyncPaused" : "Ready");
  });
});

describe("notification of placements", () => {
  it("a placement is notified only if what it reports about a workload has changed", async () => {
    await running();
    const before = world.notifiedPlacements.length;
    expect(new Set(world.notifiedPlacements)).toEqual(new Set(["shop"]));
    await world.reconcile("web");
    expect(world.notifiedPlacements).toHaveLength(before);
    world.makeReady("east", "north", "west");
    await world.reconcile("web");
    expect(world.notifiedPlacements).toHaveLength(before + 1);
    world.delete("web");
    await world.settle("web");
    expect(world.notifiedPlacements.length).toBeGreaterThan(before + 1);
  });
});
