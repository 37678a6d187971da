import { describe, expect, it } from "vitest";
import type { Observed } from "../../../lib/placement/observed.ts";
import { explainFor, parseSupposedTaint } from "../../../lib/placement/what-if.ts";
import { aCluster, aPlacement, now } from "./builders.ts";

const observe = (placement: Observed["placement"], ...clusters: Observed["clusters"]): Observed => ({
  placement,
  clusters,
  nowMs: now,
});

describe("an explanation", () => {
  it("says what would make a rejected cluster fit, all of it", () => {
    const placement = aPlacement({
      clusterNames: ["good", "bad", "nowhere"],
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
    const { decisions } = explainFor(observe(placement, bad, aCluster("other")));
    const hints = Object.fromEntries(decisions.map((decision) => [decision.cluster, decision.hints]));
    expect(hints.nowhere).toEqual(["a registration of that name"]);
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

  it("holds what it hints at: done so, the cluster fits", () => {
    const placement = aPlacement({ locationSelector: { matchLabels: { region: "eu" } } });
    expect(explainFor(observe(placement, aCluster("a"))).decisions[0]?.hints).toEqual(["label region=eu"]);
    const done = explainFor(observe(placement, aCluster("a", { labels: { region: "eu" } })));
    expect(done.decisions[0]).toMatchObject({ selected: true, hints: [] });
  });

  it("has a hint for a skew, and none for a cluster that is leaving", () => {
    const eu = (name: string) => aCluster(name, { labels: { region: "eu" } });
    const placement = aPlacement({ strategy: "Spread", spreadConstraints: [{ topologyKey: "region" }] });
    const us = aCluster("d", { labels: { region: "us" } });
    const { decisions } = explainFor(
      observe(placement, eu("a"), eu("b"), eu("c"), us, aCluster("e", { deleting: true })),
    );
    expect(decisions.slice(3).map(({ cluster, hints }) => [cluster, hints])).toEqual([
      ["c", ["a larger maxSkew in spreadConstraints[region]"]],
      ["e", []],
    ]);
  });

  it("leaves no cluster out and shows the load", () => {
    const clusters = Array.from({ length: 150 }, (_, at) => aCluster(`c${at}`));
    const load = new Map([["c7", 3]]);
    const { decisions, plan } = explainFor({ ...observe(aPlacement(), ...clusters), load });
    expect(decisions).toHaveLength(150);
    expect(plan.status.decisionsOmitted).toBeUndefined();
    expect(decisions.find(({ cluster }) => cluster === "c7")?.load).toBe(3);
    expect(decisions.find(({ cluster }) => cluster === "c8")?.load).toBe(0);
  });

  it("explains a placement that cannot be read", () => {
    const { decisions, plan } = explainFor(observe(aPlacement({ resources: { cpu: "x" } }), aCluster("a")));
    expect(plan.status.conditions?.[0]?.reason).toBe("InvalidResources");
    expect(decisions).toMatchObject([{ cluster: "a", reason: "InvalidPlacement", hints: [] }]);
  });
});

describe("what if", () => {
  const saved = aPlacement(
    { tolerations: [{ key: "slow", operator: "Exists", tolerationSeconds: 30 }] },
    { selected: ["east"] },
  );
  const world = observe(saved, aCluster("east"), aCluster("west"));
  const selectedIf = (whatIf: Parameters<typeof explainFor>[1]) =>
    explainFor(world, whatIf).plan.status.selectedClusters;

  it("a cluster were not there", () => {
    expect(selectedIf({ withoutClusters: ["east"] })).toEqual(["west"]);
    expect(selectedIf({ withoutClusters: ["east", "west"] })).toEqual([]);
  });

  it("a cluster, or all of them, were tainted", () => {
    expect(selectedIf({ withTaints: [parseSupposedTaint("k=v:NoExecute@east")] })).toEqual(["west"]);
    expect(selectedIf({ withTaints: [parseSupposedTaint("k=v:NoSchedule@east")] })).toEqual(["east"]);
    expect(selectedIf({ withTaints: [parseSupposedTaint("k=v:NoExecute")] })).toEqual([]);
  });

  it("a taint that is borne for a while were added now", () => {
    const { plan } = explainFor(world, { withTaints: [parseSupposedTaint("slow:NoExecute@east")] });
    expect(plan.status.decisions?.[0]).toMatchObject({ reason: "KeptTolerated", until: "2030-01-01T12:00:30Z" });
  });

  it("names clusters that do not exist, and changes nothing", () => {
    const copy = structuredClone(world);
    const whatIf = { withoutClusters: ["x", "east"], withTaints: [parseSupposedTaint("k:NoSchedule@w")] };
    expect(explainFor(world, whatIf).unknownClusters).toEqual(["w", "x"]);
    expect(world).toEqual(copy);
  });
});

describe("a supposed taint", () => {
  it.each([
    ["k=v:NoSchedule", { taint: { key: "k", value: "v", effect: "NoSchedule" }, cluster: undefined }],
    [
      "example.com/k:NoExecute@east",
      { taint: { key: "example.com/k", value: "", effect: "NoExecute" }, cluster: "east" },
    ],
    ["k=:PreferNoSchedule", { taint: { key: "k", value: "", effect: "PreferNoSchedule" }, cluster: undefined }],
  ])("%s is read", (text, supposed) => {
    expect(parseSupposedTaint(text)).toEqual(supposed);
  });

  it.each(["", "k", "k=v", "k=v:Never", ":NoSchedule", "k=v:NoSchedule@", "k=v=w:NoSchedule:x"])(
    "%j is refused",
    (text) => {
      expect(() => parseSupposedTaint(text)).toThrow(/write key=value:effect or key=value:effect@cluster/);
    },
  );
});
