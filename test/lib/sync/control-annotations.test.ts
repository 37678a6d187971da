import { describe, expect, it } from "vitest";
import { type Controls, controlErrors, controlsOf } from "../../../lib/sync/control-annotations.ts";

const errorsWith = (annotations: Record<string, string>): readonly string[] =>
  controlErrors({ metadata: { annotations } }, (name) => ["east", "north", "west"].includes(name));
const controlsWith = (annotations: Record<string, string>): Controls => controlsOf({ metadata: { annotations } });

describe("the annotation tmc.kcp.io/sync", () => {
  it.each([
    ["pause", "SyncPaused"],
    ["paused", "SyncPaused"],
    ["disable", "SyncDisabled"],
    ["disabled", "SyncDisabled"],
  ])("stops all writes to clusters with the value %s and the reason %s", (value, reason) => {
    const { syncBlocker } = controlsWith({ "tmc.kcp.io/sync": value });
    expect(syncBlocker).toEqual({ reason, message: "the annotation tmc.kcp.io/sync stops all writes to clusters" });
    expect(errorsWith({ "tmc.kcp.io/sync": value })).toEqual([]);
  });

  it.each(["", "enable", "enabled"])("does not stop writes with the value %j", (value) => {
    expect(controlsWith({ "tmc.kcp.io/sync": value }).syncBlocker).toBeUndefined();
    expect(errorsWith({ "tmc.kcp.io/sync": value })).toEqual([]);
  });

  it("does not stop writes of a workload without annotations", () => {
    expect(controlsOf({ metadata: {} }).syncBlocker).toBeUndefined();
    expect(controlErrors({ metadata: {} }, () => false)).toEqual([]);
  });

  it.each(["stop", "Paused", "false", "pause "])("reports the unknown value %j and does not stop writes", (value) => {
    expect(controlsWith({ "tmc.kcp.io/sync": value }).syncBlocker).toBeUndefined();
    const [error] = errorsWith({ "tmc.kcp.io/sync": value });
    expect(error).toMatch(/^tmc\.kcp\.io\/sync is ".*", which is ignored; accepted values: /);
    expect(error).toMatch(/: disable, disabled, enable, enabled, pause, paused$/);
  });

  it.each(["line\nbreak", '"quoted"', "x".repeat(64)])("does not repeat the unsafe unknown value %j", (value) => {
    expect(errorsWith({ "tmc.kcp.io/sync": value })[0]).toContain('tmc.kcp.io/sync is "?",');
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

describe("controlErrors", () => {
  it.each<[string, Record<string, string>, readonly string[]]>([
    ["accepts known values and registered clusters", { "tmc.kcp.io/exclude-clusters": "east, west" }, []],
    ["accepts an empty list of target clusters", { "tmc.kcp.io/target-clusters": "" }, []],
    ["accepts all and one for job-clusters", { "tmc.kcp.io/job-clusters": "all" }, []],
    [
      "reports an unknown value of job-clusters",
      { "tmc.kcp.io/job-clusters": "each" },
      ['tmc.kcp.io/job-clusters is "each", which is ignored; accepted values: one, all'],
    ],
    [
      "reports every annotation that names a cluster that is not registered",
      { "tmc.kcp.io/exclude-clusters": "esat,west", "tmc.kcp.io/target-clusters": "west, wst, sou th" },
      [
        "tmc.kcp.io/target-clusters names clusters that are not registered: wst, ?",
        "tmc.kcp.io/exclude-clusters names clusters that are not registered: esat",
      ],
    ],
  ])("%s", (_, annotations, errors) => {
    expect(errorsWith(annotations)).toEqual(errors);
  });
});
