import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../../../lib/api/workload-placement.ts";
import { progressLines } from "../../../../lib/cli/cluster/drain.ts";
import { type DrainInput, type RemainingWork, remainingOn } from "../../../../lib/cli/cluster/drain-view.ts";
import {
  cordonedScheduling,
  drainedScheduling,
  type Scheduling,
  uncordonedScheduling,
} from "../../../../lib/cli/cluster/scheduling.ts";
import { resourceTypes } from "../../../../lib/cli/workspace.ts";
import { aDeployment, deployments, type PlacedWorkspace, startPlacedWorkspace } from "../placed.ts";

const nowMs = Date.parse("2026-01-01T00:00:00.500Z");
const otherTaint = { key: "upgrade", value: "soon", effect: "NoSchedule" } as const;
const drainTaint = { key: "tmc.kcp.io/drain", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" } as const;
const earlier = { ...drainTaint, timeAdded: "2025-01-01T00:00:00Z" };

describe("scheduling of a cluster", () => {
  type Spec = ClusterRegistration["spec"];
  const rows: Record<string, readonly [change: (spec: Spec) => Scheduling, before: Partial<Spec>, after: Scheduling]> =
    {
      "cordon marks the cluster as unschedulable": [cordonedScheduling, {}, { unschedulable: true }],
      "cordon keeps taints": [
        cordonedScheduling,
        { taints: [otherTaint] },
        { unschedulable: true, taints: [otherTaint] },
      ],
      "drain marks the cluster as unschedulable and taints it": [
        (spec) => drainedScheduling(spec, nowMs),
        {},
        { unschedulable: true, taints: [drainTaint] },
      ],
      "drain keeps other taints": [
        (spec) => drainedScheduling(spec, nowMs),
        { taints: [otherTaint] },
        { unschedulable: true, taints: [otherTaint, drainTaint] },
      ],
      "a second drain keeps the time of the drain taint": [
        (spec) => drainedScheduling(spec, nowMs),
        { unschedulable: true, taints: [earlier] },
        { unschedulable: true, taints: [earlier] },
      ],
      "drain marks a tainted cluster as unschedulable again": [
        (spec) => drainedScheduling(spec, nowMs),
        { taints: [earlier] },
        { unschedulable: true, taints: [earlier] },
      ],
      "drain replaces a drain taint that has the effect NoSchedule": [
        (spec) => drainedScheduling(spec, nowMs),
        { taints: [{ key: "tmc.kcp.io/drain", effect: "NoSchedule" }] },
        { unschedulable: true, taints: [drainTaint] },
      ],
      "uncordon ends cordon and drain, and keeps other taints": [
        uncordonedScheduling,
        { unschedulable: true, taints: [earlier, otherTaint] },
        { taints: [otherTaint] },
      ],
      "uncordon leaves no empty fields": [uncordonedScheduling, { unschedulable: true, taints: [drainTaint] }, {}],
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
type Copy = NonNullable<NonNullable<DrainInput["syncRecords"][number]["status"]>["clusters"]>[number];
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

describe("remaining work on a cluster that is being drained", () => {
  const west = [aPlacement("shop", ["west"])];
  const rows: Record<string, readonly [Omit<DrainInput, "targetCluster">, readonly Omit<RemainingWork, "title">[]]> = {
    "is empty when no sync record contains the cluster": [
      { syncRecords: [recordOf("shop", { name: "west", state: "Ready" })], placements: west },
      [],
    ],
    "includes a copy that waits for its replacement, with the reason": [
      {
        syncRecords: [
          recordOf("shop", east("WaitingForReplacement"), {
            name: "west",
            state: "Applied",
            reason: "Progressing",
            message: "1 of 3 replicas are ready",
          }),
        ],
        placements: west,
      },
      [{ isBlocked: false, message: "it is evicted when it is ready on west (1 of 3 replicas are ready)" }],
    ],
    "includes a copy that the cluster is deleting": [
      { syncRecords: [recordOf("shop", east("Terminating"))], placements: west },
      [{ isBlocked: false, message: "the cluster is deleting it" }],
    ],
    "includes a copy whose deletion the cluster rejects, with the message of the cluster": [
      { syncRecords: [recordOf("shop", east("Rejected", 'admission webhook "budget" denied it'))], placements: west },
      [{ isBlocked: false, message: 'admission webhook "budget" denied it' }],
    ],
    "includes the last copy of a workload that fits no other cluster, as blocked": [
      { syncRecords: [recordOf("shop", east("LastCopy"))], placements: [aPlacement("shop", [])] },
      [{ isBlocked: true, message: "no other cluster fits" }],
    ],
    "includes a copy that stays with its volumes, as blocked": [
      { syncRecords: [recordOf("shop", east("VolumeNotMovable"))], placements: west },
      [
        {
          isBlocked: true,
          message: "its volumes stay on the cluster; allow the move with volumes: Recreate in its placement",
        },
      ],
    ],
    "includes a copy that the deletion guard held, as not blocked": [
      { syncRecords: [recordOf("gone", east("DeletionsHeld"))], placements: [] },
      [
        {
          isBlocked: false,
          message: "the deletion guard held it, and releases it because the cluster is being drained",
        },
      ],
    ],
    "includes a copy whose workload vanished, as blocked": [
      { syncRecords: [recordOf("gone", east("WorkloadVanished"))], placements: [] },
      [{ isBlocked: true, message: "its workload no longer exists in the workspace; run ./tmc confirm" }],
    ],
    "includes a copy whose sync is paused, as blocked": [
      { syncRecords: [recordOf("shop", east("SyncPaused"))], placements: west },
      [{ isBlocked: true, message: "sync is paused on the workload" }],
    ],
    "includes the copies of a cluster that is not Ready, as blocked": [
      { syncRecords: [recordOf("shop", east("ClusterNotReady"))], placements: west },
      [{ isBlocked: true, message: "the cluster is not Ready" }],
    ],
    "includes a copy whose placement still selects the cluster": [
      { syncRecords: [recordOf("shop", east("Ready"))], placements: [aPlacement("shop", ["east"])] },
      [{ isBlocked: false, message: "placement shop still selects the cluster" }],
    ],
    "includes a copy whose placement tolerates the drain taint, as blocked": [
      { syncRecords: [recordOf("shop", east("Ready"))], placements: [aPlacement("shop", ["east"], tolerating())] },
      [{ isBlocked: true, message: "placement shop tolerates the drain taint" }],
    ],
    "includes a copy whose placement tolerates the drain taint for a while": [
      { syncRecords: [recordOf("shop", east("Ready"))], placements: [aPlacement("shop", ["east"], tolerating(90))] },
      [{ isBlocked: false, message: "placement shop tolerates the drain taint for 90s" }],
    ],
    "includes a placement without workloads that still selects the cluster": [
      { syncRecords: [], placements: [aPlacement("idle", ["east"])] },
      [{ isBlocked: false, message: "placement idle still selects the cluster" }],
    ],
    "includes a copy that is not reconciled yet": [
      {
        syncRecords: [{ metadata: { namespace: "shop" }, spec: { workload, placement: "shop", clusters: ["east"] } }],
        placements: west,
      },
      [{ isBlocked: false, message: "not reconciled yet" }],
    ],
  };
  it.each(Object.entries(rows))("%s", (_, [objects, remaining]) => {
    expect(
      remainingOn({ targetCluster: "east", ...objects }).map(({ isBlocked, message }) => ({ isBlocked, message })),
    ).toEqual(remaining);
  });
});

it("drain prints each change of the remaining work once", () => {
  const reported = new Map<string, string>();
  const web = { title: "shop deployment.apps/web", isBlocked: false, message: "the cluster is deleting it" };
  const api = { title: "shop deployment.apps/api", isBlocked: true, message: "no other cluster fits" };
  expect(progressLines(reported, [api, web])).toEqual([
    "  shop deployment.apps/api blocked: no other cluster fits",
    "  shop deployment.apps/web waiting: the cluster is deleting it",
    "2 remaining",
  ]);
  expect(progressLines(reported, [api, web])).toEqual([]);
  expect(progressLines(reported, [api])).toEqual(["  shop deployment.apps/web evicted", "1 remaining"]);
  expect(progressLines(reported, [])).toEqual(["  shop deployment.apps/api evicted"]);
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
    (await workspace.client.get<ClusterRegistration>({ type: resourceTypes.registrations, name: "east" })).spec;

  it("tmc cluster cordon and uncordon print whether they changed the cluster", async () => {
    const { run } = workspace;
    expect(await run("cluster cordon east")).toEqual({ code: 0, out: `${id} cordoned\n`, err: "" });
    expect(await specOf()).toMatchObject({ unschedulable: true });
    expect((await run("cluster list")).out).toContain("Ready,SchedulingDisabled");
    expect((await run("cluster cordon east")).out).toBe(`${id} already cordoned\n`);
    expect((await run("cluster uncordon east")).out).toBe(`${id} uncordoned\n`);
    expect((await run("cluster uncordon east")).out).toBe(`${id} already uncordoned\n`);
    expect(await specOf()).not.toHaveProperty("unschedulable");
  });

  it.each(["cordon", "uncordon", "drain"])(
    "tmc cluster %s of an unknown cluster lists the registered clusters",
    async (command) => {
      expect(await workspace.run(`cluster ${command} est`)).toEqual({
        code: 1,
        out: "",
        err: 'tmc: cluster "est": not registered; registered clusters: east, west\n',
      });
    },
  );

  it("tmc cluster drain --no-wait starts the drain, and prints the remaining work as JSON", async () => {
    const { run } = workspace;
    expect(await run("cluster drain east --no-wait")).toEqual({ code: 0, out: `${id} draining\n`, err: "" });
    const { code, out, err } = await run("cluster drain east --no-wait -o json");
    expect({ code, err }).toEqual({ code: 0, err: `${id} already draining\n` });
    expect(JSON.parse(out)).toEqual({
      cluster: "east",
      drained: false,
      remaining: [
        { name: "shop deployment.apps/web", blocked: false, message: "placement shop still selects the cluster" },
      ],
    });
    expect(await specOf()).toMatchObject({ unschedulable: true, taints: [{ key: "tmc.kcp.io/drain" }] });
  });

  it("tmc cluster drain prints its progress, and ends when the cluster is drained", async () => {
    const { runUntil, becomes, select } = workspace;
    await select("shop", "west");
    await becomes(deployments, "web", [
      { name: "east", state: "Evicting", reason: "WaitingForReplacement" },
      { name: "west", state: "Applied", reason: "Progressing", message: "0 of 3 replicas are ready" },
    ]);
    const ended = await runUntil("cluster drain east --wait", "1 remaining", () =>
      becomes(deployments, "web", [{ name: "west", state: "Ready" }]),
    );
    expect(ended).toEqual({
      code: 0,
      out: `${id} already draining
  shop deployment.apps/web waiting: it is evicted when it is ready on west (0 of 3 replicas are ready)
1 remaining
  shop deployment.apps/web evicted
${id} drained
`,
      err: "",
    });
  });

  it("tmc cluster drain ends after its timeout, or when the remaining work is blocked, and prints how to undo it", async () => {
    const { run, runUntil, becomes, select, clock } = workspace;
    await select("shop");
    await becomes(deployments, "web", [{ name: "east", state: "Ready", reason: "LastCopy" }]);
    const blocked = await runUntil("cluster drain east", "1 remaining", async () => {
      clock.shown += 6_000;
    });
    expect(blocked).toMatchObject({
      code: 1,
      err: "tmc: cluster east: not drained, 1 cannot be evicted; the drain stays in effect until ./tmc cluster uncordon east\n",
    });
    await becomes(deployments, "web", [{ name: "east", state: "Evicting", reason: "Terminating" }]);
    const late = await runUntil("cluster drain east --timeout 5s -o json", "1 remaining", async () => {
      clock.shown += 6_000;
    });
    expect(late).toMatchObject({
      code: 1,
      err: expect.stringContaining("cluster east: timed out, 1 remaining; the drain stays in effect"),
    });
    expect(JSON.parse(late.out)).toMatchObject({ drained: false });
    const interrupted = await run("cluster drain east", { interrupted: Promise.resolve() });
    expect(interrupted).toMatchObject({ code: 130, err: expect.stringContaining("interrupted, 1 remaining") });
    expect((await run("cluster uncordon east")).out).toBe(`${id} uncordoned\n`);
    expect(await specOf()).not.toHaveProperty("taints");
  });
});
