import { describe, expect, test } from "vitest";
import type { Pod, ReplicaSet } from "../../../src/kubernetes/kinds.ts";
import { formatTime } from "../../../src/kubernetes/kinds.ts";
import { decideReplicaSet, replicaSetStatus } from "../../../src/kubernetes/workloads/replica-set.ts";
import { aPendingPod, aPod, aReplicaSet, noon, notReady } from "../builders.ts";

const of = (replicas: number, more: Partial<ReplicaSet["spec"]> = {}) =>
  aReplicaSet("web-1", { spec: { replicas, ...more } });
const leaving = aPod("leaving", { metadata: { deletionTimestamp: formatTime(noon) } });

describe("a replica set", () => {
  const rows: Record<string, { set: ReplicaSet; pods: Pod[]; create: number; remove: string[] }> = {
    "makes the pods that are missing": { set: of(3), pods: [aPod("a")], create: 2, remove: [] },
    "asks for nothing when it has as many as it should": { set: of(1), pods: [aPod("a")], create: 0, remove: [] },
    "does not count a pod on its way out": { set: of(1), pods: [leaving], create: 1, remove: [] },
    "replaces a pod that has failed": {
      set: of(1),
      pods: [aPod("a", { status: { phase: "Failed" } })],
      create: 1,
      remove: [],
    },
    "gives up a pod without a node first": {
      set: of(2),
      pods: [aPod("a"), aPendingPod("b"), aPod("c")],
      create: 0,
      remove: ["b"],
    },
    "gives up a pod that is not ready before one that is": {
      set: of(1),
      pods: [aPod("a"), aPod("b", { status: notReady })],
      create: 0,
      remove: ["b"],
    },
    "gives up the youngest of equals": {
      set: of(1),
      pods: [aPod("old"), aPod("young", { metadata: { creationTimestamp: formatTime(noon + 5000) } })],
      create: 0,
      remove: ["young"],
    },
    "does nothing when it is being deleted": {
      set: aReplicaSet("web-1", { metadata: { deletionTimestamp: formatTime(noon) } }),
      pods: [],
      create: 0,
      remove: [],
    },
  };
  test.each(Object.entries(rows))("%s", (_, { set, pods, create, remove }) => {
    const plan = decideReplicaSet({ set, pods, now: noon });
    expect([plan.create, plan.remove.map((pod) => pod.metadata.name)]).toEqual([create, remove]);
  });

  test("counts a pod as available after minReadySeconds, and requeues for that time", () => {
    const facts = { set: of(1, { minReadySeconds: 90 }), pods: [aPod("a")], now: noon };
    expect(decideReplicaSet(facts).nextMs).toBe(30_000);
    expect(replicaSetStatus(facts, undefined)).toMatchObject({ readyReplicas: 1 });
    expect(replicaSetStatus(facts, undefined)).not.toHaveProperty("availableReplicas");
    expect(replicaSetStatus({ ...facts, now: noon + 30_000 }, undefined)).toMatchObject({ availableReplicas: 1 });
  });
  test("keeps the message of a failure while the reason is the same", () => {
    const first = { reason: "FailedCreate", message: "no room for a", time: formatTime(noon) };
    const status = replicaSetStatus({ set: of(1), pods: [], now: noon }, first);
    const again = { set: { ...of(1), status }, pods: [], now: noon + 1000 };
    expect(replicaSetStatus(again, { ...first, message: "no room for b" })).toEqual(status);
    expect(replicaSetStatus(again, undefined)).not.toHaveProperty("conditions");
  });
  test("has the status of a real one", () => {
    expect(
      replicaSetStatus({ set: of(2), pods: [aPod("a"), aPendingPod("b"), leaving], now: noon }, undefined),
    ).toEqual({
      replicas: 2,
      fullyLabeledReplicas: 2,
      readyReplicas: 1,
      availableReplicas: 1,
      terminatingReplicas: 1,
      observedGeneration: 1,
    });
    expect(replicaSetStatus({ set: of(0), pods: [], now: noon }, undefined)).toEqual({
      replicas: 0,
      terminatingReplicas: 0,
      observedGeneration: 1,
    });
  });
});
