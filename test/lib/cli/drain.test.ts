import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import { progress } from "../../../lib/cli/cluster-drain.ts";
import { type DrainFacts, type Leftover, leftOn } from "../../../lib/cli/drain-view.ts";
import { cordoned, drained, type Scheduling, uncordoned } from "../../../lib/cli/scheduling.ts";
import { resourceTypes } from "../../../lib/cli/workspace.ts";
import { aDeployment, deployments, type PlacedWorkspace, startPlacedWorkspace } from "./placed.ts";

const nowMs = Date.parse("2026-01-01T00:00:00.500Z");
const theirs = { key: "upgrade", value: "soon", effect: "NoSchedule" } as const;
const ours = { key: "tmc.kcp.io/drain", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" } as const;
const earlier = { ...ours, timeAdded: "2025-01-01T00:00:00Z" };

describe("whether work may come to a cluster and stay", () => {
  type Spec = ClusterRegistration["spec"];
  const rows: Record<string, readonly [change: (spec: Spec) => Scheduling, before: Partial<Spec>, after: Scheduling]> =
    {
      "a cordon lets nothing new in": [cordoned, {}, { unschedulable: true }],
      "a cordon leaves taints": [cordoned, { taints: [theirs] }, { unschedulable: true, taints: [theirs] }],
      "a drain cordons and taints": [(spec) => drained(spec, nowMs), {}, { unschedulable: true, taints: [ours] }],
      "a drain leaves the taints of others": [
        (spec) => drained(spec, nowMs),
        { taints: [theirs] },
        { unschedulable: true, taints: [theirs, ours] },
      ],
      "a second drain keeps the time of the first": [
        (spec) => drained(spec, nowMs),
        { unschedulable: true, taints: [earlier] },
        { unschedulable: true, taints: [earlier] },
      ],
      "a drain cordons again what was let in meanwhile": [
        (spec) => drained(spec, nowMs),
        { taints: [earlier] },
        { unschedulable: true, taints: [earlier] },
      ],
      "a drain that was written as a softer taint becomes one": [
        (spec) => drained(spec, nowMs),
        { taints: [{ key: "tmc.kcp.io/drain", effect: "NoSchedule" }] },
        { unschedulable: true, taints: [ours] },
      ],
      "to uncordon ends both, and leaves the taints of others": [
        uncordoned,
        { unschedulable: true, taints: [earlier, theirs] },
        { taints: [theirs] },
      ],
      "to uncordon leaves nothing behind": [uncordoned, { unschedulable: true, taints: [ours] }, {}],
    };
  it.each(Object.entries(rows))("%s", (_, [change, before, after]) => {
    expect(change({ location: "here", ...before })).toEqual(after);
  });
});

const workload = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
const aPlacement = (
  name: string,
  selectedClusters: readonly string[],
  rest: Partial<WorkloadPlacement> = {},
): WorkloadPlacement => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadPlacement",
  metadata: { name },
  spec: {},
  status: { selectedClusters },
  ...rest,
});
type Copy = NonNullable<NonNullable<DrainFacts["records"][number]["status"]>["clusters"]>[number];
const recordOf = (placement: string, ...clusters: readonly Copy[]) => ({
  metadata: { name: "r", namespace: "shop" },
  spec: { workload, placement, clusters: clusters.map(({ name }) => name) },
  status: { clusters },
});
const east = (reason: string, message = ""): Copy => ({ name: "east", state: "Evicting", reason, message });
const tolerating = (seconds?: number) => ({
  spec: {
    tolerations: [
      {
        key: "tmc.kcp.io/drain",
        operator: "Exists" as const,
        ...(seconds === undefined ? {} : { tolerationSeconds: seconds }),
      },
    ],
  },
});

describe("what a cluster that is drained still has", () => {
  const west = [aPlacement("shop", ["west"])];
  const rows: Record<string, readonly [Omit<DrainFacts, "cluster">, readonly Omit<Leftover, "what">[]]> = {
    "is nothing when no record names it": [
      { records: [recordOf("shop", { name: "west", state: "Ready" })], placements: west },
      [],
    ],
    "is a copy that waits, and says for what": [
      {
        records: [
          recordOf("shop", east("WaitingForReplacement"), {
            name: "west",
            state: "Applied",
            reason: "Progressing",
            message: "1 of 3 replicas are ready",
          }),
        ],
        placements: west,
      },
      [{ stays: false, why: "it goes when it is ready on west (1 of 3 replicas are ready)" }],
    ],
    "is a copy that is going": [
      { records: [recordOf("shop", east("Terminating"))], placements: west },
      [{ stays: false, why: "the cluster is removing it" }],
    ],
    "is a copy that the cluster does not let go, in its words": [
      { records: [recordOf("shop", east("Rejected", 'admission webhook "budget" denied it'))], placements: west },
      [{ stays: false, why: 'admission webhook "budget" denied it' }],
    ],
    "is the last copy, for which nothing else fits": [
      { records: [recordOf("shop", east("LastCopy"))], placements: [aPlacement("shop", [])] },
      [{ stays: true, why: "no other cluster fits" }],
    ],
    "is a copy that was held back before, which a drain lets go": [
      { records: [recordOf("gone", east("DeletionsHeld"))], placements: [] },
      [{ stays: false, why: "it was held back, and may go now that the cluster is drained" }],
    ],
    "is a copy whose workload vanished": [
      { records: [recordOf("gone", east("WorkloadVanished"))], placements: [] },
      [{ stays: true, why: "its workload is not in its workspace any more: tmc confirm" }],
    ],
    "is a copy whose owner has paused sync": [
      { records: [recordOf("shop", east("SyncPaused"))], placements: west },
      [{ stays: true, why: "its owner has paused sync" }],
    ],
    "is whatever a cluster has that is not heard from": [
      { records: [recordOf("shop", east("ClusterNotReady"))], placements: west },
      [{ stays: true, why: "the cluster is not heard from" }],
    ],
    "is a copy whose placement has not decided yet": [
      { records: [recordOf("shop", east("Ready"))], placements: [aPlacement("shop", ["east"])] },
      [{ stays: false, why: "placement shop has not left the cluster yet" }],
    ],
    "is a copy whose placement tolerates the drain": [
      { records: [recordOf("shop", east("Ready"))], placements: [aPlacement("shop", ["east"], tolerating())] },
      [{ stays: true, why: "placement shop tolerates the drain" }],
    ],
    "is a copy whose placement tolerates the drain for a while": [
      { records: [recordOf("shop", east("Ready"))], placements: [aPlacement("shop", ["east"], tolerating(90))] },
      [{ stays: false, why: "placement shop tolerates the drain for 90s" }],
    ],
    "is a placement without work that still chooses it": [
      { records: [], placements: [aPlacement("idle", ["east"])] },
      [{ stays: false, why: "placement idle has not left the cluster yet" }],
    ],
    "is a copy that nobody has looked at": [
      {
        records: [{ metadata: { namespace: "shop" }, spec: { workload, placement: "shop", clusters: ["east"] } }],
        placements: west,
      },
      [{ stays: false, why: "nobody has looked at it yet" }],
    ],
  };
  it.each(Object.entries(rows))("%s", (_, [facts, left]) => {
    expect(leftOn({ cluster: "east", ...facts }).map(({ stays, why }) => ({ stays, why }))).toEqual(left);
  });
});

it("progress tells each thing once", () => {
  const told = new Map<string, string>();
  const web = { what: "shop deployment.apps/web", stays: false, why: "the cluster is removing it" };
  const api = { what: "shop deployment.apps/api", stays: true, why: "no other cluster fits" };
  expect(progress(told, [api, web])).toEqual([
    "  shop deployment.apps/api stays: no other cluster fits",
    "  shop deployment.apps/web waits: the cluster is removing it",
    "2 left",
  ]);
  expect(progress(told, [api, web])).toEqual([]);
  expect(progress(told, [api])).toEqual(["  shop deployment.apps/web has left", "1 left"]);
  expect(progress(told, [])).toEqual(["  shop deployment.apps/api has left"]);
});

describe("tmc cluster cordon, drain and uncordon", () => {
  let workspace: PlacedWorkspace;
  beforeAll(async () => {
    workspace = await startPlacedWorkspace();
    const { client, create, recorded, select } = workspace;
    await client.create(
      { type: resourceTypes.placements },
      {
        apiVersion: "tmc.kcp.io/v1alpha1",
        kind: "WorkloadPlacement",
        metadata: { name: "shop" },
        spec: { workloadSelector: {} },
      },
    );
    await select("shop", "east");
    await recorded(deployments, await create(deployments, aDeployment("web", 3)), {
      copies: [{ name: "east", state: "Ready", desired: 3, ready: 3 }],
      conditions: [{ type: "Ready", status: "True", reason: "Ready", message: "ready on 1 of 1 clusters" }],
    });
  });
  afterAll(() => workspace.stop());

  const id = "clusterregistration.tmc.kcp.io/east";
  const specOf = async (): Promise<ClusterRegistration["spec"]> =>
    (await workspace.client.get<ClusterRegistration>({ type: resourceTypes.clusters, name: "east" })).spec;

  it("cordon and uncordon say what they did, and what was so already", async () => {
    const { run } = workspace;
    expect(await run("cluster cordon east")).toEqual({ code: 0, out: `${id} cordoned\n`, err: "" });
    expect(await specOf()).toMatchObject({ unschedulable: true });
    expect((await run("cluster list")).out).toContain("Ready,SchedulingDisabled");
    expect((await run("cluster cordon east")).out).toBe(`${id} is cordoned already\n`);
    expect((await run("cluster uncordon east")).out).toBe(`${id} uncordoned\n`);
    expect((await run("cluster uncordon east")).out).toBe(`${id} is uncordoned already\n`);
    expect(await specOf()).not.toHaveProperty("unschedulable");
  });

  it.each(["cordon", "uncordon", "drain"])("%s of a cluster that is not there names those that are", async (word) => {
    expect(await workspace.run(`cluster ${word} est`)).toEqual({
      code: 1,
      out: "",
      err: 'tmc: cluster "est": is not registered; there are east, west\n',
    });
  });

  it("drain only begins when nobody waits, and says to programs what is left", async () => {
    const { run } = workspace;
    expect(await run("cluster drain east --no-wait")).toEqual({ code: 0, out: `${id} is being drained\n`, err: "" });
    const { code, out, err } = await run("cluster drain east --no-wait -o json");
    expect({ code, err }).toEqual({ code: 0, err: `${id} is being drained already\n` });
    expect(JSON.parse(out)).toEqual({
      cluster: "east",
      drained: false,
      left: [{ what: "shop deployment.apps/web", stays: false, why: "placement shop has not left the cluster yet" }],
    });
    expect(await specOf()).toMatchObject({ unschedulable: true, taints: [{ key: "tmc.kcp.io/drain" }] });
  });

  it("drain tells how it goes on, and ends when nothing is left", async () => {
    const { runUntil, becomes, select } = workspace;
    await select("shop", "west");
    await becomes(deployments, "web", [
      { name: "east", state: "Evicting", reason: "WaitingForReplacement" },
      { name: "west", state: "Applied", reason: "Progressing", message: "0 of 3 replicas are ready" },
    ]);
    const ended = await runUntil("cluster drain east --wait", "1 left", () =>
      becomes(deployments, "web", [{ name: "west", state: "Ready" }]),
    );
    expect(ended).toEqual({
      code: 0,
      out: `${id} is being drained already
  shop deployment.apps/web waits: it goes when it is ready on west (0 of 3 replicas are ready)
1 left
  shop deployment.apps/web has left
${id} drained
`,
      err: "",
    });
  });

  it("drain ends when its time is over, or what is left cannot leave, and says how to take it back", async () => {
    const { run, runUntil, becomes, select, clock } = workspace;
    await select("shop");
    await becomes(deployments, "web", [{ name: "east", state: "Ready", reason: "LastCopy" }]);
    const stuck = await runUntil("cluster drain east", "1 left", async () => {
      clock.shown += 6_000;
    });
    expect(stuck).toMatchObject({
      code: 1,
      err: "tmc: cluster east: 1 is left that cannot leave; it goes on being drained, tmc cluster uncordon east takes it back\n",
    });
    await becomes(deployments, "web", [{ name: "east", state: "Evicting", reason: "Terminating" }]);
    const late = await runUntil("cluster drain east --timeout 5s -o json", "1 left", async () => {
      clock.shown += 6_000;
    });
    expect(late).toMatchObject({
      code: 1,
      err: expect.stringContaining("cluster east: the time is over, 1 is left; it goes on being drained"),
    });
    expect(JSON.parse(late.out)).toMatchObject({ drained: false });
    const interrupted = await run("cluster drain east", { interrupted: Promise.resolve() });
    expect(interrupted).toMatchObject({ code: 130, err: expect.stringContaining("nobody waits any more, 1 is left") });
    expect((await run("cluster uncordon east")).out).toBe(`${id} uncordoned\n`);
    expect(await specOf()).not.toHaveProperty("taints");
  });
});
