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
  hash: "f1",
  dependenciesHash: "",
};
const written: CopyRecord = { name: "east", state: "Ready", appliedHash: "f1", appliedVersion: "g3", uid: "u1" };

describe("decideTarget", () => {
  const facts: TargetFacts = {
    targetCluster,
    downstreamState: there,
    previous: written,
    desired,
    policy: {},
    syncBlocker: undefined,
  };
  const rows: Record<string, readonly [Partial<TargetFacts>, object]> = {
    "keeps a copy that is as it was written": [{}, { action: "keep", isUpToDate: true }],
    "applies a copy that was never written": [
      { previous: undefined, downstreamState: { kind: "absent" } },
      { action: "apply", cause: "new" },
    ],
    "applies a copy again that was deleted on its cluster": [
      { downstreamState: { kind: "absent" } },
      { action: "apply", cause: "new" },
    ],
    "does not apply a deleted copy again if drift is only reported": [
      { downstreamState: { kind: "absent" }, policy: { drift: "Report" } },
      { action: "keep", state: "Paused", blocker: { reason: "Drifted" } },
    ],
    "applies a copy whose desired manifest has changed": [
      { previous: { ...written, appliedHash: "f0" } },
      { action: "apply", cause: "changed" },
    ],
    "compares a copy whose generation has changed": [
      { previous: { ...written, appliedVersion: "g2" } },
      { action: "compare" },
    ],
    "compares a copy with another uid": [{ previous: { ...written, uid: "u0" } }, { action: "compare" }],
    "compares a copy without a recorded entry": [{ previous: undefined }, { action: "compare" }],
    // The manifest that was written may have had more than the desired one has.
    "applies a copy without a recorded write, also without differences": [
      { previous: undefined, differences: [] },
      { action: "apply", cause: "changed" },
    ],
    "applies a manifest that only lacks fields, with the drift policy Pause": [
      { previous: { ...written, appliedHash: "f0" }, differences: [], policy: { drift: "Pause" } },
      { action: "apply", cause: "changed" },
    ],
    "compares a copy that names an earlier manifest than the record, also with the recorded version": [
      { downstreamState: { kind: "there", copy: { ...copy, writtenHash: "f0" } } },
      { action: "compare" },
    ],
    "keeps a copy that names the desired manifest": [
      { downstreamState: { kind: "there", copy: { ...copy, writtenHash: "f1" } } },
      { action: "keep", isUpToDate: true },
    ],
    "applies a copy that names an earlier manifest, also without differences": [
      { downstreamState: { kind: "there", copy: { ...copy, writtenHash: "f0", generation: 2 } }, differences: [] },
      { action: "apply", cause: "changed" },
    ],
    "reverts a copy that names an earlier manifest and differs": [
      { downstreamState: { kind: "there", copy: { ...copy, writtenHash: "f0" } }, differences: ["spec.replicas"] },
      { action: "apply", cause: "drifted" },
    ],
    "reports a copy that names an earlier manifest and differs if the drift policy is Report": [
      {
        downstreamState: { kind: "there", copy: { ...copy, writtenHash: "f0" } },
        differences: ["spec.replicas"],
        policy: { drift: "Report" },
      },
      { action: "keep", blocker: { reason: "Drifted", message: "changed on the cluster: spec.replicas" } },
    ],
    "reverts a copy without a recorded write that differs": [
      { previous: undefined, differences: ["spec.replicas"] },
      { action: "apply", cause: "drifted" },
    ],
    "keeps a changed copy without differences": [
      { previous: { ...written, appliedVersion: "g2" }, differences: [] },
      { action: "keep", isUpToDate: true },
    ],
    "reverts drift": [
      { previous: { ...written, appliedVersion: "g2" }, differences: ["spec.replicas"] },
      { action: "apply", cause: "drifted" },
    ],
    "reports drift if the drift policy is Report": [
      { previous: { ...written, appliedVersion: "g2" }, differences: ["spec.replicas"], policy: { drift: "Report" } },
      { action: "keep", blocker: { reason: "Drifted", message: "changed on the cluster: spec.replicas" } },
    ],
    "pauses a drifted copy if the drift policy is Pause": [
      { previous: { ...written, appliedVersion: "g2" }, differences: ["spec.replicas"], policy: { drift: "Pause" } },
      { action: "keep", state: "Paused", blocker: { reason: "Drifted" } },
    ],
    "does not apply a changed manifest to a copy that is paused by drift": [
      {
        previous: { ...written, appliedHash: "f0", appliedVersion: "g2" },
        differences: ["spec.replicas"],
        policy: { drift: "Pause" },
      },
      { action: "keep", state: "Paused", blocker: { reason: "Drifted" } },
    ],
    "applies a changed manifest with the drift policy Pause if the copy has not drifted": [
      { previous: { ...written, appliedHash: "f0" }, differences: ["spec.image"], policy: { drift: "Pause" } },
      { action: "apply", cause: "changed" },
    ],
    "waits for a copy that is terminating": [
      { downstreamState: { kind: "there", copy: { ...copy, isDeleting: true } } },
      { action: "keep", state: "Applied", blocker: { reason: "Terminating" } },
    ],
    "keeps a copy on a cluster that is not Ready": [
      { targetCluster: silent, previous: { ...written, appliedHash: "f0" } },
      { action: "keep", state: "Stale", blocker: { reason: "ClusterNotReady" } },
    ],
    "keeps a copy that could not be read": [
      { downstreamState: { kind: "unknown", message: "timed out" } },
      { action: "keep", state: "Stale", blocker: { message: "timed out" } },
    ],
    "keeps a copy while its owner pauses sync": [
      { syncBlocker: { reason: "SyncPaused", message: "" }, previous: { ...written, appliedHash: "f0" } },
      { action: "keep", state: "Paused", blocker: { reason: "SyncPaused" } },
    ],
    "applies nothing if the manifest cannot be built": [
      {
        desired: { reason: "OverrideFailed", message: "no such path" },
        downstreamState: { kind: "absent" },
        previous: undefined,
      },
      { action: "keep", state: "Failed", blocker: { reason: "OverrideFailed" } },
    ],
    "keeps the existing copy if the new manifest cannot be built": [
      { desired: { reason: "OverrideFailed", message: "no such path" } },
      { action: "keep", state: undefined, blocker: { reason: "OverrideFailed" } },
    ],
    "does not overwrite a foreign object": [
      { downstreamState: { kind: "foreign", copy, message: "not created by TMC" }, previous: undefined },
      { action: "keep", state: "Failed", blocker: { reason: "ForeignObject" } },
    ],
    "adopts a foreign object without differences with adoption IfNoDiff": [
      { downstreamState: { kind: "foreign", copy, message: "x" }, policy: { adoption: "IfNoDiff" }, differences: [] },
      { action: "apply", cause: "adopted" },
    ],
    "compares a foreign object before adoption with IfNoDiff": [
      { downstreamState: { kind: "foreign", copy, message: "x" }, policy: { adoption: "IfNoDiff" } },
      { action: "compare" },
    ],
    "does not adopt a foreign object with differences with IfNoDiff": [
      {
        downstreamState: { kind: "foreign", copy, message: "x" },
        policy: { adoption: "IfNoDiff" },
        differences: ["spec.a"],
      },
      { action: "keep", state: "Failed", blocker: { reason: "ForeignObject" } },
    ],
    "adopts any foreign object with adoption Always": [
      { downstreamState: { kind: "foreign", copy, message: "x" }, policy: { adoption: "Always" } },
      { action: "apply", cause: "adopted" },
    ],
  };
  it.each(Object.entries(rows))("%s", (_, [differing, act]) => {
    expect(decideTarget({ ...facts, ...differing })).toMatchObject(act);
  });
});

describe("decideEviction", () => {
  const facts: EvictionFacts = {
    targetCluster,
    downstreamState: there,
    intent: "placed",
    hasTargets: true,
    isReplaced: true,
    deletionPolicy: "Delete",
    syncBlocker: undefined,
    holdMessage: undefined,
    isConfirmed: false,
    confirmCommand: "tmc confirm deploy/web -n shop",
  };
  const gone = { action: "remove", uid: "u1" };
  const rows: Record<string, readonly [Partial<EvictionFacts>, object]> = {
    "deletes a copy once the workload is ready on all target clusters": [{}, gone],
    "keeps a copy until its replacement is ready": [
      { isReplaced: false },
      { action: "keep", state: "Evicting", blocker: { reason: "WaitingForReplacement" } },
    ],
    "keeps a copy until its replacement is ready even if the deletion is confirmed": [
      { isReplaced: false, isConfirmed: true },
      { action: "keep", state: "Evicting", blocker: { reason: "WaitingForReplacement" } },
    ],
    "keeps the last copy if no cluster fits": [
      { hasTargets: false },
      { action: "keep", blocker: { reason: "LastCopy" } },
    ],
    "keeps the last copy if no cluster fits even if the deletion is confirmed": [
      { hasTargets: false, isConfirmed: true },
      { action: "keep", blocker: { reason: "LastCopy" } },
    ],
    "deletes the copy of a workload that no placement selects": [{ intent: "unplaced", hasTargets: false }, gone],
    "deletes the copy of a deleted workload at once": [
      { intent: "deleted", hasTargets: false, isReplaced: false },
      gone,
    ],
    "deletes the copy of a deleted workload even if many are deleted": [
      { intent: "deleted", holdMessage: "many" },
      gone,
    ],
    "deletes the copy of a deleted workload even if sync is disabled": [
      { intent: "deleted", syncBlocker: { reason: "SyncDisabled", message: "" } },
      gone,
    ],
    "holds a copy if too many would be deleted": [
      { holdMessage: "many" },
      { action: "keep", state: "Held", blocker: { reason: "DeletionsHeld" } },
    ],
    "deletes a held copy once the deletion is confirmed": [{ holdMessage: "many", isConfirmed: true }, gone],
    "holds the copy of a workload whose deletion was not observed": [
      { intent: "vanished" },
      { action: "keep", state: "Held", blocker: { reason: "WorkloadVanished" } },
    ],
    "deletes the copy of a vanished workload once the deletion is confirmed": [
      { intent: "vanished", isConfirmed: true },
      gone,
    ],
    "releases a copy if the deletion policy is Orphan": [
      { deletionPolicy: "Orphan" },
      { action: "release", uid: "u1" },
    ],
    "deletes the copy of a deleted workload even if the deletion policy is Orphan": [
      { intent: "deleted", deletionPolicy: "Orphan" },
      gone,
    ],
    "keeps a copy whose volumes must not be left behind": [
      { volumeMessage: "data" },
      { action: "keep", state: undefined, blocker: { reason: "VolumeNotMovable", message: "data" } },
    ],
    "keeps a copy with volumes even if the deletion is confirmed": [
      { volumeMessage: "data", isConfirmed: true },
      { action: "keep", blocker: { reason: "VolumeNotMovable" } },
    ],
    "deletes the copy of a deleted workload with volumes": [{ volumeMessage: "data", intent: "deleted" }, gone],
    "deletes the copy of a workload with volumes that no placement selects": [
      { volumeMessage: "data", intent: "unplaced", hasTargets: false },
      gone,
    ],
    "leaves a claim that moves with its data": [{ isClaim: true }, { action: "release", uid: "u1" }],
    "deletes a claim whose workload is deleted": [{ isClaim: true, intent: "deleted" }, gone],
    "deletes a claim that no placement selects": [{ isClaim: true, intent: "unplaced", hasTargets: false }, gone],
    "does not evict a copy on a cluster that is not Ready": [
      { targetCluster: silent },
      { action: "keep", state: "Evicting", blocker: { reason: "ClusterNotReady" } },
    ],
    "holds a copy on a cluster that is not Ready if too many would be deleted": [
      { targetCluster: silent, intent: "unplaced", hasTargets: false, holdMessage: "many" },
      { action: "keep", state: "Held", blocker: { reason: "DeletionsHeld", message: "many" } },
    ],
    "holds a copy that could not be read if too many would be deleted": [
      { downstreamState: { kind: "unknown", message: "timed out" }, holdMessage: "many" },
      { action: "keep", state: "Held", blocker: { reason: "DeletionsHeld", message: "many" } },
    ],
    "keeps a confirmed deletion held until the cluster is Ready": [
      { targetCluster: silent, holdMessage: "many", isConfirmed: true },
      { action: "keep", state: "Held", blocker: { reason: "ClusterNotReady" } },
    ],
    "does not hold the copy of a deleted workload on a cluster that is not Ready": [
      { targetCluster: silent, intent: "deleted", holdMessage: "many" },
      { action: "keep", state: "Evicting", blocker: { reason: "ClusterNotReady" } },
    ],
    "does not treat a copy that could not be read as gone": [
      { downstreamState: { kind: "unknown", message: "timed out" }, intent: "deleted" },
      { action: "keep", state: "Evicting", blocker: { reason: "ClusterNotReady" } },
    ],
    "forgets a copy that the cluster reports as absent": [
      { downstreamState: { kind: "absent" } },
      { action: "forget" },
    ],
    "forgets a foreign object": [
      { downstreamState: { kind: "foreign", copy, message: "x" }, intent: "deleted" },
      { action: "forget" },
    ],
    "forgets a copy whose registration is gone": [
      { targetCluster: undefined },
      { action: "forget", blocker: { reason: "ClusterUnregistered" } },
    ],
    "waits for an evicted copy that is terminating": [
      { downstreamState: { kind: "there", copy: { ...copy, isDeleting: true } } },
      { action: "keep", state: "Evicting", blocker: { reason: "Terminating" } },
    ],
    "does not evict a copy while its owner pauses sync": [
      { syncBlocker: { reason: "SyncPaused", message: "" } },
      { action: "keep", state: "Paused", blocker: { reason: "SyncPaused" } },
    ],
  };
  it.each(Object.entries(rows))("%s", (_, [differing, act]) => {
    expect(decideEviction({ ...facts, ...differing })).toMatchObject(act);
  });
});

it("appliedVersionOf returns the generation, or the resourceVersion without one", () => {
  expect(appliedVersionOf(copy)).toBe("g3");
  expect(appliedVersionOf({ ...copy, generation: undefined })).toBe("v7");
});
