import { describe, expect, it } from "vitest";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { decide } from "../../../lib/placement/decide.ts";
import type { PlacementStatus } from "../../../lib/placement/explain.ts";
import { type ClusterFacts, clusterFacts } from "../../../lib/placement/observed.ts";
import { aPlacement, aRegistration, decisionFor, now } from "./builders.ts";

type Wish = NonNullable<Parameters<typeof aRegistration>[1]>;

/** Clusters and a placement over time: every second in which the placement asked to be looked at, it is. */
class Story {
  spec: WorkloadPlacement["spec"];
  status: PlacementStatus | undefined;
  atMs = now;
  readonly #clusters = new Map<string, Wish>();
  #dueMs = Number.POSITIVE_INFINITY;
  /** Where the placement was, each time that changed: `a`, then `300 b`, and so on. */
  readonly moves: string[] = [];

  constructor(spec: WorkloadPlacement["spec"], ...names: readonly string[]) {
    this.spec = spec;
    for (const name of names) this.#clusters.set(name, {});
    this.look();
  }

  /** Changes a cluster now; undefined takes it away. */
  set(name: string, wish: Wish | undefined): this {
    const since = new Date(this.atMs).toISOString();
    if (wish === undefined) this.#clusters.delete(name);
    else this.#clusters.set(name, { since, ...wish });
    return this.look();
  }
  down(name: string): this {
    return this.set(name, { ready: "False" });
  }
  up(name: string): this {
    return this.set(name, {});
  }
  /** Changes a cluster when nobody looks. */
  unseen(name: string, wish: Wish): this {
    this.#clusters.set(name, { since: new Date(this.atMs).toISOString(), ...wish });
    return this;
  }
  pass(seconds: number): this {
    const endMs = this.atMs + seconds * 1000;
    while (this.#dueMs <= endMs) {
      this.atMs = this.#dueMs;
      this.look();
    }
    this.atMs = endMs;
    return this;
  }
  look(): this {
    const clusters = [...this.#clusters].map(([name, wish]): ClusterFacts => clusterFacts(aRegistration(name, wish)));
    const placement = aPlacement(this.spec, this.status === undefined ? {} : { status: this.status });
    const { status, next } = decide({ placement, clusters, nowMs: this.atMs });
    const [before, after] = [this.status?.selectedClusters?.join(), status.selectedClusters?.join()];
    if (before !== after) this.moves.push(`${(this.atMs - now) / 1000} ${after === "" ? "nowhere" : after}`);
    this.status = status;
    this.#dueMs = next.kind === "requeue" ? this.atMs + next.afterSeconds * 1000 : Number.POSITIVE_INFINITY;
    return this;
  }
  get homes(): string[] {
    return (this.status?.failback ?? []).map(({ cluster, standIn }) => `${cluster}<${standIn ?? ""}`);
  }
}

const back = { failback: { afterSeconds: 240 } };
const quick = { tolerations: [{ key: "tmc.kcp.io/not-ready", operator: "Exists" as const, tolerationSeconds: 60 }] };
const tainted = (effect: "NoSchedule" | "NoExecute"): Wish => ({
  spec: { taints: [{ key: "k", effect, timeAdded: "2030-01-01T00:00:00Z" }] },
});

describe("failback", () => {
  const stories: Record<string, readonly [spec: WorkloadPlacement["spec"], tell: (story: Story) => void, string[]]> = {
    "never happens when nobody asks for it": [
      quick,
      (story) => story.down("a").pass(100).up("a").pass(9_000),
      ["0 a", "60 b"],
    ],
    "happens when the cluster has fitted for as long as was asked, to the second": [
      { ...quick, ...back },
      (story) => story.down("a").pass(100).up("a").pass(9_000),
      ["0 a", "60 b", "340 a"],
    ],
    "begins to count anew when the cluster was lost for a moment": [
      { ...quick, ...back },
      (story) => story.down("a").pass(100).up("a").pass(200).down("a").pass(1).up("a").pass(9_000),
      ["0 a", "60 b", "541 a"],
    ],
    "begins to count anew even when nobody saw that moment": [
      { ...quick, ...back },
      (story) => {
        story.down("a").pass(100).up("a").pass(200);
        story.unseen("a", { ready: "False" }).unseen("a", {}).pass(9_000);
      },
      ["0 a", "60 b", "540 a"],
    ],
    "never happens to a cluster that comes and goes": [
      { ...quick, ...back },
      (story) => {
        story.down("a").pass(100);
        for (let round = 0; round < 50; round += 1) story.up("a").pass(200).down("a").pass(30);
      },
      ["0 a", "60 b"],
    ],
    "waits for a cluster that is cordoned": [
      { ...quick, ...back },
      (story) =>
        story
          .down("a")
          .pass(100)
          .set("a", { spec: { unschedulable: true } })
          .pass(1_000)
          .up("a")
          .pass(9_000),
      ["0 a", "60 b", "1340 a"],
    ],
    "waits for a cluster that is tainted": [
      { ...quick, ...back },
      (story) => story.down("a").pass(100).set("a", tainted("NoSchedule")).pass(1_000).up("a").pass(9_000),
      ["0 a", "60 b", "1340 a"],
    ],
    "follows a drain as well": [
      back,
      (story) => story.set("a", tainted("NoExecute")).pass(100).up("a").pass(9_000),
      ["0 a", "0 b", "340 a"],
    ],
    "forgets a cluster that was unregistered, also when another of its name comes": [
      { ...quick, ...back },
      (story) => story.down("a").pass(100).set("a", undefined).pass(10).up("a").pass(9_000),
      ["0 a", "60 b"],
    ],
    "forgets a cluster that is being unregistered": [
      { ...quick, ...back },
      (story) => story.down("a").pass(100).set("a", { deleting: true }).pass(1_000),
      ["0 a", "60 b"],
    ],
    "forgets a cluster that the placement no longer wants": [
      { ...quick, ...back },
      (story) => {
        story.down("a").pass(100);
        story.spec = { ...story.spec, clusterNames: ["b", "c"] };
        story.look();
        story.spec = { ...quick, ...back };
        story.up("a").pass(9_000);
      },
      ["0 a", "60 b"],
    ],
    "is forgotten when nobody asks for it any more, also when somebody does again": [
      { ...quick, ...back },
      (story) => {
        story.down("a").pass(100).up("a").pass(100);
        story.spec = quick;
        story.look();
        story.spec = { ...quick, ...back };
        story.look().pass(9_000);
      },
      ["0 a", "60 b"],
    ],
    "goes home, not to where it had only fled": [
      { ...quick, ...back },
      (story) => {
        story.down("a").pass(100).down("b").pass(100); // to c
        story.up("b").pass(1_000).up("a").pass(9_000);
      },
      ["0 a", "60 b", "160 c", "1440 a"],
    ],
    "goes home at once when the stand-in is lost and home fits": [
      { ...quick, ...back },
      (story) => story.down("a").pass(100).up("a").pass(10).down("b").pass(60).pass(9_000),
      ["0 a", "60 b", "170 a"],
    ],
    "goes home at once when both were lost and home is first back": [
      { ...quick, ...back, clusterNames: ["a", "b"] },
      (story) => story.down("a").pass(100).down("b").pass(100).up("a").pass(9_000),
      ["0 a", "60 b", "160 nowhere", "200 a"],
    ],
    "takes what is back first when both were lost, and goes home later": [
      { ...quick, ...back, clusterNames: ["a", "b"] },
      (story) => story.down("a").pass(100).down("b").pass(100).up("b").pass(100).up("a").pass(9_000),
      ["0 a", "60 b", "160 nowhere", "200 b", "540 a"],
    ],
    "leaves those alone who were there before": [
      { ...quick, ...back, strategy: "Spread", numberOfClusters: 2 },
      (story) => story.down("a").pass(100).up("a").pass(9_000),
      ["0 a,b", "60 b,c", "340 a,b"],
    ],
    "brings several home, each at its time": [
      { ...quick, ...back, strategy: "Spread", numberOfClusters: 2 },
      (story) => story.down("a").down("b").pass(100).up("b").pass(50).up("a").pass(9_000),
      ["0 a,b", "60 c,d", "340 b,c", "390 a,b"],
    ],
    "has no meaning where every cluster that fits is chosen": [
      { ...quick, ...back, strategy: "Spread" },
      (story) => story.down("a").pass(100).up("a").pass(9_000),
      ["0 a,b,c,d", "60 b,c,d", "100 a,b,c,d"],
    ],
    "stays away when fewer clusters are wanted by then": [
      { ...quick, ...back, strategy: "Spread", numberOfClusters: 2 },
      (story) => {
        story.down("a").pass(100); // b and c
        story.spec = { ...story.spec, numberOfClusters: 1 };
        story.up("a").pass(9_000);
      },
      ["0 a,b", "60 b,c", "100 b"],
    ],
    "goes to a cluster that is liked better, once it has fitted long enough": [
      { ...quick, ...back, preferredClusters: ["b"] },
      (story) => {
        story.down("b").pass(400).up("b").pass(9_000);
      },
      ["0 b", "60 a", "640 b"],
    ],
    "goes to a cluster that is liked better and was never there": [
      { ...back, preferredClusters: ["e"] },
      (story) => story.pass(100).up("e").pass(9_000),
      ["0 a", "340 e"],
    ],
    "does not return to a cluster that is liked less": [
      { ...quick, ...back, strategy: "Affinity", preferredClusters: ["e"] },
      (story) => story.up("e").down("a").pass(100).up("a").pass(9_000),
      ["0 a", "60 e"],
    ],
  };
  it.each(Object.entries(stories))("%s", (_, [spec, tell, moves]) => {
    const story = new Story(spec, "a", "b", "c", "d");
    tell(story);
    expect(story.moves).toEqual(moves);
  });

  it("says why it left, what stands in, and when it returns; the words stay the same while it waits", () => {
    const story = new Story({ ...quick, ...back }, "a", "b").down("a").pass(60);
    expect(story.status?.failback).toEqual([
      { cluster: "a", reason: "NotReady", since: "2030-01-01T12:01:00Z", standIn: "b" },
    ]);
    story.pass(40).up("a");
    const said = story.status;
    expect(said?.failback?.[0]).toMatchObject({ standIn: "b", fittingSince: "2030-01-01T12:01:40Z" });
    expect(decisionFor(said ?? {}, "a")).toMatchObject({ reason: "FailingBack", until: "2030-01-01T12:05:40Z" });
    for (let at = 0; at < 200; at += 40) expect(story.pass(40).look().status).toEqual(said);
    expect(story.pass(40).status?.failback).toBeUndefined();
  });

  it("does not return where that would be more uneven than is allowed, and says so", () => {
    const spreadConstraints = [{ topologyKey: "zone", maxSkew: 1 }];
    const zone = (value: string): Wish => ({ labels: { zone: value } });
    const story = new Story({ ...quick, ...back, strategy: "Spread", numberOfClusters: 2, spreadConstraints });
    story.set("a", zone("1")).set("b", zone("2")).set("c", zone("1"));
    expect(story.status?.selectedClusters).toEqual(["a", "b"]);
    story.set("a", { ...zone("1"), ready: "False" }).pass(100);
    expect(story.status?.selectedClusters).toEqual(["b", "c"]);
    story.set("a", zone("2")).pass(9_000);
    expect(story.status?.selectedClusters).toEqual(["b", "c"]);
    expect(decisionFor(story.status ?? {}, "a")).toMatchObject({ reason: "SkewTooLarge" });
    story.set("a", zone("1")).pass(240);
    expect(story.status?.selectedClusters).toEqual(["a", "b"]);
    expect(story.homes).toEqual([]);
  });

  it("keeps what it remembers while the placement cannot be read", () => {
    const story = new Story({ ...quick, ...back }, "a", "b").down("a").pass(100);
    const remembered = story.status?.failback;
    story.spec = { ...story.spec, resources: { cpu: "much" } };
    expect(story.look().status?.failback).toEqual(remembered);
  });
});

describe("the clusters that a placement has left by itself", () => {
  const left = ({ status }: Story) =>
    (status?.evictedClusters ?? []).map(({ cluster, reason }) => `${cluster} ${reason}`);

  it("are those that were lost, until they are chosen again", () => {
    const story = new Story({ ...quick, ...back }, "a", "b").down("a").pass(100);
    expect(story.status?.evictedClusters).toEqual([{ cluster: "a", reason: "NotReady", at: "2030-01-01T12:01:00Z" }]);
    story.up("a").pass(1_000);
    expect(left(story)).toEqual(["b Returned"]);
  });

  it("are those that somebody tainted", () => {
    const story = new Story({}, "a", "b").set("a", tainted("NoExecute"));
    expect(left(story)).toEqual(["a UntoleratedTaint"]);
  });

  it("are none that the placement was changed to leave", () => {
    const story = new Story({}, "a", "b");
    story.spec = { clusterNames: ["b"] };
    expect(left(story.look())).toEqual([]);
    expect(story.status?.selectedClusters).toEqual(["b"]);
  });

  it("are none when fewer are wanted", () => {
    const story = new Story({ strategy: "Spread", numberOfClusters: 2 }, "a", "b");
    story.spec = { strategy: "Spread", numberOfClusters: 1 };
    expect(left(story.look())).toEqual([]);
  });

  it("are forgotten with their registration", () => {
    const story = new Story({}, "a", "b").set("a", tainted("NoExecute")).set("a", undefined);
    expect(story.status?.evictedClusters).toBeUndefined();
  });

  it("are no more than a status has room for: the last ones", () => {
    const names = Array.from({ length: 40 }, (_, at) => `c${String(at).padStart(2, "0")}`);
    const story = new Story({ ...quick, strategy: "Spread" }, "z", ...names);
    for (const name of names) story.down(name).pass(61);
    expect(left(story)).toEqual(names.slice(-16).map((name) => `${name} NotReady`));
  });
});
