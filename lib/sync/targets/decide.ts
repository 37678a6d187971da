import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { Intent } from "../decide.ts";
import type { CopyReason } from "../status/reasons.ts";
import type { Copy, CopyRecord, DownstreamState, Manifest, TargetCluster } from "../sync-objects.ts";

/** What a cluster should have. */
export type DesiredCopy = Readonly<{
  manifest: Manifest;
  /** The hash of the manifest. */
  hash: string;
  /** The hash of the dependencies. */
  dependenciesHash: string;
}>;

/** Why a cluster cannot get what it should have. */
export type Blocker = Readonly<{ reason: CopyReason; message: string }>;

export type Policy = Readonly<Pick<WorkloadPlacement["spec"], "drift" | "adoption" | "customResources">>;

/** What to do about a copy on a cluster that should have one. */
export type TargetAction =
  /** Write nothing. Unless a state is given, it follows from the copy. */
  | Readonly<{
      action: "keep";
      state?: CopyRecord["state"] | undefined;
      blocker?: Blocker;
      isUpToDate?: boolean;
      /** The paths at which the copy differs from the desired manifest, if the placement tolerates that. */
      driftedPaths?: readonly string[];
    }>
  /** Read the whole object and decide again with its differences from the desired manifest. */
  | Readonly<{ action: "compare" }>
  | Readonly<{ action: "apply"; cause: "new" | "changed" | "drifted" | "adopted" }>;

export type TargetFacts = Readonly<{
  targetCluster: TargetCluster | undefined;
  downstreamState: DownstreamState;
  previous: CopyRecord | undefined;
  desired: DesiredCopy | Blocker;
  policy: Policy;
  syncBlocker: Blocker | undefined;
  /** Names of all clusters that should have a copy. @default only this one */
  targets?: readonly string[] | undefined;
  /** The paths at which the copy differs from the desired manifest; undefined when they were not compared yet. */
  differences?: readonly string[] | undefined;
}>;

/** What to do about a copy on a cluster that should have none. */
export type EvictionAction =
  | Readonly<{ action: "keep"; state: CopyRecord["state"] | undefined; blocker: Blocker }>
  /** The copy does not exist, is not ours, or its registration is gone: the record need not name the cluster any more. */
  | Readonly<{ action: "forget"; blocker?: Blocker }>
  | Readonly<{ action: "remove" | "release"; uid: string }>;

export type EvictionFacts = Readonly<{
  /** Undefined when the server has reported that the registration does not exist. */
  targetCluster: TargetCluster | undefined;
  downstreamState: DownstreamState;
  intent: Intent["kind"];
  hasTargets: boolean;
  /** Whether every target cluster has a copy that is ready. */
  isReplaced: boolean;
  deletionPolicy: "Delete" | "Orphan";
  syncBlocker: Blocker | undefined;
  /** Whether the workload itself is a PersistentVolumeClaim. */
  isClaim?: boolean | undefined;
  /** Why the copy stays with its volumes; undefined when it may move without them. */
  volumeMessage?: string | undefined;
  /** Why the deletion guard holds the deletion; undefined when it does not. */
  holdMessage: string | undefined;
  isConfirmed: boolean;
  /** The command that confirms the deletion of all copies of the workload. */
  confirmCommand: string;
}>;

/** Decides what to do about the copy on one cluster that should have one. */
export function decideTarget(facts: TargetFacts): TargetAction {
  const { targetCluster, downstreamState, previous, desired, policy, syncBlocker, differences } = facts;
  if (targetCluster === undefined || !targetCluster.isReady)
    return { action: "keep", state: "Stale", blocker: notReady(targetCluster) };
  if (syncBlocker !== undefined) return { action: "keep", state: "Paused", blocker: syncBlocker };
  if (downstreamState.kind === "unknown") {
    return { action: "keep", state: "Stale", blocker: { reason: "ClusterNotReady", message: downstreamState.message } };
  }
  if ("reason" in desired) {
    const isThere = downstreamState.kind === "there";
    return { action: "keep", state: isThere ? undefined : stateOfBlocked(desired), blocker: desired };
  }
  if (downstreamState.kind === "foreign") {
    const { message, otherRegistration } = downstreamState;
    // Two registrations that should both have it would take the object from each other in turns.
    const isOtherTarget = otherRegistration !== undefined && facts.targets?.includes(otherRegistration) === true;
    return decideAdoption({ message, isOtherTarget }, policy, differences);
  }
  if (downstreamState.kind === "absent") {
    if (previous?.appliedHash === undefined || revertsDrift(policy)) return { action: "apply", cause: "new" };
    // Without a state, the one that was read last would stay: Ready, where there is no copy.
    return { ...keepDrifted(policy, ["the object was deleted"]), state: "Paused" };
  }
  const { copy } = downstreamState;
  if (copy.isDeleting) {
    const message = "the copy is being deleted on the cluster; TMC writes it again once it is gone";
    return { action: "keep", state: "Applied", blocker: { reason: "Terminating", message } };
  }
  const isHashApplied = previous?.appliedHash === desired.hash;
  // A cluster that was restored from a backup has an earlier manifest than the record says.
  const isEarlier = isHashApplied && copy.writtenHash !== undefined && copy.writtenHash !== desired.hash;
  if (isHashApplied && !isEarlier && previous.uid === copy.uid && previous.appliedVersion === appliedVersionOf(copy))
    return { action: "keep", isUpToDate: true };
  // The desired manifest has changed. It is applied without a comparison, unless drift pauses the copy.
  if (previous?.appliedHash !== undefined && !isHashApplied && policy.drift !== "Pause")
    return { action: "apply", cause: "changed" };
  if (differences === undefined) return { action: "compare" };
  // Differences do not show what an earlier manifest had and this one has not: only a write removes that.
  const isUnrecorded = previous?.appliedHash === undefined;
  const mayHaveMore = (isUnrecorded || isEarlier) && differences.length === 0;
  if ((!isHashApplied && previous?.appliedVersion === appliedVersionOf(copy)) || mayHaveMore)
    return { action: "apply", cause: "changed" };
  if (differences.length === 0) return { action: "keep", isUpToDate: true };
  if (isUnrecorded || revertsDrift(policy)) return { action: "apply", cause: "drifted" };
  return keepDrifted(policy, differences);
}

/** Decides what to do about the copy on one cluster that should have none. */
export function decideEviction(facts: EvictionFacts): EvictionAction {
  const { targetCluster, downstreamState, intent, hasTargets, isReplaced, deletionPolicy } = facts;
  const { syncBlocker, holdMessage, isConfirmed, isClaim = false } = facts;
  if (targetCluster === undefined) {
    const message = "the registration does not exist any more; objects on the cluster are left unchanged";
    return { action: "forget", blocker: { reason: "ClusterUnregistered", message } };
  }
  if (!targetCluster.isReady) return keepUnread(notReady(targetCluster), facts);
  if (downstreamState.kind === "unknown") {
    return keepUnread({ reason: "ClusterNotReady", message: downstreamState.message }, facts);
  }
  // An object that is not ours is never touched. That a copy is absent was reported by the cluster itself.
  if (downstreamState.kind !== "there") return { action: "forget" };
  const { copy } = downstreamState;
  if (copy.isDeleting) {
    const blocker: Blocker = { reason: "Terminating", message: "the cluster is deleting the copy" };
    return { action: "keep", state: "Evicting", blocker };
  }
  if (syncBlocker !== undefined && intent !== "deleted") {
    return { action: "keep", state: "Paused", blocker: syncBlocker };
  }
  // A claim that is deleted takes its data with it: a move leaves it behind.
  const isOrphaned = (deletionPolicy === "Orphan" && intent !== "deleted") || (isClaim && intent === "placed");
  const evict: EvictionAction = { action: isOrphaned ? "release" : "remove", uid: copy.uid };
  if (intent === "deleted") return evict;
  if (intent === "vanished") {
    if (isConfirmed) return evict;
    const message = `the workload does not exist upstream, and its deletion was not observed; to delete its copies, run: ${facts.confirmCommand}`;
    return { action: "keep", state: "Held", blocker: { reason: "WorkloadVanished", message } };
  }
  if (intent === "placed" && !hasTargets) {
    const message = "no cluster matches the placement; the copy is kept";
    return { action: "keep", state: undefined, blocker: { reason: "LastCopy", message } };
  }
  if (intent === "placed" && facts.volumeMessage !== undefined) {
    return { action: "keep", state: undefined, blocker: { reason: "VolumeNotMovable", message: facts.volumeMessage } };
  }
  if (intent === "placed" && !isReplaced) {
    const message = "the copy is kept until the workload is ready on all of its target clusters";
    return { action: "keep", state: "Evicting", blocker: { reason: "WaitingForReplacement", message } };
  }
  if (holdMessage !== undefined && !isConfirmed)
    return { action: "keep", state: "Held", blocker: { reason: "DeletionsHeld", message: holdMessage } };
  return evict;
}

/**
 * Keeps a copy that cannot be read now. A deletion that is held stays held, and so does one that is confirmed, until it is done:
 * otherwise it would be carried out, or its confirmation would be lost, because the cluster is Ready again.
 */
function keepUnread(blocker: Blocker, facts: EvictionFacts): EvictionAction {
  const { intent, hasTargets, isReplaced, syncBlocker, volumeMessage, holdMessage, isConfirmed } = facts;
  const isReplacedMove = intent === "placed" && hasTargets && isReplaced && volumeMessage === undefined;
  const isHeld = holdMessage !== undefined && syncBlocker === undefined && (intent === "unplaced" || isReplacedMove);
  if (!isHeld) return { action: "keep", state: "Evicting", blocker };
  return {
    action: "keep",
    state: "Held",
    blocker: isConfirmed ? blocker : { reason: "DeletionsHeld", message: holdMessage },
  };
}

/** Identifies the version of a copy that TMC wrote: its generation, or its resourceVersion if the type has no generation. */
export function appliedVersionOf({
  generation,
  resourceVersion,
}: Pick<Copy, "generation" | "resourceVersion">): string {
  return generation === undefined ? `v${resourceVersion}` : `g${generation}`;
}

const revertsDrift = ({ drift = "Revert" }: Policy): boolean => drift === "Revert";

function decideAdoption(
  { message, isOtherTarget }: Readonly<{ message: string; isOtherTarget: boolean }>,
  { adoption = "Never" }: Policy,
  differences: readonly string[] | undefined,
): TargetAction {
  const keepForeign = (explanation: string): TargetAction => ({
    action: "keep",
    state: "Failed",
    blocker: { reason: "ForeignObject", message: `the cluster has an object of that name ${explanation}` },
  });
  if (isOtherTarget) return keepForeign(`that TMC may not adopt: ${message}`);
  switch (adoption) {
    case "Always":
      return { action: "apply", cause: "adopted" };
    case "Never":
      return keepForeign(`that TMC may not adopt: ${message}`);
    case "IfNoDiff":
      if (differences === undefined) return { action: "compare" };
      if (differences.length === 0) return { action: "apply", cause: "adopted" };
      return keepForeign(`(${message}) that differs: ${formatPaths(differences)}`);
  }
}

function keepDrifted({ drift }: Policy, differences: readonly string[]): Extract<TargetAction, { action: "keep" }> {
  const blocker: Blocker = { reason: "Drifted", message: `changed on the cluster: ${formatPaths(differences)}` };
  const kept = { action: "keep", blocker, driftedPaths: differences } as const;
  return drift === "Pause" ? { ...kept, state: "Paused" } : kept;
}

/** Paths that a message lists, so that it stays readable. */
const maxListedPaths = 5;

function formatPaths(paths: readonly string[]): string {
  const rest = paths.length - maxListedPaths;
  return paths.slice(0, maxListedPaths).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

function notReady(targetCluster: TargetCluster | undefined): Blocker {
  const lastHeartbeat = targetCluster?.lastHeartbeat;
  const message =
    targetCluster === undefined
      ? "there is no such registration"
      : lastHeartbeat === undefined
        ? "the cluster has never sent a heartbeat"
        : `the last heartbeat of the cluster was at ${lastHeartbeat}`;
  return { reason: "ClusterNotReady", message };
}

const pendingReasons: ReadonlySet<CopyReason> = new Set(["ReferenceMissing", "Applying", "InstallingType"]);

/** The state of a copy that does not exist because of a blocker. */
export function stateOfBlocked({ reason }: Blocker): CopyRecord["state"] {
  return pendingReasons.has(reason) ? "Pending" : "Failed";
}
