import { isDeepStrictEqual } from "node:util";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { workloadPlacement } from "../../../lib/api/workload-placement.ts";
import { decidePlacement } from "../../../lib/placement/decide.ts";
import type { ObservedPlacement, RegistrationInput } from "../../../lib/placement/observed.ts";
import { isDecisionReason, orderedReasons } from "../../../lib/placement/reasons.ts";
import { reasonsPage } from "../../../scripts/docs/reasons-page.ts";
import { aCluster, ago, aPlacement, decisionFor, now } from "../../support/placement-builders.ts";
import { faultsOf } from "../api/validate.ts";
import { rows } from "./decide.rows.ts";

const observe = (
  placement: ObservedPlacement["placement"],
  clusters: ObservedPlacement["clusters"],
): ObservedPlacement => ({
  placement,
  clusters,
  nowMs: now,
});
const readyOf = (observed: ObservedPlacement) => decidePlacement(observed).status.conditions?.[0];

describe("decidePlacement", () => {
  it.each(Object.entries(rows))(
    "%s",
    (_, { given, selected, reasons = {}, decisions = {}, ready, messagePrefix = "", next }) => {
      const plan = decidePlacement(given);
      expect(plan.status.selectedClusters).toEqual(selected);
      const actual = Object.keys(reasons).map((name) => [name, decisionFor(plan.status, name)?.reason]);
      expect(Object.fromEntries(actual)).toEqual(reasons);
      for (const [name, decision] of Object.entries(decisions)) {
        expect(decisionFor(plan.status, name)).toMatchObject(decision);
      }
      const condition = plan.status.conditions?.find(({ type }) => type === "Ready");
      if (ready !== undefined) expect(condition).toMatchObject(ready);
      expect(condition?.message.startsWith(messagePrefix)).toBe(true);
      if (next !== undefined) expect(plan.next).toEqual(next);
    },
  );

  it("has a table row and a line in docs/reasons.md for every decision reason", () => {
    const used = new Set(
      Object.values(rows).flatMap(
        ({ given }) => decidePlacement(given).status.decisions?.map(({ reason }) => reason) ?? [],
      ),
    );
    expect(orderedReasons.filter((reason) => !used.has(reason))).toEqual([]);
    expect([...used].every(isDecisionReason)).toBe(true);
    for (const reason of used) expect(reasonsPage()).toContain(`| \`${reason}\` |`);
  });
});

describe("laws of decidePlacement", () => {
  it.each(Object.entries(rows))("a second decision on its own result changes nothing: %s", (_, { given }) => {
    const { status } = decidePlacement(given);
    const again = decidePlacement({ ...given, placement: { ...given.placement, status }, nowMs: given.nowMs + 400 });
    expect(again.status).toEqual(status);
    expect(isDeepStrictEqual(again.status, JSON.parse(JSON.stringify(status)))).toBe(true);
  });

  it.each(Object.entries(rows))("a decision does not modify its input: %s", (_, { given }) => {
    const copy = structuredClone(given);
    decidePlacement(given);
    expect(given).toEqual(copy);
  });

  it.each(Object.entries(rows))("the order of the clusters does not change the decision: %s", (_, { given }) => {
    const reversed = decidePlacement({ ...given, clusters: given.clusters.toReversed() });
    expect(JSON.stringify(reversed)).toBe(JSON.stringify(decidePlacement(given)));
  });

  it.each(Object.entries(rows))("the CRD schema accepts the decided status: %s", (_, { given }) => {
    const { status } = decidePlacement(given);
    const spec = { strategy: "Spread" };
    expect(faultsOf(workloadPlacement, { ...given.placement, spec, status })).toEqual([]);
  });

  it.each(Object.entries(rows))(
    "decisions agree with selectedClusters, scores are the sum of their parts, messages are complete: %s",
    (_, { given }) => {
      const { status } = decidePlacement(given);
      const selected = status.decisions?.filter((decision) => decision.selected).map(({ cluster }) => cluster);
      const known = new Set(given.clusters.map(({ name }) => name));
      expect(selected).toEqual(status.selectedClusters?.filter((name) => known.has(name)));
      for (const { score, parts = [], message } of status.decisions ?? []) {
        if (score !== undefined) expect(parts.reduce((sum, { value }) => sum + value, 0)).toBe(score);
        expect(message).not.toMatch(/[{}]|undefined|NaN/);
      }
    },
  );
});

describe("the Ready condition of a placement", () => {
  it("changes lastTransitionTime of a placement's Ready condition only when its status changes", () => {
    const first = decidePlacement(observe(aPlacement(), [aCluster("a")])).status;
    const later = { placement: { ...aPlacement(), status: first }, nowMs: now + 60_000 };
    const kept = decidePlacement({ ...later, clusters: [aCluster("a"), aCluster("b")] }).status.conditions?.[0];
    expect(kept?.lastTransitionTime).toBe("2030-01-01T12:00:00Z");
    const flipped = decidePlacement({ ...later, clusters: [] }).status.conditions?.[0];
    expect(flipped?.lastTransitionTime).toBe("2030-01-01T12:01:00Z");
  });

  it("counts the reasons in the Ready message, the most frequent first, and names a requirement that no cluster satisfies", () => {
    const placement = aPlacement({ locationSelector: { matchLabels: { region: "us-west", tier: "gold" } } });
    const clusters = [
      aCluster("a", { labels: { tier: "gold" } }),
      aCluster("b", { labels: { tier: "base", region: "us-west-2" } }),
      aCluster("c", { deleting: true, labels: { region: "us-west" } }),
    ];
    expect(readyOf(observe(placement, clusters))?.message).toBe(
      "0 of 3 clusters fit: 2 SelectorMismatch, 1 Deleting; no cluster has region=us-west (locationSelector)",
    );
  });

  it("keeps placement conditions of other writers", () => {
    const theirs = { type: "Theirs", status: "True", reason: "R", message: "m", lastTransitionTime: ago(9) } as const;
    const { conditions } = decidePlacement(observe(aPlacement({}, { status: { conditions: [theirs] } }), [])).status;
    expect(conditions?.map(({ type }) => type)).toEqual(["Theirs", "Ready"]);
  });
});

describe("status.decisions", () => {
  const many = (count: number, options: (at: number) => Parameters<typeof aCluster>[1] = () => ({})) =>
    Array.from({ length: count }, (_, at) => aCluster(`c${String(at).padStart(4, "0")}`, options(at)));

  it("lists at most 100 decisions and counts the others by reason", () => {
    const { status } = decidePlacement(
      observe(
        aPlacement(),
        many(250, (at) => ({ ready: at < 50 ? "True" : "False" })),
      ),
    );
    expect(status.decisions).toHaveLength(100);
    expect(status.decisionsOmitted).toEqual({ count: 150, reasons: [{ reason: "NotReady", count: 150 }] });
  });

  it("bounds the size of the listed decisions", () => {
    const value = "x".repeat(63);
    const spec = {
      locationSelector: {
        matchExpressions: [{ key: "k", operator: "In" as const, values: [value, `${value.slice(1)}y`, "z"] }],
      },
    };
    const { status } = decidePlacement(
      observe(
        aPlacement(spec),
        many(100, () => ({ labels: { k: "w".repeat(63) } })),
      ),
    );
    expect(JSON.stringify(status.decisions).length).toBeLessThan(26_000);
    expect((status.decisions?.length ?? 0) + (status.decisionsOmitted?.count ?? 0)).toBe(100);
  });

  it("counts selected clusters that are omitted from the decisions", () => {
    const { status } = decidePlacement(observe(aPlacement({ strategy: "Spread" }), many(130)));
    expect(status.selectedClusters).toHaveLength(130);
    expect(status.decisionsOmitted).toEqual({ count: 30, reasons: [{ reason: "Selected", count: 30 }] });
  });

  it("selects at most 1000 clusters", () => {
    const { status } = decidePlacement(observe(aPlacement({ strategy: "Spread" }), many(1003)));
    expect(status.selectedClusters).toHaveLength(1000);
    expect(status.decisionsOmitted?.reasons).toEqual([
      { reason: "NotSelected", count: 3 },
      { reason: "Selected", count: 900 },
    ]);
  });

  it("clips long texts in decisions", () => {
    const values = Array.from({ length: 60 }, (_, at) => `${"x".repeat(60)}${at}`);
    const term = { matchExpressions: [{ key: "k", operator: "NotIn" as const, values }] };
    const placement = aPlacement({
      locationSelector: { matchExpressions: [{ key: "region", operator: "In", values: [...values, "eu"] }] },
      affinity: { clusterAffinity: { preferred: [{ weight: 1, term }] } },
    });
    const clusters = [aCluster("a"), aCluster("b", { labels: { region: "eu" } })];
    const { status } = decidePlacement(observe(placement, clusters));
    expect(faultsOf(workloadPlacement, { ...placement, status })).toEqual([]);
    expect(decisionFor(status, "a")?.expected).toHaveLength(200);
  });

  it("lists the selected clusters first, then the others by how close they are to being selected", () => {
    const placement = aPlacement(
      {
        numberOfClusters: 2,
        preferredClusters: ["f"],
        clusterNames: ["a", "b", "c", "d", "e", "f", "g", "h"],
        locationSelector: { matchExpressions: [{ key: "x", operator: "DoesNotExist" }] },
      },
      { selected: ["g", "h"] },
    );
    const { decisions } = decidePlacement(
      observe(placement, [
        aCluster("a"),
        aCluster("b", { labels: { x: "" } }),
        aCluster("c", { ready: "False" }),
        aCluster("d", { spec: { unschedulable: true } }),
        aCluster("f"),
        aCluster("g"),
        aCluster("h"),
        aCluster("i"),
      ]),
    ).status;
    expect(decisions?.map(({ cluster }) => cluster)).toEqual(["g", "h", "f", "a", "e", "d", "c", "b", "i"]);
  });
});

it("accepts a ClusterRegistration as input of clusterFacts", () => {
  expectTypeOf<ClusterRegistration>().toExtend<RegistrationInput>();
});
