import { describe, expect, it } from "vitest";
import type { ObservedPlacement } from "../../../lib/placement/observed.ts";
import { explainPlacement, parseHypotheticalTaint } from "../../../lib/placement/what-if.ts";
import { aCluster, aPlacement, now } from "../../support/placement-builders.ts";

const observe = (
  placement: ObservedPlacement["placement"],
  ...clusters: ObservedPlacement["clusters"]
): ObservedPlacement => ({
  placement,
  clusters,
  nowMs: now,
});

describe("explainPlacement", () => {
  it("lists everything that a rejected cluster would need to fit", () => {
    const placement = aPlacement({
      clusterNames: ["good", "bad", "unregistered"],
      locationSelector: { matchLabels: { region: "eu", tier: "gold" } },
      capabilityRequirements: [
        { type: "gpu", minVersion: "2" },
        { type: "compute" },
        { type: "mesh", minVersion: "3" },
      ],
      workloadSelector: { workloadTypes: [{ apiVersion: "batch/v1", kind: "Job" }] },
      resources: { cpu: "99" },
      affinity: {
        clusterAffinity: { required: [{ matchLabels: { a: "1" } }, { matchLabels: { b: "1" } }] },
        clusterAntiAffinity: { required: [{ matchLabels: { noisy: "1" } }] },
      },
      spreadConstraints: [{ topologyKey: "rack" }],
    });
    const bad = aCluster("bad", {
      labels: { region: "us", noisy: "1" },
      ready: "False",
      spec: {
        unschedulable: true,
        taints: [{ key: "k", value: "v", effect: "NoSchedule" }],
        capabilities: [{ type: "compute" }, { type: "mesh", version: "2" }],
      },
    });
    const { decisions } = explainPlacement(observe(placement, bad, aCluster("other")));
    const hints = Object.fromEntries(decisions.map((decision) => [decision.cluster, decision.hints]));
    expect(hints.unregistered).toEqual(["a registration of that name"]);
    expect(hints.bad).toEqual([
      "label region=eu, tier=gold",
      "label a=1 or b=1",
      "labels other than noisy=1",
      "label rack",
      "capability gpu 2 or later",
      "capability mesh 3 or later",
      "the type batch/v1 Job",
      "Ready=True",
      "unschedulable=false",
      "a toleration of k=v:NoSchedule",
      "99 cpu allocatable",
    ]);
    expect(hints.other?.[0]).toBe("other among clusterNames");
  });

  it("gives hints that make the cluster fit", () => {
    const placement = aPlacement({ locationSelector: { matchLabels: { region: "eu" } } });
    expect(explainPlacement(observe(placement, aCluster("a"))).decisions[0]?.hints).toEqual(["label region=eu"]);
    const corrected = explainPlacement(observe(placement, aCluster("a", { labels: { region: "eu" } })));
    expect(corrected.decisions[0]).toMatchObject({ selected: true, hints: [] });
  });

  it("gives a hint for a skew that is too large, and none for a registration that is being deleted", () => {
    const eu = (name: string) => aCluster(name, { labels: { region: "eu" } });
    const placement = aPlacement({ strategy: "Spread", spreadConstraints: [{ topologyKey: "region" }] });
    const us = aCluster("d", { labels: { region: "us" } });
    const { decisions } = explainPlacement(
      observe(placement, eu("a"), eu("b"), eu("c"), us, aCluster("e", { deleting: true })),
    );
    expect(decisions.slice(3).map(({ cluster, hints }) => [cluster, hints])).toEqual([
      ["c", ["a larger maxSkew in spreadConstraints[region]"]],
      ["e", []],
    ]);
  });

  it("explains all clusters without bounds and shows their load", () => {
    const clusters = Array.from({ length: 150 }, (_, index) => aCluster(`c${index}`));
    const load = new Map([["c7", 3]]);
    const { decisions, plan } = explainPlacement({ ...observe(aPlacement(), ...clusters), load });
    expect(decisions).toHaveLength(150);
    expect(plan.status.decisionsOmitted).toBeUndefined();
    expect(decisions.find(({ cluster }) => cluster === "c7")?.load).toBe(3);
    expect(decisions.find(({ cluster }) => cluster === "c8")?.load).toBe(0);
  });

  it("explains a placement with an invalid spec", () => {
    const { decisions, plan } = explainPlacement(observe(aPlacement({ resources: { cpu: "x" } }), aCluster("a")));
    expect(plan.status.conditions?.[0]?.reason).toBe("InvalidResources");
    expect(decisions).toMatchObject([{ cluster: "a", reason: "InvalidPlacement", hints: [] }]);
  });
});

describe("explainPlacement with what-if", () => {
  const stored = aPlacement(
    { tolerations: [{ key: "slow", operator: "Exists", tolerationSeconds: 30 }] },
    { selected: ["east"] },
  );
  const observed = observe(stored, aCluster("east"), aCluster("west"));
  const selectedIf = (whatIf: Parameters<typeof explainPlacement>[1]) =>
    explainPlacement(observed, whatIf).plan.status.selectedClusters;

  it("decides as if a cluster were not registered", () => {
    expect(selectedIf({ withoutClusters: ["east"] })).toEqual(["west"]);
    expect(selectedIf({ withoutClusters: ["east", "west"] })).toEqual([]);
  });

  it("decides as if one cluster or all clusters were tainted", () => {
    expect(selectedIf({ withTaints: [parseHypotheticalTaint("k=v:NoExecute@east")] })).toEqual(["west"]);
    expect(selectedIf({ withTaints: [parseHypotheticalTaint("k=v:NoSchedule@east")] })).toEqual(["east"]);
    expect(selectedIf({ withTaints: [parseHypotheticalTaint("k=v:NoExecute")] })).toEqual([]);
  });

  it("counts the tolerated time of a hypothetical taint from now", () => {
    const { plan } = explainPlacement(observed, { withTaints: [parseHypotheticalTaint("slow:NoExecute@east")] });
    expect(plan.status.decisions?.[0]).toMatchObject({ reason: "KeptTolerated", until: "2030-01-01T12:00:30Z" });
  });

  it("reports named clusters that do not exist and does not modify its input", () => {
    const copy = structuredClone(observed);
    const whatIf = { withoutClusters: ["x", "east"], withTaints: [parseHypotheticalTaint("k:NoSchedule@w")] };
    expect(explainPlacement(observed, whatIf).unknownClusters).toEqual(["w", "x"]);
    expect(observed).toEqual(copy);
  });
});

describe("parseHypotheticalTaint", () => {
  it.each([
    ["k=v:NoSchedule", { taint: { key: "k", value: "v", effect: "NoSchedule" }, cluster: undefined }],
    [
      "example.com/k:NoExecute@east",
      { taint: { key: "example.com/k", value: "", effect: "NoExecute" }, cluster: "east" },
    ],
    ["k=:PreferNoSchedule", { taint: { key: "k", value: "", effect: "PreferNoSchedule" }, cluster: undefined }],
  ])("parses the taint %s", (text, taint) => {
    expect(parseHypotheticalTaint(text)).toEqual(taint);
  });

  it.each(["", "k", "k=v", "k=v:Never", ":NoSchedule", "k=v:NoSchedule@", "k=v=w:NoSchedule:x"])(
    "rejects the taint %j",
    (text) => {
      expect(() => parseHypotheticalTaint(text)).toThrow(/write key=value:effect or key=value:effect@cluster/);
    },
  );
});
