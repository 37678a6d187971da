import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { decidePlacement } from "../../../lib/placement/decide.ts";
import {
  defaultMassFailureSettings,
  isPartOfMassFailure,
  massFailureRecheckSeconds,
  massFailuresIn,
  massFailuresOfTenants,
} from "../../../lib/placement/mass-failure.ts";
import {
  type ClusterFacts,
  confirmFailureAnnotation,
  type ObservedPlacement,
} from "../../../lib/placement/observed.ts";
import { evictionsHeldEvent } from "../../../lib/placement/status.ts";
import { aCluster, ago, aPlacement, decisionFor, now } from "../../support/placement-builders.ts";

/** `a:400 b c:r60` : a is not Ready since 400 s, b is Ready, c is Ready again since 60 s. */
function clustersOf(text: string): readonly ClusterFacts[] {
  return text.split(" ").map((each) => {
    const [name = "", state] = each.split(":");
    const status = { lastHeartbeat: ago(60) };
    if (state === undefined) return aCluster(name, { status });
    if (state === "never") return aCluster(name, { ready: "False", since: ago(400) });
    if (state.startsWith("r")) return aCluster(name, { since: ago(Number(state.slice(1))), status });
    const seconds = Number.parseInt(state, 10);
    const options = { ready: "False" as const, since: ago(seconds), status };
    if (state.endsWith("x")) return aCluster(name, { ...options, deleting: true });
    return state.endsWith("c")
      ? aCluster(name, { ...options, annotations: { [confirmFailureAnnotation]: ago(seconds) } })
      : aCluster(name, options);
  });
}

const heldIn = (clusters: readonly ClusterFacts[]): string => {
  const failures = massFailuresIn(clusters, now, defaultMassFailureSettings);
  return clusters
    .filter((cluster) => isPartOfMassFailure(cluster, failures))
    .map(({ name }) => name)
    .join(" ");
};

describe("massFailuresIn", () => {
  const rows: readonly Readonly<{ title: string; clusters: string; held: string }>[] = [
    { title: "a single failure is no mass failure", clusters: "a:400 b c d", held: "" },
    {
      title: "a cluster that became Ready before the failure has not recovered from it",
      clusters: "a:20 b:r90 c:r90",
      held: "",
    },
    { title: "all of two clusters are too few", clusters: "a:400 b:400", held: "" },
    { title: "two of three clusters are too few", clusters: "a:400 b:400 c", held: "" },
    { title: "three of three clusters are a mass failure", clusters: "a:400 b:390 c:380", held: "a b c" },
    { title: "exactly half of the clusters are no mass failure", clusters: "a:400 b:400 c:400 d e f", held: "" },
    { title: "more than half of the clusters are a mass failure", clusters: "a:400 b:400 c:400 d e", held: "a b c" },
    { title: "failures that are far apart are single failures", clusters: "a:4000 b:3000 c:2000 d:1000", held: "" },
    {
      title: "a cluster that failed long before is not part of it and does not count",
      clusters: "a:90000 b:90000 c:400 d:400 e:350 f",
      held: "c d e",
    },
    { title: "clusters that were never Ready do not count", clusters: "a:never b:never c:never d:400 e", held: "" },
    { title: "a confirmed failure does not count and is not held", clusters: "a:400c b:400 c:400 d", held: "" },
    {
      title: "a confirmed failure leaves the others held if they suffice alone",
      clusters: "a:400c b:400 c:400 d:400 e",
      held: "b c d",
    },
    { title: "a registration that is being deleted does not count", clusters: "a:400x b:400 c:400 d", held: "" },
    {
      title: "the last ones are held while the others have just become Ready",
      clusters: "a:400 b:400 c:r60 d:r30 e:r30 f g",
      held: "a b",
    },
    {
      title: "the last ones are evicted when the others have been Ready for a while",
      clusters: "a:400 b:400 c:r200 d:r200 e:r200 f g",
      held: "",
    },
    { title: "a time of Ready in the future is not believed", clusters: "a:400 b:r-4000 c:r-4000", held: "" },
    { title: "it holds for as long as nothing responds", clusters: "a:900000 b:900010 c:900020", held: "a b c" },
  ];
  it.each(rows)("$title", ({ clusters, held }) => {
    expect(heldIn(clustersOf(clusters))).toBe(held);
    expect(heldIn(clustersOf(clusters).toReversed()).split(" ").toSorted().join(" "), "in any order").toBe(held);
  });

  it("counts no mass failure if the setting turns the rule off", () => {
    const settings = { ...defaultMassFailureSettings, percent: 100 };
    expect(massFailuresIn(clustersOf("a:400 b:400 c:400"), now, settings)).toEqual([]);
  });

  it("holds the clusters of all tenants only if most tenants have lost clusters", () => {
    const hit = clustersOf("a:400 b:400 c");
    const well = clustersOf("a b");
    const large = clustersOf("a:400 b:400 c:400 d:400 e:400 f:400 g:400");
    const inTenants = (...tenants: readonly (readonly ClusterFacts[])[]) =>
      massFailuresOfTenants(tenants, now, defaultMassFailureSettings).length;
    expect(inTenants(hit, hit, hit)).toBe(1);
    expect(inTenants(hit, hit, well, []), "four of eight clusters").toBe(0);
    expect(inTenants(large, well, well), "seven of eleven clusters, of one tenant of three").toBe(0);
    expect(inTenants(large)).toBe(1);
  });
});

describe("decidePlacement in a mass failure", () => {
  const failed = "a:400 b:390 c:380 d";

  it("keeps the clusters whose tolerated time is over, and says why", () => {
    const placement = aPlacement({}, { selected: ["a"] });
    const { status, next } = decidePlacement({ placement, clusters: clustersOf(failed), nowMs: now });
    expect(status.selectedClusters).toEqual(["a"]);
    expect(status.evictedClusters).toBeUndefined();
    expect(decisionFor(status, "a")).toMatchObject({
      reason: "KeptMassFailure",
      expected: "tolerated for 300 s",
      actual: "Ready=False (ClusterUnhealthy)",
    });
    expect(status.conditions).toMatchObject([
      { type: "Ready", status: "True" },
      {
        type: "EvictionsHeld",
        status: "True",
        reason: "MassFailureSuspected",
        message: expect.stringMatching(/; if they have failed, run: tmc confirm failure\/a$/),
      },
    ]);
    expect(next).toEqual({ kind: "requeue", afterSeconds: massFailureRecheckSeconds });
    const again = decidePlacement({ placement: { ...placement, status }, clusters: clustersOf(failed), nowMs: now });
    expect(again.status).toEqual(status);
  });

  it("keeps the clusters if the clusters of the whole process failed", () => {
    const placement = aPlacement({}, { selected: ["a"] });
    const clusters = clustersOf("a:400 b");
    const decide = (massFailuresOfProcess: readonly { fromMs: number; toMs: number }[]) =>
      decidePlacement({ placement, clusters, massFailuresOfProcess, nowMs: now }).status.selectedClusters;
    expect(decide([])).toEqual(["b"]);
    expect(decide([{ fromMs: now - 420_000, toMs: now - 390_000 }])).toEqual(["a"]);
    expect(decide([{ fromMs: now - 9_000_000, toMs: now - 8_000_000 }])).toEqual(["b"]);
  });

  describe("while the process has not listed all clusters", () => {
    const clusters = clustersOf("a:400 b");
    const decide = (status: WorkloadPlacement["status"], options: Partial<ObservedPlacement> = {}) =>
      decidePlacement({
        placement: aPlacement({}, { status: { observedGeneration: 1, ...status } }),
        clusters,
        massFailuresOfProcess: "unknown",
        nowMs: now,
        ...options,
      });

    it("keeps a cluster whose tolerated time is over, and changes nothing in the status", () => {
      const { status: before } = decide({ selectedClusters: ["a"] }, { nowMs: now - 200_000 });
      expect(decisionFor(before, "a")).toMatchObject({ reason: "KeptTolerated" });
      const { status, next } = decide(before);
      expect(status).toEqual(before);
      expect(next).toEqual({ kind: "requeue", afterSeconds: 1 });
      expect(decide(before, { massFailuresOfProcess: [] }).status.selectedClusters).toEqual(["b"]);
    });
    it("keeps a cluster that was held, for the same reason", () => {
      const massFailuresOfProcess = [{ fromMs: now - 420_000, toMs: now - 390_000 }];
      const { status: held } = decide({ selectedClusters: ["a"] }, { massFailuresOfProcess });
      expect(decide(held).status).toEqual(held);
    });
    it("does not keep a cluster whose failure a user has confirmed, or that has a taint", () => {
      const confirmed = clustersOf("a:400c b");
      expect(decide({ selectedClusters: ["a"] }, { clusters: confirmed }).status.selectedClusters).toEqual(["b"]);
      const taint = { key: "k", value: "", effect: "NoExecute" as const, addedMs: now - 1000 };
      const tainted = clusters.map((each) => (each.name === "a" ? { ...each, taints: [taint] } : each));
      expect(decide({ selectedClusters: ["a"] }, { clusters: tainted }).status.selectedClusters).toEqual(["b"]);
    });
  });

  it("evicts as before when enough clusters respond again", () => {
    const held = decidePlacement({
      placement: aPlacement({}, { selected: ["a"] }),
      clusters: clustersOf(failed),
      nowMs: now,
    });
    const { status } = decidePlacement({
      placement: aPlacement({}, { status: held.status }),
      clusters: clustersOf("a:400 b:r200 c:r200 d"),
      nowMs: now,
    });
    expect(status.selectedClusters).toEqual(["b"]);
    expect(status.evictedClusters).toMatchObject([{ cluster: "a", reason: "NotReady" }]);
    expect(status.conditions?.find(({ type }) => type === "EvictionsHeld")).toMatchObject({
      status: "False",
      reason: "NoMassFailure",
    });
  });

  it("evicts from a cluster whose failure a user has confirmed", () => {
    const { status } = decidePlacement({
      placement: aPlacement({}, { selected: ["a"] }),
      clusters: clustersOf("a:400c b:390 c:380 d:380 e"),
      nowMs: now,
    });
    expect(status.selectedClusters).toEqual(["e"]);
  });

  it("does not hold what a user asks for: a taint, another selector", () => {
    const clusters = clustersOf(failed).map((cluster) => ({
      ...cluster,
      taints:
        cluster.name === "a"
          ? [{ key: "k", value: "", effect: "NoExecute" as const, addedMs: now - 1000 }]
          : cluster.taints,
    }));
    const tainted = decidePlacement({ placement: aPlacement({}, { selected: ["a"] }), clusters, nowMs: now });
    expect(tainted.status.selectedClusters).toEqual(["d"]);
    const renamed = aPlacement({ clusterNames: ["d"] }, { selected: ["a"] });
    const { status } = decidePlacement({ placement: renamed, clusters: clustersOf(failed), nowMs: now });
    expect(status.selectedClusters).toEqual(["d"]);
  });

  it("records one Event, when the hold begins", () => {
    const before = { selectedClusters: ["a"] };
    const decide = (status: object) =>
      decidePlacement({ placement: aPlacement({}, { status }), clusters: clustersOf(failed), nowMs: now }).status;
    const first = decide(before);
    expect(evictionsHeldEvent(before, first)).toMatchObject({ type: "Warning", reason: "MassFailureSuspected" });
    expect(evictionsHeldEvent(first, decide(first))).toBeUndefined();
  });
});
