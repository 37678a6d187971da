import { describe, expect, it } from "vitest";
import type { Copy, CopyRecord, TargetCluster } from "../../../../lib/sync/sync-objects.ts";
import {
  appliedVersionOf,
  type DesiredCopy,
  decideEviction,
  decideTarget,
  type EvictionFacts,
  type TargetFacts,
} from "../../../../lib/sync/targets/decide.ts";

const targetCluster: TargetCluster = {
  name: "east",
  location: "us-east-1",
  labels: new Map(),
  isReady: true,
  isDeleting: false,
  isDrained: false,
  lastHeartbeat: "2030-01-01T00:00:00Z",
  apis: undefined,
  milliCpu: undefined,
};
const silent: TargetCluster = { ...targetCluster, isReady: false };
const copy: Copy = { uid: "u1", resourceVersion: "7", generation: 3, isDeleting: false, status: undefined };
const there = { kind: "there", copy } as const;
const desired: DesiredCopy = {
  manifest: { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" } },
  fingerprint: "f1",
  references: "",
};
const written: CopyRecord = { name: "east", state: "Ready", appliedHash: "f1", appliedVersion: "g3", uid: "u1" };

describe("a copy that belongs on its cluster", () => {
  const facts: TargetFacts = {
    targetCluster,
    downstreamState: there,
    before: written,
    desired,
    policy: {},
    stopped: undefined,
  };
  const rows: Record<string, readonly [Partial<TargetFacts>, object]> = {
    "is left alone when it is as it was written": [{}, { do: "keep", isAsWished: true }],
    "is written when it has never been": [
      { before: undefined, downstreamState: { kind: "absent" } },
      { do: "apply", because: "new" },
    ],
    "is written again when somebody deleted it": [
      { downstreamState: { kind: "absent" } },
      { do: "apply", because: "new" },
    ],
    "is not written again when drift is only reported": [
      { downstreamState: { kind: "absent" }, policy: { drift: "Report" } },
      { do: "keep", obstacle: { reason: "Drifted" } },
    ],
    "is written when the workload says something else": [
      { before: { ...written, appliedHash: "f0" } },
      { do: "apply", because: "changed" },
    ],
    "is compared when its generation has moved": [{ before: { ...written, appliedVersion: "g2" } }, { do: "compare" }],
    "is compared when it is another object": [{ before: { ...written, uid: "u0" } }, { do: "compare" }],
    "is compared when the record was lost": [{ before: undefined }, { do: "compare" }],
    "is left alone when the change does not matter": [
      { before: { ...written, appliedVersion: "g2" }, differences: [] },
      { do: "keep", isAsWished: true },
    ],
    "is put back when somebody changed it": [
      { before: { ...written, appliedVersion: "g2" }, differences: ["spec.replicas"] },
      { do: "apply", because: "drifted" },
    ],
    "is only reported when the placement says so": [
      { before: { ...written, appliedVersion: "g2" }, differences: ["spec.replicas"], policy: { drift: "Report" } },
      { do: "keep", obstacle: { reason: "Drifted", message: "changed on the cluster: spec.replicas" } },
    ],
    "is left alone until it is as it should be when drift pauses": [
      { before: { ...written, appliedVersion: "g2" }, differences: ["spec.replicas"], policy: { drift: "Pause" } },
      { do: "keep", state: "Paused", obstacle: { reason: "Drifted" } },
    ],
    "is not overwritten by a new wish while drift pauses it": [
      {
        before: { ...written, appliedHash: "f0", appliedVersion: "g2" },
        differences: ["spec.replicas"],
        policy: { drift: "Pause" },
      },
      { do: "keep", state: "Paused", obstacle: { reason: "Drifted" } },
    ],
    "follows a new wish although drift would pause it, when nobody changed it": [
      { before: { ...written, appliedHash: "f0" }, differences: ["spec.image"], policy: { drift: "Pause" } },
      { do: "apply", because: "changed" },
    ],
    "waits for one that is being deleted": [
      { downstreamState: { kind: "there", copy: { ...copy, isDeleting: true } } },
      { do: "keep", state: "Applied", obstacle: { reason: "Terminating" } },
    ],
    "is not touched while its cluster is not heard from": [
      { targetCluster: silent, before: { ...written, appliedHash: "f0" } },
      { do: "keep", state: "Stale", obstacle: { reason: "ClusterNotReady" } },
    ],
    "is not touched when it could not be looked at": [
      { downstreamState: { kind: "unknown", why: "timed out" } },
      { do: "keep", state: "Stale", obstacle: { message: "timed out" } },
    ],
    "is not touched while its owner has paused sync": [
      { stopped: { reason: "SyncPaused", message: "" }, before: { ...written, appliedHash: "f0" } },
      { do: "keep", state: "Paused", obstacle: { reason: "SyncPaused" } },
    ],
    "is not written when it cannot be made": [
      {
        desired: { reason: "OverrideFailed", message: "no such path" },
        downstreamState: { kind: "absent" },
        before: undefined,
      },
      { do: "keep", state: "Failed", obstacle: { reason: "OverrideFailed" } },
    ],
    "stays as it is when the next one cannot be made": [
      { desired: { reason: "OverrideFailed", message: "no such path" } },
      { do: "keep", state: undefined, obstacle: { reason: "OverrideFailed" } },
    ],
    "is no stranger's": [
      { downstreamState: { kind: "foreign", copy, who: "not made by TMC" }, before: undefined },
      { do: "keep", state: "Failed", obstacle: { reason: "ForeignObject" } },
    ],
    "takes over a stranger's that says the same": [
      { downstreamState: { kind: "foreign", copy, who: "x" }, policy: { adoption: "IfNoDiff" }, differences: [] },
      { do: "apply", because: "adopted" },
    ],
    "first looks whether a stranger's says the same": [
      { downstreamState: { kind: "foreign", copy, who: "x" }, policy: { adoption: "IfNoDiff" } },
      { do: "compare" },
    ],
    "leaves a stranger's that says something else": [
      {
        downstreamState: { kind: "foreign", copy, who: "x" },
        policy: { adoption: "IfNoDiff" },
        differences: ["spec.a"],
      },
      { do: "keep", state: "Failed", obstacle: { reason: "ForeignObject" } },
    ],
    "takes over any when told to": [
      { downstreamState: { kind: "foreign", copy, who: "x" }, policy: { adoption: "Always" } },
      { do: "apply", because: "adopted" },
    ],
  };
  it.each(Object.entries(rows))("%s", (_, [differing, act]) => {
    expect(decideTarget({ ...facts, ...differing })).toMatchObject(act);
  });
});

describe("a copy that belongs elsewhere", () => {
  const facts: EvictionFacts = {
    targetCluster,
    downstreamState: there,
    intent: "wanted",
    hasTargets: true,
    isReplaced: true,
    deletionPolicy: "Delete",
    stopped: undefined,
    held: undefined,
    isConfirmed: false,
  };
  const gone = { do: "remove", uid: "u1" };
  const rows: Record<string, readonly [Partial<EvictionFacts>, object]> = {
    "goes when the workload is ready where it should be": [{}, gone],
    "stays until then": [
      { isReplaced: false },
      { do: "keep", state: "Evicting", obstacle: { reason: "WaitingForReplacement" } },
    ],
    "stays until then, whatever is confirmed": [
      { isReplaced: false, isConfirmed: true },
      { do: "keep", state: "Evicting", obstacle: { reason: "WaitingForReplacement" } },
    ],
    "stays when nothing fits": [{ hasTargets: false }, { do: "keep", obstacle: { reason: "LastCopy" } }],
    "stays when nothing fits, whatever is confirmed": [
      { hasTargets: false, isConfirmed: true },
      { do: "keep", obstacle: { reason: "LastCopy" } },
    ],
    "goes when no placement wants it": [{ intent: "unwanted", hasTargets: false }, gone],
    "goes when its owner deletes it, at once": [{ intent: "deleted", hasTargets: false, isReplaced: false }, gone],
    "goes when its owner deletes it, though many go": [{ intent: "deleted", held: "many" }, gone],
    "goes when its owner deletes it, though sync is switched off": [
      { intent: "deleted", stopped: { reason: "SyncDisabled", message: "" } },
      gone,
    ],
    "stays when too many would go": [
      { held: "many" },
      { do: "keep", state: "Held", obstacle: { reason: "DeletionsHeld" } },
    ],
    "goes when that is confirmed": [{ held: "many", isConfirmed: true }, gone],
    "stays when nobody saw the workload being deleted": [
      { intent: "vanished" },
      { do: "keep", state: "Held", obstacle: { reason: "WorkloadVanished" } },
    ],
    "goes when it is confirmed that the workload is gone": [{ intent: "vanished", isConfirmed: true }, gone],
    "is let go of where the placement says so": [{ deletionPolicy: "Orphan" }, { do: "release", uid: "u1" }],
    "goes with a workload that is deleted, whatever the placement says": [
      { intent: "deleted", deletionPolicy: "Orphan" },
      gone,
    ],
    "is not touched while its cluster is not heard from": [
      { targetCluster: silent },
      { do: "keep", state: "Evicting", obstacle: { reason: "ClusterNotReady" } },
    ],
    "is not taken for gone when it could not be looked at": [
      { downstreamState: { kind: "unknown", why: "timed out" }, intent: "deleted" },
      { do: "keep", state: "Evicting", obstacle: { reason: "ClusterNotReady" } },
    ],
    "is forgotten when the cluster says that it is not there": [
      { downstreamState: { kind: "absent" } },
      { do: "forget" },
    ],
    "is forgotten when it is a stranger's": [
      { downstreamState: { kind: "foreign", copy, who: "x" }, intent: "deleted" },
      { do: "forget" },
    ],
    "is forgotten when its cluster has gone": [
      { targetCluster: undefined },
      { do: "forget", obstacle: { reason: "ClusterUnregistered" } },
    ],
    "is waited for when it is being removed": [
      { downstreamState: { kind: "there", copy: { ...copy, isDeleting: true } } },
      { do: "keep", state: "Evicting", obstacle: { reason: "Terminating" } },
    ],
    "stays while its owner has paused sync": [
      { stopped: { reason: "SyncPaused", message: "" } },
      { do: "keep", state: "Paused", obstacle: { reason: "SyncPaused" } },
    ],
  };
  it.each(Object.entries(rows))("%s", (_, [differing, act]) => {
    expect(decideEviction({ ...facts, ...differing })).toMatchObject(act);
  });
});

it("tells writes by the generation, and by the version where there is none", () => {
  expect(appliedVersionOf(copy)).toBe("g3");
  expect(appliedVersionOf({ ...copy, generation: undefined })).toBe("v7");
});
