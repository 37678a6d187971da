import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { decidePlacement } from "../../../lib/placement/decide.ts";
import type { PlacementStatus } from "../../../lib/placement/explain.ts";
import { type ClusterFacts, clusterFacts } from "../../../lib/placement/observed.ts";
import { aPlacement, aRegistration, decisionFor, now } from "../../support/placement-builders.ts";

type ClusterOptions = NonNullable<Parameters<typeof aRegistration>[1]>;

/** Simulates a placement and its clusters over time; every requeue of the placement is executed. */
class Scenario {
  spec: WorkloadPlacement["spec"];
  status: PlacementStatus | undefined;
  atMs = now;
  readonly #clusters = new Map<string, ClusterOptions>();
  #dueMs = Number.POSITIVE_INFINITY;
  /** Each change of the selected clusters with its second: `0 a`, `300 b`. */
  readonly moves: string[] = [];

  constructor(spec: WorkloadPlacement["spec"], ...names: readonly string[]) {
    this.spec = spec;
    for (const name of names) this.#clusters.set(name, {});
    this.reconcile();
  }

  /** Changes a cluster and reconciles; undefined removes the cluster. */
  set(name: string, options: ClusterOptions | undefined): this {
    const since = new Date(this.atMs).toISOString();
    if (options === undefined) this.#clusters.delete(name);
    else this.#clusters.set(name, { since, ...options });
    return this.reconcile();
  }
  down(name: string): this {
    return this.set(name, { ready: "False" });
  }
  up(name: string): this {
    return this.set(name, {});
  }
  /** Changes a cluster without a reconcile. */
  setUnobserved(name: string, options: ClusterOptions): this {
    this.#clusters.set(name, { since: new Date(this.atMs).toISOString(), ...options });
    return this;
  }
  pass(seconds: number): this {
    const endMs = this.atMs + seconds * 1000;
    while (this.#dueMs <= endMs) {
      this.atMs = this.#dueMs;
      this.reconcile();
    }
    this.atMs = endMs;
    return this;
  }
  /** Sets the clock back; the requeue of the placement stays due after the same time. */
  setBack(seconds: number): this {
    this.atMs -= seconds * 1000;
    this.#dueMs -= seconds * 1000;
    return this.reconcile();
  }
  reconcile(): this {
    const clusters = [...this.#clusters].map(
      ([name, options]): ClusterFacts => clusterFacts(aRegistration(name, options)),
    );
    const placement = aPlacement(this.spec, this.status === undefined ? {} : { status: this.status });
    const { status, next } = decidePlacement({ placement, clusters, nowMs: this.atMs });
    const [before, after] = [this.status?.selectedClusters?.join(), status.selectedClusters?.join()];
    if (before !== after) this.moves.push(`${(this.atMs - now) / 1000} ${after === "" ? "none" : after}`);
    this.status = status;
    this.#dueMs = next.kind === "requeue" ? this.atMs + next.afterSeconds * 1000 : Number.POSITIVE_INFINITY;
    return this;
  }
  get failbackTargets(): string[] {
    return (this.status?.failback ?? []).map(({ cluster, standIn }) => `${cluster}<${standIn ?? ""}`);
  }
}

const failback = { failback: { afterSeconds: 240 } };
const tolerates60s = {
  tolerations: [{ key: "tmc.kcp.io/not-ready", operator: "Exists" as const, tolerationSeconds: 60 }],
};
const tainted = (effect: "NoSchedule" | "NoExecute"): ClusterOptions => ({
  spec: { taints: [{ key: "k", effect, timeAdded: "2030-01-01T00:00:00Z" }] },
});

describe("failback", () => {
  const scenarios: Record<
    string,
    readonly [spec: WorkloadPlacement["spec"], run: (scenario: Scenario) => void, moves: string[]]
  > = {
    "does not fail back without spec.failback": [
      tolerates60s,
      (scenario) => scenario.down("a").pass(100).up("a").pass(9_000),
      ["0 a", "60 b"],
    ],
    "fails back exactly when the cluster has fit for afterSeconds": [
      { ...tolerates60s, ...failback },
      (scenario) => scenario.down("a").pass(100).up("a").pass(9_000),
      ["0 a", "60 b", "340 a"],
    ],
    "restarts the waiting time when the failback target is not Ready for a second": [
      { ...tolerates60s, ...failback },
      (scenario) => scenario.down("a").pass(100).up("a").pass(200).down("a").pass(1).up("a").pass(9_000),
      ["0 a", "60 b", "541 a"],
    ],
    "restarts the waiting time even if no reconcile observed that the target was not Ready": [
      { ...tolerates60s, ...failback },
      (scenario) => {
        scenario.down("a").pass(100).up("a").pass(200);
        scenario.setUnobserved("a", { ready: "False" }).setUnobserved("a", {}).pass(9_000);
      },
      ["0 a", "60 b", "540 a"],
    ],
    "fails back afterSeconds after the clock was set back during the waiting time": [
      { ...tolerates60s, ...failback },
      (scenario) => scenario.down("a").pass(100).up("a").pass(100).setBack(7_200).pass(9_000),
      ["0 a", "60 b", "-6760 a"],
    ],
    "leaves a cluster no later than the tolerated time after the clock was set back": [
      tolerates60s,
      (scenario) => scenario.down("a").pass(30).setBack(7_200).pass(9_000),
      ["0 a", "-7110 b"],
    ],
    "leaves a tainted cluster no later than the tolerated time if the taint was added in the future": [
      { tolerations: [{ key: "k", operator: "Exists" as const, tolerationSeconds: 60 }] },
      (scenario) =>
        scenario
          .set("a", { spec: { taints: [{ key: "k", effect: "NoExecute", timeAdded: "2040-01-01T00:00:00Z" }] } })
          .pass(9_000),
      ["0 a", "60 b"],
    ],
    "does not fail back to a flapping cluster": [
      { ...tolerates60s, ...failback },
      (scenario) => {
        scenario.down("a").pass(100);
        for (let round = 0; round < 50; round += 1) scenario.up("a").pass(200).down("a").pass(30);
      },
      ["0 a", "60 b"],
    ],
    "does not fail back to a cluster while it is cordoned": [
      { ...tolerates60s, ...failback },
      (scenario) =>
        scenario
          .down("a")
          .pass(100)
          .set("a", { spec: { unschedulable: true } })
          .pass(1_000)
          .up("a")
          .pass(9_000),
      ["0 a", "60 b", "1340 a"],
    ],
    "does not fail back to a cluster while it is tainted": [
      { ...tolerates60s, ...failback },
      (scenario) => scenario.down("a").pass(100).set("a", tainted("NoSchedule")).pass(1_000).up("a").pass(9_000),
      ["0 a", "60 b", "1340 a"],
    ],
    "fails back after a drain with a NoExecute taint": [
      failback,
      (scenario) => scenario.set("a", tainted("NoExecute")).pass(100).up("a").pass(9_000),
      ["0 a", "0 b", "340 a"],
    ],
    "drops a failback target that was unregistered, also if another cluster gets its name": [
      { ...tolerates60s, ...failback },
      (scenario) => scenario.down("a").pass(100).set("a", undefined).pass(10).up("a").pass(9_000),
      ["0 a", "60 b"],
    ],
    "drops a failback target whose registration is being deleted": [
      { ...tolerates60s, ...failback },
      (scenario) => scenario.down("a").pass(100).set("a", { deleting: true }).pass(1_000),
      ["0 a", "60 b"],
    ],
    "drops a failback target that the spec excludes, also if a later spec includes it again": [
      { ...tolerates60s, ...failback },
      (scenario) => {
        scenario.down("a").pass(100);
        scenario.spec = { ...scenario.spec, clusterNames: ["b", "c"] };
        scenario.reconcile();
        scenario.spec = { ...tolerates60s, ...failback };
        scenario.up("a").pass(9_000);
      },
      ["0 a", "60 b"],
    ],
    "drops the failback targets when spec.failback is removed, also if it is set again": [
      { ...tolerates60s, ...failback },
      (scenario) => {
        scenario.down("a").pass(100).up("a").pass(100);
        scenario.spec = tolerates60s;
        scenario.reconcile();
        scenario.spec = { ...tolerates60s, ...failback };
        scenario.reconcile().pass(9_000);
      },
      ["0 a", "60 b"],
    ],
    "fails back to the original cluster, not to an earlier stand-in": [
      { ...tolerates60s, ...failback },
      (scenario) => {
        scenario.down("a").pass(100).down("b").pass(100); // to c
        scenario.up("b").pass(1_000).up("a").pass(9_000);
      },
      ["0 a", "60 b", "160 c", "1440 a"],
    ],
    "fails back at once when the stand-in is lost and the target fits": [
      { ...tolerates60s, ...failback },
      (scenario) => scenario.down("a").pass(100).up("a").pass(10).down("b").pass(60).pass(9_000),
      ["0 a", "60 b", "170 a"],
    ],
    "fails back at once when target and stand-in were lost and the target recovers first": [
      { ...tolerates60s, ...failback, clusterNames: ["a", "b"] },
      (scenario) => scenario.down("a").pass(100).down("b").pass(100).up("a").pass(9_000),
      ["0 a", "60 b", "160 none", "200 a"],
    ],
    "selects the stand-in if it recovers first, and fails back to the target later": [
      { ...tolerates60s, ...failback, clusterNames: ["a", "b"] },
      (scenario) => scenario.down("a").pass(100).down("b").pass(100).up("b").pass(100).up("a").pass(9_000),
      ["0 a", "60 b", "160 none", "200 b", "540 a"],
    ],
    "replaces only the stand-in and keeps the other selected clusters": [
      { ...tolerates60s, ...failback, strategy: "Spread", numberOfClusters: 2 },
      (scenario) => scenario.down("a").pass(100).up("a").pass(9_000),
      ["0 a,b", "60 b,c", "340 a,b"],
    ],
    "fails back to several targets, each at its own time": [
      { ...tolerates60s, ...failback, strategy: "Spread", numberOfClusters: 2 },
      (scenario) => scenario.down("a").down("b").pass(100).up("b").pass(50).up("a").pass(9_000),
      ["0 a,b", "60 c,d", "340 b,c", "390 a,b"],
    ],
    "selects a recovered cluster at once if all clusters that fit are selected": [
      { ...tolerates60s, ...failback, strategy: "Spread" },
      (scenario) => scenario.down("a").pass(100).up("a").pass(9_000),
      ["0 a,b,c,d", "60 b,c,d", "100 a,b,c,d"],
    ],
    "does not fail back if fewer clusters are requested meanwhile": [
      { ...tolerates60s, ...failback, strategy: "Spread", numberOfClusters: 2 },
      (scenario) => {
        scenario.down("a").pass(100); // b and c
        scenario.spec = { ...scenario.spec, numberOfClusters: 1 };
        scenario.up("a").pass(9_000);
      },
      ["0 a,b", "60 b,c", "100 b"],
    ],
    "moves back to a preferred cluster when it has fit long enough": [
      { ...tolerates60s, ...failback, preferredClusters: ["b"] },
      (scenario) => {
        scenario.down("b").pass(400).up("b").pass(9_000);
      },
      ["0 b", "60 a", "640 b"],
    ],
    "moves to a preferred cluster that was never selected when it has fit long enough": [
      { ...failback, preferredClusters: ["e"] },
      (scenario) => scenario.pass(100).up("e").pass(9_000),
      ["0 a", "340 e"],
    ],
    "moves to a preferred cluster while it is on a stand-in for a cluster that does not come back": [
      { ...tolerates60s, ...failback, preferredClusters: ["e"] },
      (scenario) => scenario.down("a").pass(100).up("e").pass(9_000),
      ["0 a", "60 b", "340 e"],
    ],
    "moves once from a stand-in, to the preferred one of two clusters": [
      { ...tolerates60s, ...failback, preferredClusters: ["e"] },
      (scenario) => scenario.down("a").pass(100).up("e").up("a").pass(9_000),
      ["0 a", "60 b", "340 e"],
    ],
    "does not fail back to a cluster that is less preferred than the current one": [
      { ...tolerates60s, ...failback, strategy: "Affinity", preferredClusters: ["e"] },
      (scenario) => scenario.up("e").down("a").pass(100).up("a").pass(9_000),
      ["0 a", "60 e"],
    ],
  };
  it.each(Object.entries(scenarios))("%s", (_, [spec, run, moves]) => {
    const scenario = new Scenario(spec, "a", "b", "c", "d");
    run(scenario);
    expect(scenario.moves).toEqual(moves);
  });

  it("records reason, stand-in and due time of a failback, and does not change the status while it waits", () => {
    const scenario = new Scenario({ ...tolerates60s, ...failback }, "a", "b").down("a").pass(60);
    expect(scenario.status?.failback).toEqual([
      { cluster: "a", reason: "NotReady", since: "2030-01-01T12:01:00Z", standIn: "b" },
    ]);
    scenario.pass(40).up("a");
    const { status } = scenario;
    expect(status?.failback?.[0]).toMatchObject({ standIn: "b", fittingSince: "2030-01-01T12:01:40Z" });
    expect(decisionFor(status ?? {}, "a")).toMatchObject({ reason: "FailingBack", until: "2030-01-01T12:05:40Z" });
    for (let second = 0; second < 200; second += 40) expect(scenario.pass(40).reconcile().status).toEqual(status);
    expect(scenario.pass(40).status?.failback).toBeUndefined();
  });

  it("does not fail back if that would exceed a strict skew, and reports SkewTooLarge", () => {
    const spreadConstraints = [{ topologyKey: "zone", maxSkew: 1 }];
    const zone = (value: string): ClusterOptions => ({ labels: { zone: value } });
    const scenario = new Scenario({
      ...tolerates60s,
      ...failback,
      strategy: "Spread",
      numberOfClusters: 2,
      spreadConstraints,
    });
    scenario.set("a", zone("1")).set("b", zone("2")).set("c", zone("1"));
    expect(scenario.status?.selectedClusters).toEqual(["a", "b"]);
    scenario.set("a", { ...zone("1"), ready: "False" }).pass(100);
    expect(scenario.status?.selectedClusters).toEqual(["b", "c"]);
    scenario.set("a", zone("2")).pass(9_000);
    expect(scenario.status?.selectedClusters).toEqual(["b", "c"]);
    expect(decisionFor(scenario.status ?? {}, "a")).toMatchObject({ reason: "SkewTooLarge" });
    scenario.set("a", zone("1")).pass(240);
    expect(scenario.status?.selectedClusters).toEqual(["a", "b"]);
    expect(scenario.failbackTargets).toEqual([]);
  });

  it("keeps the failback targets while the spec is invalid", () => {
    const scenario = new Scenario({ ...tolerates60s, ...failback }, "a", "b").down("a").pass(100);
    const targets = scenario.status?.failback;
    scenario.spec = { ...scenario.spec, resources: { cpu: "much" } };
    expect(scenario.reconcile().status?.failback).toEqual(targets);
  });
});

describe("status.evictedClusters", () => {
  const evictions = ({ status }: Scenario) =>
    (status?.evictedClusters ?? []).map(({ cluster, reason }) => `${cluster} ${reason}`);

  it("lists clusters that lost Ready until they are selected again", () => {
    const scenario = new Scenario({ ...tolerates60s, ...failback }, "a", "b").down("a").pass(100);
    expect(scenario.status?.evictedClusters).toEqual([
      { cluster: "a", reason: "NotReady", at: "2030-01-01T12:01:00Z" },
    ]);
    scenario.up("a").pass(1_000);
    expect(evictions(scenario)).toEqual(["b Returned"]);
  });

  it("lists clusters that were tainted", () => {
    const scenario = new Scenario({}, "a", "b").set("a", tainted("NoExecute"));
    expect(evictions(scenario)).toEqual(["a UntoleratedTaint"]);
  });

  it("does not list clusters that a change of the spec excludes", () => {
    const scenario = new Scenario({}, "a", "b");
    scenario.spec = { clusterNames: ["b"] };
    expect(evictions(scenario.reconcile())).toEqual([]);
    expect(scenario.status?.selectedClusters).toEqual(["b"]);
  });

  it("does not list clusters that are dropped because fewer are requested", () => {
    const scenario = new Scenario({ strategy: "Spread", numberOfClusters: 2 }, "a", "b");
    scenario.spec = { strategy: "Spread", numberOfClusters: 1 };
    expect(evictions(scenario.reconcile())).toEqual([]);
  });

  it("removes evicted clusters that are no longer registered", () => {
    const scenario = new Scenario({}, "a", "b").set("a", tainted("NoExecute")).set("a", undefined);
    expect(scenario.status?.evictedClusters).toBeUndefined();
  });

  it("keeps the 16 latest evictions", () => {
    const names = Array.from({ length: 40 }, (_, index) => `c${String(index).padStart(2, "0")}`);
    const scenario = new Scenario({ ...tolerates60s, strategy: "Spread" }, "z", ...names);
    for (const name of names) scenario.down(name).pass(61);
    expect(evictions(scenario)).toEqual(names.slice(-16).map((name) => `${name} NotReady`));
  });
});
