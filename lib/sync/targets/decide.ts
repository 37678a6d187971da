import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { Intent } from "../decide.ts";
import type { CopyReason } from "../status/reasons.ts";
import type { Copy, CopyRecord, DownstreamState, Manifest, TargetCluster } from "../sync-objects.ts";

/** What a cluster is to have. */
export type DesiredCopy = Readonly<{
  manifest: Manifest;
  /** The fingerprint of the manifest. */
  fingerprint: string;
  /** The fingerprint of what comes along with it. */
  references: string;
}>;

/** Why a cluster cannot be given what it should have. */
export type Blocker = Readonly<{ reason: CopyReason; message: string }>;

export type Policy = Readonly<Pick<WorkloadPlacement["spec"], "drift" | "adoption" | "customResources">>;

/** What is done about a copy that belongs where it is. */
export type TargetAction =
  /** Nothing is written; the state follows from what was seen, unless one is given. */
  | Readonly<{
      do: "keep";
      state?: CopyRecord["state"] | undefined;
      obstacle?: Blocker;
      isAsWished?: boolean;
      /** Where somebody has made the copy say something else, and may. */
      drifted?: readonly string[];
    }>
  /** First it has to be read and compared with the wish. */
  | Readonly<{ do: "compare" }>
  | Readonly<{ do: "apply"; because: "new" | "changed" | "drifted" | "adopted" }>;

export type TargetFacts = Readonly<{
  targetCluster: TargetCluster | undefined;
  downstreamState: DownstreamState;
  before: CopyRecord | undefined;
  desired: DesiredCopy | Blocker;
  policy: Policy;
  stopped: Blocker | undefined;
  /** All clusters that are to have a copy. @default only this one */
  targets?: readonly string[] | undefined;
  /** Where the copy says something else than the wish; undefined when nobody has compared them. */
  differences?: readonly string[] | undefined;
}>;

/** What is done about a copy on a cluster that it does not belong on. */
export type EvictionAction =
  | Readonly<{ do: "keep"; state: CopyRecord["state"] | undefined; obstacle: Blocker }>
  /** It is not there, or not ours, or its cluster has gone: the record need not name it any more. */
  | Readonly<{ do: "forget"; obstacle?: Blocker }>
  | Readonly<{ do: "remove" | "release"; uid: string }>;

export type EvictionFacts = Readonly<{
  /** Undefined when the hub has said that there is no such registration. */
  targetCluster: TargetCluster | undefined;
  downstreamState: DownstreamState;
  intent: Intent["kind"];
  hasTargets: boolean;
  /** Whether every cluster that should have a copy has one that is ready. */
  isReplaced: boolean;
  deletionPolicy: "Delete" | "Orphan";
  stopped: Blocker | undefined;
  /** Why many copies must not leave at once; undefined when they may. */
  held: string | undefined;
  isConfirmed: boolean;
}>;

/** Decides what to do about the copy on one cluster that should have one. */
export function decideTarget(facts: TargetFacts): TargetAction {
  const { targetCluster, downstreamState, before, desired, policy, stopped, differences } = facts;
  if (targetCluster === undefined || !targetCluster.isReady)
    return { do: "keep", state: "Stale", obstacle: unheard(targetCluster) };
  if (stopped !== undefined) return { do: "keep", state: "Paused", obstacle: stopped };
  if (downstreamState.kind === "unknown") {
    return { do: "keep", state: "Stale", obstacle: { reason: "ClusterNotReady", message: downstreamState.why } };
  }
  if ("reason" in desired) {
    const isThere = downstreamState.kind === "there";
    return { do: "keep", state: isThere ? undefined : stateOf(desired), obstacle: desired };
  }
  if (downstreamState.kind === "foreign") {
    const { who, holder } = downstreamState;
    // Each would take it from the other, for ever.
    const isTaken = holder !== undefined && facts.targets?.includes(holder) === true;
    return decideAdoption({ who, isTaken }, policy, differences);
  }
  if (downstreamState.kind === "absent") {
    if (before?.appliedHash === undefined || revertsDrift(policy)) return { do: "apply", because: "new" };
    return drifted(policy, ["it was deleted there"]);
  }
  const { copy } = downstreamState;
  if (copy.isDeleting) {
    const message = "somebody deletes it there; it is written again when it has gone";
    return { do: "keep", state: "Applied", obstacle: { reason: "Terminating", message } };
  }
  const isKnown = before?.appliedHash === desired.fingerprint;
  if (isKnown && before.uid === copy.uid && before.appliedVersion === appliedVersionOf(copy))
    return { do: "keep", isAsWished: true };
  // The wish is another one. What somebody may have changed there is no reason to hold back, unless that is the rule.
  if (before?.appliedHash !== undefined && !isKnown && policy.drift !== "Pause")
    return { do: "apply", because: "changed" };
  if (differences === undefined) return { do: "compare" };
  if (differences.length === 0) return { do: "keep", isAsWished: true };
  if (!isKnown && before?.appliedVersion === appliedVersionOf(copy)) return { do: "apply", because: "changed" };
  if (before?.appliedHash === undefined || revertsDrift(policy)) return { do: "apply", because: "drifted" };
  return drifted(policy, differences);
}

/** Decides what to do about the copy on one cluster that should have none. */
export function decideEviction(facts: EvictionFacts): EvictionAction {
  const { targetCluster, downstreamState, intent, hasTargets, isReplaced, deletionPolicy, stopped, held, isConfirmed } =
    facts;
  if (targetCluster === undefined) {
    const message = "its registration has gone; whatever is there was left as it is";
    return { do: "forget", obstacle: { reason: "ClusterUnregistered", message } };
  }
  if (!targetCluster.isReady) return { do: "keep", state: "Evicting", obstacle: unheard(targetCluster) };
  if (downstreamState.kind === "unknown") {
    return { do: "keep", state: "Evicting", obstacle: { reason: "ClusterNotReady", message: downstreamState.why } };
  }
  // Not ours is never touched; not there, says the cluster itself.
  if (downstreamState.kind !== "there") return { do: "forget" };
  const { copy } = downstreamState;
  if (copy.isDeleting) {
    return {
      do: "keep",
      state: "Evicting",
      obstacle: { reason: "Terminating", message: "the cluster is removing it" },
    };
  }
  if (stopped !== undefined && intent !== "deleted") {
    return { do: "keep", state: "Paused", obstacle: stopped };
  }
  const gone: EvictionAction = {
    do: deletionPolicy === "Orphan" && intent !== "deleted" ? "release" : "remove",
    uid: copy.uid,
  };
  if (intent === "deleted") return gone;
  if (intent === "vanished") {
    if (isConfirmed) return gone;
    const message = "the workload is not in its workspace, and nobody saw it being deleted";
    return { do: "keep", state: "Held", obstacle: { reason: "WorkloadVanished", message } };
  }
  if (intent === "wanted" && !hasTargets) {
    const message = "no cluster fits any more; the copy stays where it is";
    return { do: "keep", state: undefined, obstacle: { reason: "LastCopy", message } };
  }
  if (intent === "wanted" && !isReplaced) {
    const message = "it goes when the workload is ready on every cluster that it belongs on";
    return { do: "keep", state: "Evicting", obstacle: { reason: "WaitingForReplacement", message } };
  }
  if (held !== undefined && !isConfirmed)
    return { do: "keep", state: "Held", obstacle: { reason: "DeletionsHeld", message: held } };
  return gone;
}

/** What tells whether anybody has written the copy: the generation, or where a type has none, the version. */
export function appliedVersionOf({
  generation,
  resourceVersion,
}: Pick<Copy, "generation" | "resourceVersion">): string {
  return generation === undefined ? `v${resourceVersion}` : `g${generation}`;
}

const revertsDrift = ({ drift = "Revert" }: Policy): boolean => drift === "Revert";

function decideAdoption(
  { who, isTaken }: Readonly<{ who: string; isTaken: boolean }>,
  { adoption = "Never" }: Policy,
  differences: readonly string[] | undefined,
): TargetAction {
  const foreign = (message: string): TargetAction => ({
    do: "keep",
    state: "Failed",
    obstacle: { reason: "ForeignObject", message },
  });
  if (isTaken) return foreign(`the cluster has one of that name: ${who}`);
  switch (adoption) {
    case "Always":
      return { do: "apply", because: "adopted" };
    case "Never":
      return foreign(`the cluster has one of that name: ${who}`);
    case "IfNoDiff":
      if (differences === undefined) return { do: "compare" };
      if (differences.length === 0) return { do: "apply", because: "adopted" };
      return foreign(`the cluster has one of that name (${who}) that differs: ${shortList(differences)}`);
  }
}

function drifted({ drift }: Policy, differences: readonly string[]): TargetAction {
  const obstacle: Blocker = { reason: "Drifted", message: `changed on the cluster: ${shortList(differences)}` };
  const kept = { do: "keep", obstacle, drifted: differences } as const;
  return drift === "Pause" ? { ...kept, state: "Paused" } : kept;
}

/** As many paths as a message bears. */
const mostShown = 5;

function shortList(paths: readonly string[]): string {
  const rest = paths.length - mostShown;
  return paths.slice(0, mostShown).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

function unheard(cluster: TargetCluster | undefined): Blocker {
  const since = cluster?.lastHeartbeat;
  const message =
    cluster === undefined
      ? "there is no such registration"
      : since === undefined
        ? "the cluster has not been heard from"
        : `the cluster was last heard from at ${since}`;
  return { reason: "ClusterNotReady", message };
}

const waiting: ReadonlySet<CopyReason> = new Set(["ReferenceMissing", "Applying", "InstallingType"]);

/** How a copy is that is not there because of an obstacle. */
export function stateOf({ reason }: Blocker): CopyRecord["state"] {
  return waiting.has(reason) ? "Pending" : "Failed";
}
