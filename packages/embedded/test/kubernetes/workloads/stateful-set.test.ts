import { describe, expect, test } from "vitest";
import type { Pod, StatefulSet } from "../../../src/kubernetes/kinds.ts";
import { formatTime } from "../../../src/kubernetes/kinds.ts";
import { decideStatefulSet } from "../../../src/kubernetes/workloads/stateful-set.ts";
import { aPod, aStatefulSet, noon, notReady } from "../builders.ts";

const pod = (ordinal: number, revision = "db-new", parts: Parameters<typeof aPod>[1] = {}): Pod =>
  aPod(`db-${ordinal}`, {
    ...parts,
    metadata: { labels: { "controller-revision-hash": revision }, ...parts.metadata },
  });
const leaving = { metadata: { labels: {}, deletionTimestamp: formatTime(noon) } };
const updated = (set: StatefulSet): StatefulSet => ({
  ...set,
  status: {
    replicas: 3,
    availableReplicas: 3,
    currentReplicas: 3,
    currentRevision: "db-old",
    updateRevision: "db-new",
  },
});

const rows: Record<string, { set?: StatefulSet; pods: Pod[]; create?: [number, string][]; remove?: string[] }> = {
  "begins with the first pod alone": { pods: [], create: [[0, "db-new"]] },
  "waits for a pod to serve before the next": { pods: [pod(0, "db-new", { status: notReady })] },
  "goes on when the pod before serves": { pods: [pod(0)], create: [[1, "db-new"]] },
  "fills a gap first": { pods: [pod(0), pod(2)], create: [[1, "db-new"]] },
  "starts all at once where it is told to": {
    set: aStatefulSet({ spec: { podManagementPolicy: "Parallel" } }),
    pods: [],
    create: [
      [0, "db-new"],
      [1, "db-new"],
      [2, "db-new"],
    ],
  },
  "replaces a pod that has failed": {
    pods: [pod(0, "db-new", { status: { phase: "Failed" } })],
    remove: ["db-0"],
  },
  "takes the last away first": {
    set: aStatefulSet({ spec: { replicas: 1 } }),
    pods: [pod(0), pod(1), pod(2)],
    remove: ["db-2"],
  },
  "waits for a leaving pod to be gone": {
    set: aStatefulSet({ spec: { replicas: 1 } }),
    pods: [pod(0), pod(1), pod(2, "db-new", leaving)],
  },
  "updates from the last": {
    set: updated(aStatefulSet()),
    pods: [pod(0, "db-old"), pod(1, "db-old"), pod(2, "db-old")],
    remove: ["db-2"],
  },
  "makes an updated pod from the new revision": {
    set: {
      ...updated(aStatefulSet()),
      status: { replicas: 2, availableReplicas: 2, currentReplicas: 2, currentRevision: "db-old" },
    },
    pods: [pod(0, "db-old"), pod(1, "db-old")],
    create: [[2, "db-new"]],
  },
  "makes a lost pod that was not updated yet from the old revision": {
    set: updated(aStatefulSet()),
    pods: [pod(1, "db-old"), pod(2)],
    create: [[0, "db-old"]],
  },
  "leaves those below the partition": {
    set: updated(
      aStatefulSet({ spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 2 } } } }),
    ),
    pods: [pod(0, "db-old"), pod(1, "db-old"), pod(2)],
  },
  "leaves an update to whoever deletes pods": {
    set: updated(aStatefulSet({ spec: { updateStrategy: { type: "OnDelete" } } })),
    pods: [pod(0, "db-old"), pod(1, "db-old"), pod(2, "db-old")],
  },
  "does nothing when it is being deleted": {
    set: aStatefulSet({ metadata: { deletionTimestamp: formatTime(noon) } }),
    pods: [],
  },
};

describe("a stateful set", () => {
  test.each(Object.entries(rows))("%s", (_, { set = aStatefulSet(), pods, create = [], remove = [] }) => {
    const plan = decideStatefulSet({ set, pods, updateRevision: "db-new", now: noon });
    expect(plan.create.map(({ ordinal, revision }) => [ordinal, revision])).toEqual(create);
    expect(plan.remove.map((each) => each.metadata.name)).toEqual(remove);
  });

  test("has the status of a real one, and completes an update when all pods have the revision", () => {
    const { status } = decideStatefulSet({
      set: updated(aStatefulSet()),
      pods: [pod(0), pod(1), pod(2)],
      updateRevision: "db-new",
      now: noon,
    });
    expect(status).toEqual({
      observedGeneration: 1,
      replicas: 3,
      readyReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
      availableReplicas: 3,
      currentRevision: "db-new",
      updateRevision: "db-new",
      collisionCount: 0,
    });
  });
});
