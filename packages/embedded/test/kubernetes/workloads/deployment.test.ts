import { describe, expect, test } from "vitest";
import type { Deployment, ReplicaSet } from "../../../src/kubernetes/kinds.ts";
import { formatTime } from "../../../src/kubernetes/kinds.ts";
import { type DeploymentPlan, decideDeployment } from "../../../src/kubernetes/workloads/deployment.ts";
import { aDeployment, aReplicaSet, aTemplate, noon } from "../builders.ts";

const marks = (revision: string, desired = "3", max = "4") => ({
  "deployment.kubernetes.io/revision": revision,
  "deployment.kubernetes.io/desired-replicas": desired,
  "deployment.kubernetes.io/max-replicas": max,
});
const full = (replicas: number): NonNullable<ReplicaSet["status"]> => ({
  replicas,
  readyReplicas: replicas,
  availableReplicas: replicas,
  observedGeneration: 1,
});
const current = (replicas = 3, status = full(replicas)): ReplicaSet =>
  aReplicaSet("web-new", { metadata: { annotations: marks("2") }, spec: { replicas }, status });
const old = (replicas = 3, status = full(replicas), name = "web-old", revision = "1"): ReplicaSet =>
  aReplicaSet(name, {
    metadata: { annotations: marks(revision), creationTimestamp: formatTime(noon - 60_000 + Number(revision) * 1000) },
    spec: { replicas, template: aTemplate("web:0") },
    status,
  });
const decide = (
  deployment: Deployment,
  replicaSets: ReplicaSet[],
  more: { oldPodsRemain?: boolean; now?: number } = {},
) => decideDeployment({ deployment, replicaSets, oldPodsRemain: false, now: noon, ...more });
const sizes = (plan: DeploymentPlan): Record<string, number | undefined> =>
  Object.fromEntries(plan.update.map((set) => [set.metadata.name, set.spec.replicas]));
const progressing = (plan: DeploymentPlan) =>
  plan.status.conditions?.find((condition) => condition.type === "Progressing");

describe("a deployment without replica sets", () => {
  const plan = decide(aDeployment(), []);
  test("gets one named after its template hash, with revision 1 and all replicas", () => {
    expect(plan.create?.metadata.name).toMatch(/^web-[bcdfghjklmnpqrstvwxz2456789]+$/);
    expect(plan.create?.metadata.annotations).toEqual(marks("1"));
    expect(plan.create?.spec).toMatchObject({ replicas: 3, template: { metadata: { labels: { app: "web" } } } });
    expect(plan.revision).toBe("1");
  });
  test("owns it, and distinguishes its pods by the template hash", () => {
    const hash = plan.create?.metadata.labels?.["pod-template-hash"];
    expect(plan.create?.metadata.name).toBe(`web-${hash}`);
    expect(plan.create?.spec).toMatchObject({ selector: { matchLabels: { app: "web", "pod-template-hash": hash } } });
    expect(plan.create?.metadata.ownerReferences).toEqual([
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        name: "web",
        uid: "uid-web",
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  });
  test("records an event and a condition for the new one", () => {
    expect(plan.events.map((event) => event.message)).toEqual([
      `Scaled up replica set ${plan.create?.metadata.name} from 0 to 3`,
    ]);
    expect(progressing(plan)).toMatchObject({ status: "True", reason: "NewReplicaSetCreated" });
  });
  test("copies its annotations, except kubectl's", () => {
    const annotations = { note: "mine", "kubectl.kubernetes.io/last-applied-configuration": "{}" };
    const made = decide(aDeployment({ metadata: { annotations } }), []).create;
    expect(made?.metadata.annotations).toEqual({ ...marks("1"), note: "mine" });
  });
});

describe("a changed template", () => {
  test("creates a new replica set with the next revision, no larger than the surge", () => {
    const plan = decide(aDeployment({ spec: { template: aTemplate("web:2") } }), [current()]);
    expect(plan.create?.metadata.annotations).toEqual(marks("3"));
    expect(plan.create?.spec).toMatchObject({ replicas: 1 });
  });
  test("back to an earlier one reuses the old replica set with a new revision", () => {
    const plan = decide(aDeployment({ spec: { template: aTemplate("web:0") } }), [current(), old(0)]);
    expect(plan.create).toBeUndefined();
    expect(plan.revision).toBe("3");
    const back = plan.update.find((set) => set.metadata.name === "web-old");
    expect(back?.metadata.annotations).toMatchObject({
      "deployment.kubernetes.io/revision": "3",
      "deployment.kubernetes.io/revision-history": "1",
    });
    expect(back?.spec.replicas).toBe(1);
  });
  test("with Recreate first deletes all old pods", () => {
    const deployment = aDeployment({ spec: { strategy: { type: "Recreate" } } });
    expect(sizes(decide(deployment, [old(3)]))).toEqual({ "web-old": 0 });
    const waiting = decide(deployment, [old(0)], { oldPodsRemain: true });
    expect([waiting.create, sizes(waiting)]).toEqual([undefined, {}]);
    expect(decide(deployment, [old(0)]).create?.spec).toMatchObject({ replicas: 3 });
  });
});

describe("a rollout in progress", () => {
  test.each<[string, ReplicaSet[], Record<string, number>]>([
    ["shrinks the old set when a new pod serves", [current(1), old(3)], { "web-old": 2 }],
    ["grows the new set into the room that was made", [current(1), old(2)], { "web-new": 2 }],
    ["waits for a new pod to serve", [current(1, { replicas: 1 }), old(3)], {}],
    ["is over when the old set is empty", [current(3), old(0)], {}],
  ])("%s", (_, sets, expected) => {
    expect(sizes(decide(aDeployment(), sets))).toEqual(expected);
  });
  test("stops while the deployment is paused, but can still be scaled", () => {
    const paused = decide(aDeployment({ spec: { paused: true } }), [current(1), old(3)]);
    expect(paused.create).toBeUndefined();
    expect(progressing(paused)).toMatchObject({ status: "Unknown", reason: "DeploymentPaused" });
    expect(sizes(decide(aDeployment({ spec: { paused: true, replicas: 5 } }), [current(3)]))).toEqual({ "web-new": 5 });
  });
  test("scales both replica sets in proportion", () => {
    const plan = decide(aDeployment({ spec: { replicas: 7 } }), [current(2), old(2)]);
    expect(Object.values(sizes(plan)).reduce((sum: number, size) => sum + (size ?? 0), 0)).toBe(8);
  });
});

describe("the status of a deployment", () => {
  test("equals that of a real one when all pods are available", () => {
    const time = formatTime(noon);
    expect(decide(aDeployment(), [current(3)]).status).toEqual({
      observedGeneration: 1,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      terminatingReplicas: 0,
      conditions: [
        {
          type: "Available",
          status: "True",
          reason: "MinimumReplicasAvailable",
          message: "Deployment has minimum availability.",
          lastUpdateTime: time,
          lastTransitionTime: time,
        },
        {
          type: "Progressing",
          status: "True",
          reason: "NewReplicaSetAvailable",
          message: 'ReplicaSet "web-new" has successfully progressed.',
          lastUpdateTime: time,
          lastTransitionTime: time,
        },
      ],
    });
  });
  test("reports missing replicas while pods are not available", () => {
    const { status } = decide(aDeployment(), [current(3, { replicas: 3 })]);
    expect(status).toMatchObject({ replicas: 3, unavailableReplicas: 3 });
    expect(status).not.toHaveProperty("readyReplicas");
    expect(status.conditions?.[0]).toMatchObject({ status: "False", reason: "MinimumReplicasUnavailable" });
  });
  test("is unchanged without a change of the facts", () => {
    const first = decide(aDeployment(), [current(3)]);
    const later = decide(aDeployment({ status: first.status }), [current(3)], { now: noon + 3_600_000 });
    expect(later.status).toEqual(first.status);
    expect(later.nextMs).toBeUndefined();
  });
  test("reports ProgressDeadlineExceeded when the deadline has passed without progress", () => {
    const stuck = current(3, { replicas: 3 });
    const first = decide(aDeployment(), [stuck]);
    expect(first.nextMs).toBe(600_000);
    const later = decide(aDeployment({ status: first.status }), [stuck], { now: noon + 600_000 });
    expect(progressing(later)).toMatchObject({
      status: "False",
      reason: "ProgressDeadlineExceeded",
      message: 'ReplicaSet "web-new" has timed out progressing.',
    });
  });
  test("contains the ReplicaFailure condition of a replica set", () => {
    const failure = { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "quota" } as const;
    const plan = decide(aDeployment(), [current(3, { replicas: 0, conditions: [failure] })]);
    expect(plan.status.conditions).toContainEqual(
      expect.objectContaining({ type: "ReplicaFailure", reason: "FailedCreate" }),
    );
  });
});

describe("old replica sets", () => {
  test("beyond revisionHistoryLimit are deleted after the rollout", () => {
    const olds = [1, 2, 3].map((number) =>
      old(0, { ...full(0), observedGeneration: 1 }, `web-${number}`, String(number)),
    );
    const done = current(3);
    expect(decide(aDeployment(), [...olds, done]).remove.map((set) => set.metadata.name)).toEqual(["web-1"]);
    const underWay = current(3, { replicas: 3 });
    expect(decide(aDeployment(), [...olds, underWay]).remove).toEqual([]);
  });
});

describe("laws of deployments", () => {
  const rows = [
    [aDeployment(), []],
    [aDeployment(), [current(1), old(3)]],
    [aDeployment({ spec: { strategy: { type: "Recreate" } } }), [old(3)]],
    [aDeployment({ metadata: { deletionTimestamp: formatTime(noon) } }), [current(1)]],
  ] as const;
  test("the same facts in any order result in the same plan, and are not changed", () => {
    for (const [deployment, sets] of rows) {
      const before = structuredClone({ deployment, sets });
      expect(decide(deployment, [...sets])).toEqual(decide(deployment, sets.toReversed()));
      expect({ deployment, sets }).toEqual(before);
    }
  });
  test("a deployment that is being deleted changes nothing", () => {
    const plan = decide(aDeployment({ metadata: { deletionTimestamp: formatTime(noon) } }), [current(1), old(3)]);
    expect([plan.create, plan.update, plan.remove]).toEqual([undefined, [], []]);
  });
});
