import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { type StatusStrategy, statusStrategies } from "../../../../lib/api/workload-kinds.ts";
import { aggregate } from "../../../../lib/sync/status/aggregate.ts";
import { strategyOf } from "../../../../lib/sync/status/strategy.ts";
import { aCopy, factsOf } from "../../../support/copy-status-builders.ts";
import { database, deployment } from "./samples.ts";

const condition = (type: string, status: string, message: string): JsonObject => ({ type, status, message });

const east: JsonObject = {
  phase: "Running",
  size: 10,
  endpoint: { host: "east.example.com", port: 5432 },
  tags: ["blue", "small"],
  observedGeneration: 3,
  conditions: [condition("Ready", "True", "serves"), condition("Synced", "True", "")],
};
const north: JsonObject = {
  phase: "Running",
  size: 20,
  endpoint: { host: "north.example.com", port: 5432, tls: true },
  tags: ["blue", "large"],
  observedGeneration: 1,
  conditions: [condition("Ready", "False", "full")],
};
const west: JsonObject = {
  phase: "Running",
  size: 10,
  endpoint: { host: "west.example.com", port: 5432 },
  tags: ["blue"],
  leader: "w1",
  conditions: [condition("Ready", "True", "serves")],
};

// The placement's order is neither that of names nor that of times.
const targets = ["west", "east", "north"];
const copies = [
  aCopy("east", east, { observedMs: 30 }),
  aCopy("north", north, { observedMs: 20 }),
  aCopy("west", west, { observedMs: 10 }),
];
const merged = (strategy: StatusStrategy | undefined, of = copies) =>
  aggregate(factsOf(database, of, { strategy, targets }));

describe("aggregation strategies for three different statuses", () => {
  const expected: Record<StatusStrategy | "none", JsonObject> = {
    none: {
      phase: "Running",
      endpoint: { port: 5432 },
      observedGeneration: 7,
      conditions: [
        condition("Ready", "False", "north: full"),
        {
          ...condition("Synced", "Unknown", "north, west: not reported"),
          reason: "NotReported",
          lastTransitionTime: "2026-03-01T12:00:00Z",
        },
      ],
    },
    union: {
      phase: "Running",
      size: 10,
      endpoint: { host: "west.example.com", port: 5432, tls: true },
      tags: ["blue", "small", "large"],
      leader: "w1",
      observedGeneration: 7,
      conditions: [
        condition("Ready", "False", "north: full"),
        {
          ...condition("Synced", "Unknown", "north, west: not reported"),
          reason: "NotReported",
          lastTransitionTime: "2026-03-01T12:00:00Z",
        },
      ],
    },
    intersection: {
      phase: "Running",
      endpoint: { port: 5432 },
      tags: ["blue"],
      observedGeneration: 7,
      conditions: [condition("Ready", "False", "north: full")],
    },
    priority: { ...west },
    latest: { ...east, observedGeneration: 7 },
  };
  it.each(Object.entries(expected))("aggregates by strategy %s", (name, status) => {
    const strategy = statusStrategies.find((each) => each === name);
    expect(merged(strategy)).toEqual(status);
    expect(JSON.stringify(merged(strategy, copies.toReversed()))).toBe(JSON.stringify(merged(strategy)));
  });

  it("strategy priority uses the next cluster if the first does not report", () => {
    const status = merged("priority", copies.slice(0, 2));
    expect(status.size).toBe(10);
    expect(status.endpoint).toEqual(east.endpoint);
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ type: "tmc.kcp.io/SeenEverywhere", message: "seen on 2/3 clusters, not on west" }),
    );
  });

  it("strategy latest uses our own clock, not those of the clusters", () => {
    const at = (time: string) => ({
      conditions: [{ ...condition("Ready", "True", ""), lastTransitionTime: time }],
      time,
    });
    const both = [
      aCopy("east", at("2030-01-01T00:00:00Z"), { observedMs: 1 }),
      aCopy("west", at("2020-01-01T00:00:00Z"), { observedMs: 2 }),
    ];
    expect(aggregate(factsOf(database, both, { strategy: "latest" })).time).toBe("2020-01-01T00:00:00Z");
  });

  it("a strategy with one source keeps the messages of that cluster", () => {
    const last = copies.map((copy) => (copy.targetCluster === "north" ? { ...copy, observedMs: 99 } : copy));
    expect(merged("latest", last)).toEqual({ ...north, observedGeneration: 7 });
  });

  it("strategy latest uses the order of the placement for equal times", () => {
    const same = copies.map((copy) => ({ ...copy, observedMs: 5 }));
    expect(merged("latest", same).endpoint).toEqual(west.endpoint);
  });
});

describe("strategyOf", () => {
  it("a strategy does not change the aggregation of a Deployment", () => {
    const both = [aCopy("east", deployment.status), aCopy("west", deployment.status)];
    expect(aggregate(factsOf(deployment, both, { strategy: "priority" })).readyReplicas).toBe(6);
  });

  const annotationValues: Record<string, ReturnType<typeof strategyOf>> = {
    union: { strategy: "union" },
    latest: { strategy: "latest" },
    sum: {
      strategy: undefined,
      error:
        'tmc.kcp.io/status-strategy is "sum", which is ignored; accepted values: union, intersection, priority, latest',
    },
  };
  it.each(Object.entries(annotationValues))("parses the strategy annotation %s", (value, expected) => {
    expect(strategyOf({ "tmc.kcp.io/status-strategy": value })).toEqual(expected);
  });

  it("prefers the annotation over the placement, and the placement over the type", () => {
    const others = { placement: "Priority", type: "union" as const };
    expect(strategyOf({ "tmc.kcp.io/status-strategy": "latest" }, others).strategy).toBe("latest");
    expect(strategyOf({}, others).strategy).toBe("priority");
    expect(strategyOf({}, { type: "union" }).strategy).toBe("union");
    // An unknown value is ignored.
    expect(strategyOf({ "tmc.kcp.io/status-strategy": "vote" }, others)).toMatchObject({ strategy: "priority" });
  });

  it("returns no strategy without annotation, placement and type", () => {
    expect(strategyOf(undefined)).toEqual({ strategy: undefined });
    expect(strategyOf({})).toEqual({ strategy: undefined });
  });
});
