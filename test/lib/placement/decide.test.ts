import { isDeepStrictEqual } from "node:util";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { workloadPlacement } from "../../../lib/api/workload-placement.ts";
import { decide } from "../../../lib/placement/decide.ts";
import type { Observed, Registration } from "../../../lib/placement/observed.ts";
import { isDecisionReason, reasonsByNearness } from "../../../lib/placement/reasons.ts";
import { reasonsPage } from "../../../scripts/docs/reasons-page.ts";
import { faultsOf } from "../api/validate.ts";
import { aCluster, ago, aPlacement, decisionFor, now } from "./builders.ts";
import { rows } from "./decide.rows.ts";

const observe = (placement: Observed["placement"], clusters: Observed["clusters"]): Observed => ({
  placement,
  clusters,
  nowMs: now,
});
const readyOf = (observed: Observed) => decide(observed).status.conditions?.[0];

describe("a placement", () => {
  it.each(Object.entries(rows))(
    "%s",
    (_, { given, selected, reasons = {}, says = {}, ready, messageStarts = "", next }) => {
      const plan = decide(given);
      expect(plan.status.selectedClusters).toEqual(selected);
      const found = Object.keys(reasons).map((name) => [name, decisionFor(plan.status, name)?.reason]);
      expect(Object.fromEntries(found)).toEqual(reasons);
      for (const [name, words] of Object.entries(says)) expect(decisionFor(plan.status, name)).toMatchObject(words);
      const condition = plan.status.conditions?.find(({ type }) => type === "Ready");
      if (ready !== undefined) expect(condition).toMatchObject(ready);
      expect(condition?.message.startsWith(messageStarts)).toBe(true);
      if (next !== undefined) expect(plan.next).toEqual(next);
    },
  );

  it("has a row for every reason there is", () => {
    const seen = new Set(
      Object.values(rows).flatMap(({ given }) => decide(given).status.decisions?.map(({ reason }) => reason) ?? []),
    );
    expect(reasonsByNearness.filter((reason) => !seen.has(reason))).toEqual([]);
    expect([...seen].every(isDecisionReason)).toBe(true);
    for (const reason of seen) expect(reasonsPage()).toContain(`| \`${reason}\` |`);
  });
});

describe("the laws, over every row", () => {
  it.each(Object.entries(rows))("run again, it asks for nothing: %s", (_, { given }) => {
    const { status } = decide(given);
    const again = decide({ ...given, placement: { ...given.placement, status }, nowMs: given.nowMs + 400 });
    expect(again.status).toEqual(status);
    expect(isDeepStrictEqual(again.status, JSON.parse(JSON.stringify(status)))).toBe(true);
  });

  it.each(Object.entries(rows))("its input is unchanged: %s", (_, { given }) => {
    const copy = structuredClone(given);
    decide(given);
    expect(given).toEqual(copy);
  });

  it.each(Object.entries(rows))("the order of the clusters leaves no trace: %s", (_, { given }) => {
    const turned = decide({ ...given, clusters: given.clusters.toReversed() });
    expect(JSON.stringify(turned)).toBe(JSON.stringify(decide(given)));
  });

  it.each(Object.entries(rows))("a server takes the status: %s", (_, { given }) => {
    const { status } = decide(given);
    const spec = { strategy: "Spread" };
    expect(faultsOf(workloadPlacement, { ...given.placement, spec, status })).toEqual([]);
  });

  it.each(Object.entries(rows))("words and scores agree with themselves: %s", (_, { given }) => {
    const { status } = decide(given);
    const chosen = status.decisions?.filter(({ selected }) => selected).map(({ cluster }) => cluster);
    const known = new Set(given.clusters.map(({ name }) => name));
    expect(chosen).toEqual(status.selectedClusters?.filter((name) => known.has(name)));
    for (const { score, parts = [], message } of status.decisions ?? []) {
      if (score !== undefined) expect(parts.reduce((sum, { value }) => sum + value, 0)).toBe(score);
      expect(message).not.toMatch(/[{}]|undefined|NaN/);
    }
  });
});

describe("the condition Ready", () => {
  it("moves its time only when it flips", () => {
    const first = decide(observe(aPlacement(), [aCluster("a")])).status;
    const later = { placement: { ...aPlacement(), status: first }, nowMs: now + 60_000 };
    const kept = decide({ ...later, clusters: [aCluster("a"), aCluster("b")] }).status.conditions?.[0];
    expect(kept?.lastTransitionTime).toBe("2030-01-01T12:00:00Z");
    const flipped = decide({ ...later, clusters: [] }).status.conditions?.[0];
    expect(flipped?.lastTransitionTime).toBe("2030-01-01T12:01:00Z");
  });

  it("counts the reasons, the most frequent first, and names what no cluster has", () => {
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

  it("keeps what others have written", () => {
    const theirs = { type: "Theirs", status: "True", reason: "R", message: "m", lastTransitionTime: ago(9) } as const;
    const { conditions } = decide(observe(aPlacement({}, { status: { conditions: [theirs] } }), [])).status;
    expect(conditions?.map(({ type }) => type)).toEqual(["Theirs", "Ready"]);
  });
});

describe("the list of decisions", () => {
  const many = (count: number, wish: (at: number) => Parameters<typeof aCluster>[1] = () => ({})) =>
    Array.from({ length: count }, (_, at) => aCluster(`c${String(at).padStart(4, "0")}`, wish(at)));

  it("stops at a hundred and counts the rest by reason", () => {
    const { status } = decide(
      observe(
        aPlacement(),
        many(250, (at) => ({ ready: at < 50 ? "True" : "False" })),
      ),
    );
    expect(status.decisions).toHaveLength(100);
    expect(status.decisionsOmitted).toEqual({ count: 150, reasons: [{ reason: "NotReady", count: 150 }] });
  });

  it("stops before it becomes too long", () => {
    const value = "x".repeat(63);
    const wish = {
      locationSelector: {
        matchExpressions: [{ key: "k", operator: "In" as const, values: [value, `${value.slice(1)}y`, "z"] }],
      },
    };
    const { status } = decide(
      observe(
        aPlacement(wish),
        many(100, () => ({ labels: { k: "w".repeat(63) } })),
      ),
    );
    expect(JSON.stringify(status.decisions).length).toBeLessThan(26_000);
    expect((status.decisions?.length ?? 0) + (status.decisionsOmitted?.count ?? 0)).toBe(100);
  });

  it("counts chosen clusters that found no room, too", () => {
    const { status } = decide(observe(aPlacement({ strategy: "Spread" }), many(130)));
    expect(status.selectedClusters).toHaveLength(130);
    expect(status.decisionsOmitted).toEqual({ count: 30, reasons: [{ reason: "Selected", count: 30 }] });
  });

  it("takes no more clusters than a status has room for", () => {
    const { status } = decide(observe(aPlacement({ strategy: "Spread" }), many(1003)));
    expect(status.selectedClusters).toHaveLength(1000);
    expect(status.decisionsOmitted?.reasons).toEqual([
      { reason: "NotSelected", count: 3 },
      { reason: "Selected", count: 900 },
    ]);
  });

  it("shortens what is too long", () => {
    const values = Array.from({ length: 60 }, (_, at) => `${"x".repeat(60)}${at}`);
    const term = { matchExpressions: [{ key: "k", operator: "NotIn" as const, values }] };
    const placement = aPlacement({
      locationSelector: { matchExpressions: [{ key: "region", operator: "In", values: [...values, "eu"] }] },
      affinity: { clusterAffinity: { preferred: [{ weight: 1, term }] } },
    });
    const clusters = [aCluster("a"), aCluster("b", { labels: { region: "eu" } })];
    const { status } = decide(observe(placement, clusters));
    expect(faultsOf(workloadPlacement, { ...placement, status })).toEqual([]);
    expect(decisionFor(status, "a")?.expected).toHaveLength(200);
  });

  it("begins with the chosen, then the nearest", () => {
    const placement = aPlacement(
      {
        numberOfClusters: 2,
        preferredClusters: ["f"],
        clusterNames: ["a", "b", "c", "d", "e", "f", "g", "h"],
        locationSelector: { matchExpressions: [{ key: "x", operator: "DoesNotExist" }] },
      },
      { selected: ["g", "h"] },
    );
    const { decisions } = decide(
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

it("a registration as the server stores it gives the facts", () => {
  expectTypeOf<ClusterRegistration>().toExtend<Registration>();
});
