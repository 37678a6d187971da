import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { apiVersionOf } from "../../../../lib/api/kind.ts";
import { workloadTypes } from "../../../../lib/api/workload-types.ts";
import { aggregate } from "../../../../lib/sync/status/aggregate.ts";
import { conditionOf } from "../../../../lib/sync/status/conditions.ts";
import { faultsOf } from "../../api/validate.ts";
import { rows } from "./aggregate.rows.ts";
import { aCopy, altered, factsOf, now, statusOf, withCondition } from "./builders.ts";
import { daemonSet, database, deployment, job, type Sample, samples, service } from "./samples.ts";

const withoutObserved = ({ observedGeneration: _, ...rest }: JsonObject): JsonObject => rest;
const conditionTypes = (status: JsonObject) => ((status.conditions ?? []) as JsonObject[]).map(({ type }) => type);

describe("the status of a workload", () => {
  it.each(Object.entries(rows))("%s", (_, { sample, copies, status }) => {
    expect(withoutObserved(statusOf(sample, copies))).toEqual(status);
  });

  it.each(samples)("of one cluster is that cluster's, with the generation of the workload: $kind", (sample) => {
    const { terminatingReplicas: _, ...status } = sample.status ?? {};
    const conditions = ((status.conditions ?? []) as JsonObject[]).map((condition) =>
      condition.observedGeneration === undefined ? condition : { ...condition, observedGeneration: 7 },
    );
    expect(statusOf(sample, { east: sample.status })).toEqual({
      ...status,
      ...(status.observedGeneration === undefined ? {} : { observedGeneration: 7 }),
      ...(conditions.length === 0 ? {} : { conditions }),
    });
  });

  it("leaves out what means nothing outside its cluster, even where there is one", () => {
    expect(statusOf(deployment, { east: { replicas: 1, collisionCount: 2 } })).toEqual({ replicas: 1 });
    expect(statusOf(deployment, { east: { replicas: 1, terminatingReplicas: 2 } })).toEqual({ replicas: 1 });
    expect(statusOf(job, { east: { active: 1, uncountedTerminatedPods: { failed: ["u1"] } } })).toEqual({ active: 1 });
  });

  it("holds null for nothing: no server would take it", () => {
    expect(statusOf(job, { east: { active: 1, completionTime: null } })).toEqual({ active: 1 });
  });

  it("has a row for every type that is offered", () => {
    const seen = new Set(Object.values(rows).map(({ sample }) => sample.kind));
    expect(workloadTypes.map(({ kind }) => kind).filter((kind) => !seen.has(kind))).toEqual([]);
  });

  it.each(workloadTypes)("of a $kind is one that its own schema allows", (served) => {
    const isOf = ({ apiVersion, kind }: Sample) => kind === served.kind && apiVersion === apiVersionOf(served);
    const all = Object.values(rows).filter(({ sample }) => isOf(sample));
    const statuses = [
      ...all.map(({ sample, copies }) => statusOf(sample, copies)),
      ...all.map(({ sample }) => statusOf(sample, {}, { wanted: ["east"] })),
    ];
    // Only the status is looked at: what a spec needs is another matter.
    const { required: _, ...spec } = served.spec;
    for (const status of statuses) expect(faultsOf({ ...served, spec }, { spec: {}, status })).toEqual([]);
  });
});

describe("how far a workload has come", () => {
  const at = (status: JsonObject) => status.observedGeneration;
  const ready = deployment.status;

  it("is its generation when every cluster has reached it", () => {
    const copies = [aCopy("east", ready), aCopy("west", ready)];
    expect(at(aggregate(factsOf(deployment, copies)))).toBe(7);
  });

  it("stays where it was while one cluster has not", () => {
    const copies = [aCopy("east", ready), aCopy("west", ready, { isCurrent: false })];
    expect(at(aggregate(factsOf(deployment, copies, { previous: { observedGeneration: 6 } })))).toBe(6);
    expect(at(aggregate(factsOf(deployment, copies)))).toBeUndefined();
  });

  it("stays where it was while one cluster is not heard from", () => {
    const facts = { previous: { observedGeneration: 6 }, wanted: ["east", "west"] };
    expect(at(statusOf(deployment, { east: ready }, facts))).toBe(6);
    expect(at(statusOf(deployment, {}, facts))).toBe(6);
  });

  it("does not wait for a cluster that it leaves", () => {
    const copies = [aCopy("east", ready), aCopy("west", ready, { isCurrent: false })];
    const status = aggregate(factsOf(deployment, copies, { wanted: ["east"] }));
    expect(at(status)).toBe(7);
    expect(status.readyReplicas).toBe(6);
  });

  it("is never beyond the workload, whatever somebody wrote", () => {
    const copies = [aCopy("east", ready, { isCurrent: false })];
    expect(at(aggregate(factsOf(deployment, copies, { previous: { observedGeneration: 99 } })))).toBe(7);
  });

  it("is said of conditions too, and in the form that the type has", () => {
    const copies = [aCopy("east", altered(database, { observedGeneration: "3" }), { isCurrent: false })];
    const previous = { observedGeneration: "5" };
    const status = aggregate(factsOf(database, copies, { previous }));
    expect(at(status)).toBe("5");
    expect(conditionOf(status, "Ready")).toMatchObject({ observedGeneration: 5 });
  });

  it("is not said where a type does not say it", () => {
    expect(at(statusOf(service, { east: service.status }))).toBeUndefined();
  });
});

describe("clusters that say nothing", () => {
  it("leave the sum, and the status says how many there should be", () => {
    const previous = statusOf(deployment, {
      east: deployment.status,
      west: deployment.status,
      north: deployment.status,
    });
    expect(previous.readyReplicas).toBe(9);
    const status = statusOf(
      deployment,
      { east: deployment.status, west: deployment.status },
      { previous, wanted: ["west", "north", "east"] },
    );
    expect(status.readyReplicas).toBe(6);
    expect(conditionOf(status, "Available")).toMatchObject({ status: "True" });
    expect(conditionOf(status, "tmc.kcp.io/SeenEverywhere")).toEqual({
      type: "tmc.kcp.io/SeenEverywhere",
      status: "False",
      reason: "ClustersMissing",
      message: "seen on 2/3 clusters, not on north",
      lastTransitionTime: now,
    });
  });

  it("are named in the order of their names, and only so many", () => {
    const wanted = ["i", "h", "g", "f", "e", "d", "c", "b", "a"];
    const status = statusOf(deployment, { a: deployment.status }, { wanted });
    expect(conditionOf(status, "tmc.kcp.io/SeenEverywhere")).toMatchObject({
      message: "seen on 1/9 clusters, not on b, c, d, e, f and 3 more",
    });
  });

  it("are no longer mentioned when they are back", () => {
    const alone = statusOf(deployment, { east: deployment.status }, { wanted: ["east", "west"] });
    const both = statusOf(deployment, { east: deployment.status, west: deployment.status }, { previous: alone });
    expect(conditionTypes(both)).toEqual(["Available", "Progressing"]);
  });

  it("cannot complete a Job", () => {
    const status = statusOf(job, { east: job.status }, { wanted: ["east", "west"] });
    expect(conditionTypes(status)).toEqual(["tmc.kcp.io/SeenEverywhere"]);
    expect(status.completionTime).toBeUndefined();
    expect(status.succeeded).toBe(2);
  });

  it("are not mentioned in a type that has no conditions: its server would drop them, and we would write for ever", () => {
    const wanted = ["east", "west"];
    expect(statusOf({ apiVersion: "batch/v1", kind: "CronJob" }, { east: {} }, { wanted })).toEqual({});
    expect(statusOf(database, { east: { size: 3 } }, { wanted })).toEqual({ size: 3 });
    const conditions = [{ type: "Ready", status: "True" }];
    expect(conditionTypes(statusOf(database, { east: { conditions } }, { wanted }))).toHaveLength(2);
  });

  const nowhere: readonly [Sample, JsonObject][] = [
    [deployment, { replicas: 0, readyReplicas: 0, availableReplicas: 0, updatedReplicas: 0 }],
    [daemonSet, { desiredNumberScheduled: 0, currentNumberScheduled: 0, numberReady: 0, numberMisscheduled: 0 }],
    [job, { active: 0, ready: 0, succeeded: 0, failed: 0 }],
    [service, { loadBalancer: {} }],
  ];
  it.each(nowhere)("leave nothing of what was there before: $kind", (sample, counts) => {
    const previous = statusOf(sample, { east: sample.status });
    const status = statusOf(sample, {}, { previous, wanted: ["east"] });
    expect(status).toMatchObject(counts);
    expect(conditionOf(status, "tmc.kcp.io/SeenEverywhere")).toMatchObject({
      status: "False",
      reason: "NoCopies",
      message: "seen on 0/1 clusters, not on east",
    });
  });

  it("make a Deployment that is nowhere unavailable", () => {
    const previous = deployment.status;
    expect(conditionOf(statusOf(deployment, {}, { previous, wanted: [] }), "Available")).toEqual({
      type: "Available",
      status: "False",
      reason: "NoCopies",
      message: "it is on no cluster",
      lastTransitionTime: now,
    });
  });

  it("leave nothing of a custom resource but that", () => {
    const previous = database.status;
    const status = statusOf(database, {}, { previous, wanted: ["east"], generation: 3 });
    expect(Object.keys(status)).toEqual(["conditions", "observedGeneration"]);
    expect(conditionTypes(status)).toEqual(["tmc.kcp.io/SeenEverywhere"]);
  });
});

describe("since when a condition holds", () => {
  const since = (status: JsonObject) => conditionOf(status, "Ready")?.lastTransitionTime;
  const ready = (status: string, lastTransitionTime: string) =>
    withCondition(database, "Ready", { status, lastTransitionTime });
  const nine = "2026-03-01T09:00:00Z";
  const ten = "2026-03-01T10:00:00Z";
  const eleven = "2026-03-01T11:00:00Z";

  const table: Record<string, { east: JsonObject; west?: JsonObject; previous?: JsonObject; expected: string }> = {
    "good news: since the last cluster came to it": {
      east: ready("True", ten),
      west: ready("True", nine),
      expected: ten,
    },
    "bad news: since the first cluster had it": {
      east: ready("False", ten),
      west: ready("False", nine),
      expected: nine,
    },
    "what is good elsewhere does not count for bad news": {
      east: ready("False", ten),
      west: ready("True", nine),
      expected: ten,
    },
    "it stays while the status stays": {
      east: ready("True", eleven),
      west: ready("True", nine),
      previous: ready("True", ten),
      expected: ten,
    },
    "a flip is as old as the cluster says": {
      east: ready("False", eleven),
      west: ready("True", nine),
      previous: ready("True", ten),
      expected: eleven,
    },
    "a flip is never older than the one before it": {
      east: ready("True", nine),
      previous: ready("False", ten),
      expected: now,
    },
    "the first look is the cluster's own": { east: ready("True", nine), expected: nine },
  };
  it.each(Object.entries(table))("%s", (_, { east, west, previous, expected }) => {
    const byCluster = west === undefined ? { east } : { east, west };
    expect(since(statusOf(database, byCluster, { previous }))).toBe(expected);
  });
});

describe("what has gone wrong for others", () => {
  it("kcp#1682: a cluster that was drained or lost does not stay in the sum", () => {
    const one = altered(deployment, { replicas: 1, readyReplicas: 1 });
    const previous = statusOf(deployment, { east: one });
    expect(previous.readyReplicas).toBe(1);
    const status = statusOf(deployment, {}, { previous, wanted: ["east"] });
    expect(status.readyReplicas).toBe(0);
    expect(conditionOf(status, "Available")).toMatchObject({ status: "False" });
  });

  it("no cluster's word is the last: both orders give the same bytes", () => {
    const bad = withCondition(deployment, "Available", { status: "False", message: "no" });
    const one = statusOf(deployment, { east: deployment.status, west: bad });
    const other = statusOf(deployment, { west: bad, east: deployment.status });
    expect(JSON.stringify(one)).toBe(JSON.stringify(other));
    expect(conditionOf(one, "Available")).toMatchObject({ status: "False" });
  });

  it("True does not go before False when conditions are merged", () => {
    const down = withCondition(database, "Ready", { status: "False" });
    expect(conditionOf(statusOf(database, { east: database.status, west: down }), "Ready")?.status).toBe("False");
    const failing = { conditions: [{ type: "ReconcileFailed", status: "True" }] };
    const fine = { conditions: [{ type: "ReconcileFailed", status: "False" }] };
    expect(conditionOf(statusOf(database, { east: fine, west: failing }), "ReconcileFailed")?.status).toBe("True");
  });
});
