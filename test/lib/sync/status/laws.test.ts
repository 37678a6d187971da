import type { JsonObject } from "@tmc/kube/kube-object.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { statusStrategies } from "../../../../lib/api/workload-kinds.ts";
import { aggregate } from "../../../../lib/sync/status/aggregate.ts";
import { hasNegativePolarity, statusCondition, statusConditions } from "../../../../lib/sync/status/conditions.ts";
import type { StatusFacts } from "../../../../lib/sync/status/facts.ts";

import { now } from "../../../support/copy-status-builders.ts";
import { samples } from "./samples.ts";

const clusters = ["east", "north", "south", "west"];
const time = fc.constantFrom("2026-03-01T09:00:00Z", "2026-03-01T10:00:00Z", "2026-03-01T11:00:00.5Z");
const condition = fc.record(
  {
    type: fc.constantFrom("Ready", "Available", "Progressing", "ReplicaFailure", "Complete", "Failed", "Stalled"),
    status: fc.constantFrom("True", "False", "Unknown"),
    reason: fc.constantFrom("A", "B"),
    message: fc.constantFrom("", "one", "other"),
    lastTransitionTime: time,
    lastUpdateTime: time,
    observedGeneration: fc.nat(5),
  },
  { requiredKeys: ["type", "status"] },
);
const count = fc.nat(5);
const anyStatus: fc.Arbitrary<JsonObject | undefined> = fc.option(
  fc
    .record(
      {
        observedGeneration: count,
        replicas: count,
        readyReplicas: count,
        active: count,
        desiredNumberScheduled: count,
        currentReplicas: count,
        collisionCount: count,
        startTime: time,
        completionTime: fc.option(time),
        lastScheduleTime: time,
        phase: fc.constantFrom("Bound", "Pending", "Lost", "Running"),
        capacity: fc.record({ storage: fc.constantFrom("1Gi", "1024Mi", "2Gi", "?") }),
        loadBalancer: fc.record({ ingress: fc.array(fc.record({ ip: fc.constantFrom("1.1.1.1", "2.2.2.2") })) }),
        list: fc.array(fc.constantFrom("a", "b", "c")),
        deep: fc.record({ a: count, b: fc.record({ c: count }, { requiredKeys: [] }) }, { requiredKeys: [] }),
        conditions: fc.uniqueArray(condition, { selector: ({ type }) => type, maxLength: 4 }),
      },
      { requiredKeys: [] },
    )
    // Plain JSON, as received from a server.
    .map((status) => JSON.parse(JSON.stringify(status)) as JsonObject),
  { nil: undefined },
);

const anyFacts: fc.Arbitrary<StatusFacts> = fc
  .record({
    sample: fc.constantFrom(...samples),
    generation: fc.integer({ min: 1, max: 5 }),
    previous: anyStatus,
    copies: fc.uniqueArray(
      fc.record({
        targetCluster: fc.constantFrom(...clusters),
        status: anyStatus,
        isCurrent: fc.boolean(),
        observedMs: fc.nat(3),
      }),
      { selector: ({ targetCluster }) => targetCluster, maxLength: 4 },
    ),
    targets: fc.shuffledSubarray(clusters),
    strategy: fc.option(fc.constantFrom(...statusStrategies), { nil: undefined }),
  })
  .map(({ sample: { apiVersion, kind }, ...rest }) => ({ apiVersion, kind, ...rest, now }));

/** Checks a law for random facts; a counterexample is shrunk and printed with its seed. */
function holds(law: (facts: StatusFacts) => void): void {
  fc.assert(fc.property(anyFacts, law), { numRuns: 300, seed: 0x57a7 });
}

describe("laws of aggregate", () => {
  it("the aggregate does not depend on the order of the copies", () => {
    holds((facts) => {
      const turned = aggregate({ ...facts, copies: facts.copies.toReversed() });
      expect(JSON.stringify(turned)).toBe(JSON.stringify(aggregate(facts)));
    });
  });

  it("aggregating again gives the same status, so that nothing is written", () => {
    holds((facts) => {
      const status = aggregate(facts);
      const again = aggregate({ ...facts, previous: status, now: "2027-01-01T00:00:00Z" });
      expect(JSON.stringify(again)).toBe(JSON.stringify(status));
    });
  });

  it("aggregate does not modify its input", () => {
    holds((facts) => {
      const before = structuredClone(facts);
      aggregate(facts);
      expect(facts).toEqual(before);
    });
  });

  it("the aggregate is plain JSON without duplicate conditions", () => {
    holds((facts) => {
      const status = aggregate(facts);
      expect(status).toEqual(JSON.parse(JSON.stringify(status)));
      const types = (statusConditions(status) ?? []).map(({ type }) => type);
      expect(new Set(types).size).toBe(types.length);
    });
  });

  it("observedGeneration is not above what every target cluster has observed", () => {
    holds((facts) => {
      const { copies, targets, generation = 0, previous } = facts;
      const observed = Number(aggregate(facts).observedGeneration ?? 0);
      const reached = targets.every((name) =>
        copies.some(({ targetCluster, isCurrent }) => targetCluster === name && isCurrent),
      );
      expect(observed).toBeLessThanOrEqual(generation);
      if (!reached) expect(observed).toBeLessThanOrEqual(Number(previous?.observedGeneration ?? 0));
    });
  });

  it("no aggregated condition is better than on any cluster", () => {
    holds((facts) => {
      if (facts.strategy === "priority" || facts.strategy === "latest") return;
      const status = aggregate(facts);
      for (const { type, status: word } of statusConditions(status) ?? []) {
        const worst = hasNegativePolarity(type) ? "True" : "False";
        const isBad = facts.copies.some((copy) => statusCondition(copy.status, type)?.status === worst);
        if (isBad && facts.kind !== "PersistentVolumeClaim") expect([type, word]).toEqual([type, worst]);
      }
    });
  });

  it("replicas are the sum over the copies", () => {
    holds((facts) => {
      if (facts.kind !== "Deployment") return;
      const all = facts.copies.reduce((sum, { status }) => sum + Number(status?.readyReplicas ?? 0), 0);
      expect(Number(aggregate(facts).readyReplicas ?? 0)).toBe(all);
    });
  });
});
