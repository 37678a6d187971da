import { describe, expect, it } from "vitest";
import { type Controls, controlsOf } from "../../../lib/sync/control-annotations.ts";

const controlsWith = (annotations: Record<string, string>): Controls => controlsOf({ metadata: { annotations } });

describe("the annotation tmc.kcp.io/sync", () => {
  it.each([
    ["pause", "SyncPaused"],
    ["paused", "SyncPaused"],
    ["disable", "SyncDisabled"],
    ["disabled", "SyncDisabled"],
  ])("stops all writes to clusters with the value %s and the reason %s", (value, reason) => {
    const { syncBlocker, syncAnnotationError } = controlsWith({ "tmc.kcp.io/sync": value });
    expect(syncBlocker).toEqual({ reason, message: "the annotation tmc.kcp.io/sync stops all writes to clusters" });
    expect(syncAnnotationError).toBeUndefined();
  });

  it.each(["", "enable", "enabled"])("does not stop writes with the value %j", (value) => {
    const { syncBlocker, syncAnnotationError } = controlsWith({ "tmc.kcp.io/sync": value });
    expect([syncBlocker, syncAnnotationError]).toEqual([undefined, undefined]);
  });

  it("does not stop writes of a workload without annotations", () => {
    const { syncBlocker, syncAnnotationError } = controlsOf({ metadata: {} });
    expect([syncBlocker, syncAnnotationError]).toEqual([undefined, undefined]);
  });

  it.each(["stop", "Paused", "false", "pause "])("reports the unknown value %j and does not stop writes", (value) => {
    const { syncBlocker, syncAnnotationError } = controlsWith({ "tmc.kcp.io/sync": value });
    expect(syncBlocker).toBeUndefined();
    expect(syncAnnotationError).toMatch(/^tmc\.kcp\.io\/sync is ".*", which is ignored; accepted values: /);
    expect(syncAnnotationError).toMatch(/: disable, disabled, enable, enabled, pause, paused$/);
  });

  it.each(["line\nbreak", '"quoted"', "x".repeat(64)])("does not repeat the unsafe unknown value %j", (value) => {
    expect(controlsWith({ "tmc.kcp.io/sync": value }).syncAnnotationError).toContain('tmc.kcp.io/sync is "?",');
  });
});

describe("the annotations that restrict target clusters", () => {
  it.each<[string, Record<string, string>, readonly string[]]>([
    ["allows all clusters without annotations", {}, ["east", "north", "west"]],
    ["allows only the listed target clusters", { "tmc.kcp.io/target-clusters": "east, west" }, ["east", "west"]],
    ["allows no cluster with an empty list of target clusters", { "tmc.kcp.io/target-clusters": "" }, []],
    ["excludes the listed clusters", { "tmc.kcp.io/exclude-clusters": "east" }, ["north", "west"]],
    [
      "excludes a cluster that is listed in both annotations",
      { "tmc.kcp.io/target-clusters": "east,west", "tmc.kcp.io/exclude-clusters": "west" },
      ["east"],
    ],
  ])("%s", (_, annotations, expected) => {
    expect(["east", "north", "west"].filter(controlsWith(annotations).allows)).toEqual(expected);
  });
});

it("parses the ids of confirmed deletions", () => {
  const { confirmedHolds } = controlsWith({ "tmc.kcp.io/confirm-deletions": "east@1, west@2," });
  expect([...confirmedHolds]).toEqual(["east@1", "west@2"]);
  expect(controlsWith({}).confirmedHolds.size).toBe(0);
});
