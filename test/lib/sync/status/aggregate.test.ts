import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { formatApiVersion } from "../../../../lib/api/kind.ts";
import { workloadTypes } from "../../../../lib/api/workload-types.ts";
import { aggregate } from "../../../../lib/sync/status/aggregate.ts";
import { statusCondition } from "../../../../lib/sync/status/conditions.ts";
import { aCopy, altered, factsOf, now, statusOf, withCondition } from "../../../support/copy-status-builders.ts";
import { faultsOf } from "../../api/validate.ts";
import { rows } from "./aggregate.rows.ts";
import { daemonSet, database, deployment, job, type Sample, samples, service } from "./samples.ts";

const withoutObserved = ({ observedGeneration: _, ...rest }: JsonObject): JsonObject => rest;
const conditionTypes = (status: JsonObject) => ((status.conditions ?? []) as JsonObject[]).map(({ type }) => type);

describe("aggregate", () => {
  it.each(Object.entries(rows))("%s", (_, { sample, copies, status }) => {
    expect(withoutObserved(statusOf(sample, copies))).toEqual(status);
  });

  it.each(samples)(
    "the status of a $kind on one cluster is that cluster's status with the workload's generation",
    (sample) => {
      const { terminatingReplicas: _, ...status } = sample.status ?? {};
      const conditions = ((status.conditions ?? []) as JsonObject[]).map((condition) =>
        condition.observedGeneration === undefined ? condition : { ...condition, observedGeneration: 7 },
      );
      expect(statusOf(sample, { east: sample.status })).toEqual({
        ...status,
        ...(status.observedGeneration === undefined ? {} : { observedGeneration: 7 }),
        ...(conditions.length === 0 ? {} : { conditions }),
      });
    },
  );

  it("omits fields that have no meaning outside their cluster", () => {
    expect(statusOf(deployment, { east: { replicas: 1, collisionCount: 2 } })).toEqual({ replicas: 1 });
    expect(statusOf(deployment, { east: { replicas: 1, terminatingReplicas: 2 } })).toEqual({ replicas: 1 });
    expect(statusOf(job, { east: { active: 1, uncountedTerminatedPods: { failed: ["u1"] } } })).toEqual({ active: 1 });
  });

  it("omits null values, which servers reject", () => {
    expect(statusOf(job, { east: { active: 1, completionTime: null } })).toEqual({ active: 1 });
  });

  it("has a row for every offered type", () => {
    const seen = new Set(Object.values(rows).map(({ sample }) => sample.kind));
    expect(workloadTypes.map(({ kind }) => kind).filter((kind) => !seen.has(kind))).toEqual([]);
  });

  it.each(workloadTypes)("the aggregated status of a $kind is valid by its schema", (served) => {
    const isOf = ({ apiVersion, kind }: Sample) => kind === served.kind && apiVersion === formatApiVersion(served);
    const all = Object.values(rows).filter(({ sample }) => isOf(sample));
    const statuses = [
      ...all.map(({ sample, copies }) => statusOf(sample, copies)),
      ...all.map(({ sample }) => statusOf(sample, {}, { targets: ["east"] })),
    ];
    // Only the status is validated.
    const { required: _, ...spec } = served.spec;
    for (const status of statuses) expect(faultsOf({ ...served, spec }, { spec: {}, status })).toEqual([]);
  });
});

describe("observedGeneration of the aggregate", () => {
  const at = (status: JsonObject) => status.observedGeneration;
  const ready = deployment.status;

  it("observedGeneration is the workload's generation once every cluster has observed it", () => {
    const copies = [aCopy("east", ready), aCopy("west", ready)];
    expect(at(aggregate(factsOf(deployment, copies)))).toBe(7);
  });

  it("observedGeneration is kept while one cluster has not observed the generation", () => {
    const copies = [aCopy("east", ready), aCopy("west", ready, { isCurrent: false })];
    expect(at(aggregate(factsOf(deployment, copies, { previous: { observedGeneration: 6 } })))).toBe(6);
    expect(at(aggregate(factsOf(deployment, copies)))).toBeUndefined();
  });

  it("observedGeneration is kept while one cluster does not report", () => {
    const facts = { previous: { observedGeneration: 6 }, targets: ["east", "west"] };
    expect(at(statusOf(deployment, { east: ready }, facts))).toBe(6);
    expect(at(statusOf(deployment, {}, facts))).toBe(6);
  });

  it("observedGeneration does not wait for an evicted copy", () => {
    const copies = [aCopy("east", ready), aCopy("west", ready, { isCurrent: false })];
    const status = aggregate(factsOf(deployment, copies, { targets: ["east"] }));
    expect(at(status)).toBe(7);
    expect(status.readyReplicas).toBe(6);
  });

  it("observedGeneration is never above the workload's generation", () => {
    const copies = [aCopy("east", ready, { isCurrent: false })];
    expect(at(aggregate(factsOf(deployment, copies, { previous: { observedGeneration: 99 } })))).toBe(7);
  });

  it("observedGeneration of conditions follows, and the type of the field is kept", () => {
    const copies = [aCopy("east", altered(database, { observedGeneration: "3" }), { isCurrent: false })];
    const previous = { observedGeneration: "5" };
    const status = aggregate(factsOf(database, copies, { previous }));
    expect(at(status)).toBe("5");
    expect(statusCondition(status, "Ready")).toMatchObject({ observedGeneration: 5 });
  });

  it("observedGeneration is omitted for types without it", () => {
    expect(at(statusOf(service, { east: service.status }))).toBeUndefined();
  });
});

describe("target clusters that do not report", () => {
  it("a cluster that does not report is not part of the sum and is named in SeenEverywhere", () => {
    const previous = statusOf(deployment, {
      east: deployment.status,
      west: deployment.status,
      north: deployment.status,
    });
    expect(previous.readyReplicas).toBe(9);
    const status = statusOf(
      deployment,
      { east: deployment.status, west: deployment.status },
      { previous, targets: ["west", "north", "east"] },
    );
    expect(status.readyReplicas).toBe(6);
    expect(statusCondition(status, "Available")).toMatchObject({ status: "True" });
    expect(statusCondition(status, "tmc.kcp.io/SeenEverywhere")).toEqual({
      type: "tmc.kcp.io/SeenEverywhere",
      status: "False",
      reason: "ClustersMissing",
      message: "seen on 2/3 clusters, not on north",
      lastTransitionTime: now,
    });
  });

  it("SeenEverywhere names at most five missing clusters in order", () => {
    const targets = ["i", "h", "g", "f", "e", "d", "c", "b", "a"];
    const status = statusOf(deployment, { a: deployment.status }, { targets });
    expect(statusCondition(status, "tmc.kcp.io/SeenEverywhere")).toMatchObject({
      message: "seen on 1/9 clusters, not on b, c, d, e, f and 3 more",
    });
  });

  it("SeenEverywhere is removed when all clusters report", () => {
    const alone = statusOf(deployment, { east: deployment.status }, { targets: ["east", "west"] });
    const both = statusOf(deployment, { east: deployment.status, west: deployment.status }, { previous: alone });
    expect(conditionTypes(both)).toEqual(["Available", "Progressing"]);
  });

  it("a Job is not complete while a cluster does not report", () => {
    const status = statusOf(job, { east: job.status }, { targets: ["east", "west"] });
    expect(conditionTypes(status)).toEqual(["tmc.kcp.io/SeenEverywhere"]);
    expect(status.completionTime).toBeUndefined();
    expect(status.succeeded).toBe(2);
  });

  it("SeenEverywhere is not added to a type without conditions, whose server would drop it after every write", () => {
    const targets = ["east", "west"];
    expect(statusOf({ apiVersion: "batch/v1", kind: "CronJob" }, { east: {} }, { targets })).toEqual({});
    expect(statusOf(database, { east: { size: 3 } }, { targets })).toEqual({ size: 3 });
    const conditions = [{ type: "Ready", status: "True" }];
    expect(conditionTypes(statusOf(database, { east: { conditions } }, { targets }))).toHaveLength(2);
  });

  const nowhere: readonly [Sample, JsonObject][] = [
    [deployment, { replicas: 0, readyReplicas: 0, availableReplicas: 0, updatedReplicas: 0 }],
    [daemonSet, { desiredNumberScheduled: 0, currentNumberScheduled: 0, numberReady: 0, numberMisscheduled: 0 }],
    [job, { active: 0, ready: 0, succeeded: 0, failed: 0 }],
    [service, { loadBalancer: {} }],
  ];
  it.each(nowhere)("the previous status of a $kind is dropped if no cluster reports", (sample, counts) => {
    const previous = statusOf(sample, { east: sample.status });
    const status = statusOf(sample, {}, { previous, targets: ["east"] });
    expect(status).toMatchObject(counts);
    expect(statusCondition(status, "tmc.kcp.io/SeenEverywhere")).toMatchObject({
      status: "False",
      reason: "NoCopies",
      message: "seen on 0/1 clusters, not on east",
    });
  });

  it("a Deployment without copies is not Available", () => {
    const previous = deployment.status;
    expect(statusCondition(statusOf(deployment, {}, { previous, targets: [] }), "Available")).toEqual({
      type: "Available",
      status: "False",
      reason: "NoCopies",
      message: "the workload is on no cluster",
      lastTransitionTime: now,
    });
  });

  it("a custom resource without copies keeps only SeenEverywhere", () => {
    const previous = database.status;
    const status = statusOf(database, {}, { previous, targets: ["east"], generation: 3 });
    expect(Object.keys(status)).toEqual(["conditions", "observedGeneration"]);
    expect(conditionTypes(status)).toEqual(["tmc.kcp.io/SeenEverywhere"]);
  });
});

describe("lastTransitionTime of an aggregated condition", () => {
  const since = (status: JsonObject) => statusCondition(status, "Ready")?.lastTransitionTime;
  const ready = (status: string, lastTransitionTime: string) =>
    withCondition(database, "Ready", { status, lastTransitionTime });
  const nine = "2026-03-01T09:00:00Z";
  const ten = "2026-03-01T10:00:00Z";
  const eleven = "2026-03-01T11:00:00Z";

  const table: Record<string, { east: JsonObject; west?: JsonObject; previous?: JsonObject; expected: string }> = {
    "a positive condition has the time of the last cluster": {
      east: ready("True", ten),
      west: ready("True", nine),
      expected: ten,
    },
    "a negative condition has the time of the first cluster": {
      east: ready("False", ten),
      west: ready("False", nine),
      expected: nine,
    },
    "a negative condition ignores the times of clusters that do not have it": {
      east: ready("False", ten),
      west: ready("True", nine),
      expected: ten,
    },
    "the transition time is kept while the status is unchanged": {
      east: ready("True", eleven),
      west: ready("True", nine),
      previous: ready("True", ten),
      expected: ten,
    },
    "a transition has the time of the cluster": {
      east: ready("False", eleven),
      west: ready("True", nine),
      previous: ready("True", ten),
      expected: eleven,
    },
    "a transition is never older than the previous one": {
      east: ready("True", nine),
      previous: ready("False", ten),
      expected: now,
    },
    "the first condition has the time of the cluster": { east: ready("True", nine), expected: nine },
  };
  it.each(Object.entries(table))("%s", (_, { east, west, previous, expected }) => {
    const byCluster = west === undefined ? { east } : { east, west };
    expect(since(statusOf(database, byCluster, { previous }))).toBe(expected);
  });
});

describe("known failures of similar systems", () => {
  it("kcp#1682: the replicas of a lost cluster are removed from the sum", () => {
    const one = altered(deployment, { replicas: 1, readyReplicas: 1 });
    const previous = statusOf(deployment, { east: one });
    expect(previous.readyReplicas).toBe(1);
    const status = statusOf(deployment, {}, { previous, targets: ["east"] });
    expect(status.readyReplicas).toBe(0);
    expect(statusCondition(status, "Available")).toMatchObject({ status: "False" });
  });

  it("the aggregate does not depend on which cluster reports last", () => {
    const bad = withCondition(deployment, "Available", { status: "False", message: "no" });
    const one = statusOf(deployment, { east: deployment.status, west: bad });
    const other = statusOf(deployment, { west: bad, east: deployment.status });
    expect(JSON.stringify(one)).toBe(JSON.stringify(other));
    expect(statusCondition(one, "Available")).toMatchObject({ status: "False" });
  });

  it("a False condition of one cluster is not hidden by True of another", () => {
    const down = withCondition(database, "Ready", { status: "False" });
    expect(statusCondition(statusOf(database, { east: database.status, west: down }), "Ready")?.status).toBe("False");
    const failing = { conditions: [{ type: "ReconcileFailed", status: "True" }] };
    const fine = { conditions: [{ type: "ReconcileFailed", status: "False" }] };
    expect(statusCondition(statusOf(database, { east: fine, west: failing }), "ReconcileFailed")?.status).toBe("True");
  });
});
