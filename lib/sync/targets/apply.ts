import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import type { ObjectKey, WorkloadAddress } from "../../model/key.ts";
import { withClusterTimeout } from "../cluster-timeout.ts";
import { withAutoscaledReplicas } from "../desired/autoscaler.ts";
import type { DesiredManifest } from "../desired/desired.ts";
import { withWrittenHash } from "../desired/manifest.ts";
import { copyOf, type Downstream } from "../downstream.ts";
import type { Locator } from "../ownership/namespace-map.ts";
import type { Owner } from "../ownership/owner.ts";
import type { SyncSettings } from "../settings.ts";
import { copyHealth } from "../status/health.ts";
import type { Copy, CopyRecord, DownstreamState, TargetCluster } from "../sync-objects.ts";
import {
  appliedVersionOf,
  type Blocker,
  decideTarget,
  type Policy,
  stateOfBlocked,
  type TargetAction,
} from "./decide.ts";
import { differences, ownershipPaths } from "./drift.ts";
import type { TypeBlocker } from "./served-types.ts";

/** A cluster that should have a copy, and the facts about it. */
export type SyncTarget = Readonly<{
  registration: ObjectKey;
  targetCluster: TargetCluster | undefined;
  object: WorkloadAddress;
  owner: Owner;
  locator: Locator;
  downstreamState: DownstreamState;
  previous: CopyRecord | undefined;
  desired: DesiredManifest | Blocker;
  /** The hash of the dependencies as they are upstream. */
  dependenciesHash: string;
  generation: number | undefined;
  policy: Policy;
  /** Names of all clusters that should have a copy. */
  targets: readonly string[];
  syncBlocker: Blocker | undefined;
  /** Why the cluster cannot store objects of this type. */
  typeBlocker: TypeBlocker | undefined;
}>;

/** The state of a copy after the reconcile. */
export type CopyOutcome = Readonly<{
  record: CopyRecord;
  /** The copy as the cluster has it; undefined when it has none or could not be read. */
  copy: Copy | undefined;
  /** Whether the desired manifest is written. */
  isCurrent: boolean;
  /** The desired spec on this cluster; undefined where it could not be computed. */
  spec?: unknown;
  /** When to reconcile again, if no watch event will trigger it. */
  requeueSeconds?: number | undefined;
  /** Why the cluster was written to. */
  writeCause?: "new" | "changed" | "drifted" | "adopted" | undefined;
  /** Whether overrides of the placement changed what was written. */
  isOverridden?: boolean | undefined;
  /** The paths at which the copy differs from the desired manifest, if the placement tolerates that. */
  driftedPaths?: readonly string[] | undefined;
}>;

export type TargetTools = Readonly<{
  downstream: Downstream;
  clock: Clock;
  settings: SyncSettings;
  /** Applies the dependencies; returns a blocker when one is missing. */
  applyDependencies: (target: SyncTarget, signal: AbortSignal) => Promise<Blocker | undefined>;
  /** A hash of the dependencies as the cluster has them; undefined when they cannot be read. */
  hashDependencies: (target: SyncTarget, signal: AbortSignal) => Promise<string | undefined>;
}>;

/** Applies the desired manifest to one cluster. A failure there becomes part of the outcome and does not affect other clusters. */
export async function applyTarget(tools: TargetTools, target: SyncTarget, signal: AbortSignal): Promise<CopyOutcome> {
  try {
    return await withClusterTimeout(tools, target.registration.name, signal, (clusterSignal) =>
      decideAndApply(tools, target, clusterSignal).catch((error: unknown) =>
        retryUncached(tools, { target, error }, clusterSignal),
      ),
    );
  } catch (error) {
    signal.throwIfAborted();
    return failedOutcome(tools, target, error);
  }
}

/** Tries once more with the cluster's own state if a create conflicted because the cache lacked an object that exists. */
async function retryUncached(
  tools: TargetTools,
  { target, error }: Readonly<{ target: SyncTarget; error: unknown }>,
  signal: AbortSignal,
): Promise<CopyOutcome> {
  const { registration, object, owner, downstreamState } = target;
  const isCachedAbsence = downstreamState.kind === "absent" && downstreamState.isCached === true;
  if (!isCachedAbsence || faultOf(error) !== "conflict") throw error;
  const actual = await tools.downstream.readCopy({ registration, object }, owner, signal);
  return decideAndApply(tools, { ...target, downstreamState: actual }, signal);
}

async function decideAndApply(tools: TargetTools, target: SyncTarget, signal: AbortSignal): Promise<CopyOutcome> {
  const { registration, object, desired, typeBlocker } = target;
  if (typeBlocker !== undefined) {
    const { blocker, requeueSeconds } = typeBlocker;
    const outcome = await keep(tools, target, { action: "keep", state: stateOfBlocked(blocker), blocker }, signal);
    return { ...outcome, requeueSeconds };
  }
  const facts = {
    ...target,
    desired: "reason" in desired ? desired : { ...desired, dependenciesHash: target.dependenciesHash },
  };
  let decided: TargetAction = decideTarget(facts);
  if (decided.action === "compare" && !("reason" in desired)) {
    const live = await tools.downstream.readObject({ registration, object }, signal);
    if (live === undefined) return decideAndApply(tools, { ...target, downstreamState: { kind: "absent" } }, signal);
    const ignore = target.downstreamState.kind === "foreign" ? ownershipPaths : [];
    decided = decideTarget({ ...facts, differences: differences(desired.manifest, live, { ignore }) });
  }
  if (decided.action !== "apply" || "reason" in desired) {
    return keep(tools, target, decided.action === "keep" ? decided : { action: "keep" }, signal);
  }
  return apply(tools, target, desired, decided.cause, signal);
}

type KeepAction = Extract<TargetAction, { action: "keep" }>;

/** Leaves the copy as it is, and applies its dependencies if only they have changed. */
async function keep(
  tools: TargetTools,
  target: SyncTarget,
  decided: KeepAction,
  signal: AbortSignal,
): Promise<CopyOutcome> {
  const { downstreamState, previous, desired, generation } = target;
  const copy = downstreamState.kind === "there" ? downstreamState.copy : undefined;
  let { blocker } = decided;
  let referencesHash = previous?.referencesHash;
  if (decided.isUpToDate === true && !(await areDependenciesCurrent(tools, target, signal))) {
    blocker = await tools.applyDependencies(target, signal);
    if (blocker === undefined) referencesHash = await hashAppliedDependencies(tools, target, signal);
  }
  const isUpToDate = decided.isUpToDate === true && !("reason" in desired);
  const known = copy === undefined || isUnread(decided) ? carriedOver(previous) : observedFields(target, copy);
  const record: CopyRecord = {
    name: target.registration.name,
    ...known,
    ...(referencesHash === undefined || referencesHash === "" ? {} : { referencesHash }),
    ...(isUpToDate && copy !== undefined
      ? {
          appliedHash: desired.hash,
          appliedVersion: appliedVersionOf(copy),
          uid: copy.uid,
          generation: generation ?? 0,
        }
      : {}),
    ...withBlocker(decided.state, blocker, known.state),
  };
  return {
    record,
    copy: isUnread(decided) ? undefined : copy,
    isCurrent: isUpToDate,
    spec: "reason" in desired ? undefined : desired.manifest.spec,
    requeueSeconds:
      isUnread(decided) && target.targetCluster?.isReady === true ? tools.settings.retrySeconds : undefined,
    driftedPaths: decided.driftedPaths,
  };
}

async function apply(
  tools: TargetTools,
  target: SyncTarget,
  desired: DesiredManifest,
  cause: NonNullable<CopyOutcome["writeCause"]>,
  signal: AbortSignal,
): Promise<CopyOutcome> {
  const { downstream } = tools;
  const { registration, object, locator, generation, downstreamState } = target;
  let referencesHash = target.previous?.referencesHash;
  if (downstreamState.kind !== "there" || !(await areDependenciesCurrent(tools, target, signal))) {
    const blocker = await tools.applyDependencies(target, signal);
    if (blocker !== undefined) {
      const copy = downstreamState.kind === "there" ? downstreamState.copy : undefined;
      return blockedOutcome(target, copy, blocker);
    }
    referencesHash = await hashAppliedDependencies(tools, target, signal);
  }
  // After the dependencies: while one is missing, nothing is written, and an empty namespace would be of no use.
  await downstream.ensureNamespace(registration, locator, signal);
  const live =
    desired.initialReplicas === undefined ? undefined : await downstream.readObject({ registration, object }, signal);
  const manifest = withWrittenHash(withAutoscaledReplicas(desired, live), desired.hash);
  const copy = copyOf(await downstream.apply({ registration, object }, manifest, signal));
  const record: CopyRecord = {
    name: registration.name,
    ...observedFields(target, copy),
    appliedHash: desired.hash,
    appliedVersion: appliedVersionOf(copy),
    uid: copy.uid,
    generation: generation ?? 0,
    ...(referencesHash === undefined || referencesHash === "" ? {} : { referencesHash }),
  };
  return {
    record,
    copy,
    isCurrent: true,
    spec: manifest.spec,
    writeCause: cause,
    isOverridden: desired.isOverridden,
  };
}

/** Separates the upstream hash from the downstream hash in `referencesHash` of the record. */
const hashSeparator = ".";

/** The value of `referencesHash` once all dependencies are applied: `<upstream hash>.<downstream hash>`. */
async function hashAppliedDependencies(tools: TargetTools, target: SyncTarget, signal: AbortSignal): Promise<string> {
  const { dependenciesHash } = target;
  if (dependenciesHash === "") return "";
  const downstreamHash = await tools.hashDependencies(target, signal);
  return downstreamHash === undefined ? dependenciesHash : `${dependenciesHash}${hashSeparator}${downstreamHash}`;
}

/** Whether the cluster has all dependencies in the upstream version, unchanged since they were written. */
async function areDependenciesCurrent(tools: TargetTools, target: SyncTarget, signal: AbortSignal): Promise<boolean> {
  const [upstreamHash = "", downstreamHash] = (target.previous?.referencesHash ?? "").split(hashSeparator);
  if (upstreamHash !== target.dependenciesHash) return false;
  // A placement that tolerates drift of copies tolerates drift of dependencies too.
  if (upstreamHash === "" || (target.policy.drift ?? "Revert") !== "Revert") return true;
  const actualHash = await tools.hashDependencies(target, signal);
  return actualHash === undefined || actualHash === downstreamHash;
}

/** The outcome when dependencies cannot be applied. */
function blockedOutcome(target: SyncTarget, copy: Copy | undefined, blocker: Blocker): CopyOutcome {
  const { registration, previous } = target;
  const known =
    copy === undefined ? carriedOver(previous) : { ...carriedOver(previous), ...observedFields(target, copy) };
  const record: CopyRecord = {
    name: registration.name,
    ...known,
    ...withBlocker(copy === undefined ? "Pending" : undefined, blocker, known.state),
  };
  return { record, copy, isCurrent: false };
}

function failedOutcome({ settings }: TargetTools, target: SyncTarget, error: unknown): CopyOutcome {
  const fault = faultOf(error);
  if (fault === undefined) throw error;
  const { registration, downstreamState, previous } = target;
  const isRejected = fault === "invalid" || fault === "forbidden" || fault === "not-found";
  const reason = fault === "not-found" ? "TypeNotServed" : isRejected ? "Rejected" : "Applying";
  const blocker: Blocker = { reason, message: oneLine(error instanceof Error ? error.message : fault) };
  const known = carriedOver(previous);
  const record: CopyRecord = {
    name: registration.name,
    ...known,
    ...withBlocker(isRejected ? "Failed" : "Pending", blocker, known.state),
  };
  // A type that is not found may belong to a server that is starting, so the next reconcile asks for it soon.
  const isLasting = isRejected && fault !== "not-found";
  return {
    record,
    copy: downstreamState.kind === "there" ? downstreamState.copy : undefined,
    isCurrent: false,
    requeueSeconds: isLasting ? settings.rejectedRetrySeconds : settings.retrySeconds,
  };
}

/** Whether the copy could not be read. */
const isUnread = ({ state }: KeepAction): boolean => state === "Stale";

/** The fields that stay in the record while the copy is not read: what TMC wrote, not how the copy was. */
function carriedOver(previous: CopyRecord | undefined): Partial<CopyRecord> & Pick<CopyRecord, "state"> {
  if (previous === undefined) return { state: "Pending" };
  const { readyReplicas: _, reason: __, message: ___, ...kept } = previous;
  return kept;
}

/** The fields of the record that follow from the copy as it was read. */
function observedFields(
  { desired, previous, owner }: SyncTarget,
  copy: Copy,
): Partial<CopyRecord> & Pick<CopyRecord, "state"> {
  const manifest = "reason" in desired ? undefined : desired.manifest;
  const { apiVersion, kind } = owner;
  const health = copyHealth({
    apiVersion,
    kind,
    spec: manifest?.spec,
    status: copy.status,
    generation: copy.generation,
  });
  const desiredReplicas =
    "reason" in desired ? previous?.desiredReplicas : (desired.desiredReplicas ?? health.desiredReplicas);
  const { appliedHash, appliedVersion, uid, generation } = previous ?? {};
  return {
    ...(appliedHash === undefined ? {} : { appliedHash }),
    ...(appliedVersion === undefined ? {} : { appliedVersion }),
    ...(uid === undefined ? {} : { uid }),
    ...(generation === undefined ? {} : { generation }),
    state: health.state,
    ...(desiredReplicas === undefined ? {} : { desiredReplicas }),
    ...(health.readyReplicas === undefined ? {} : { readyReplicas: health.readyReplicas }),
    ...(health.reason === undefined || health.state === "Ready" ? {} : { reason: health.reason }),
    ...(health.message === undefined || health.state === "Ready" ? {} : { message: health.message }),
  };
}

function withBlocker(
  state: CopyRecord["state"] | undefined,
  blocker: Blocker | undefined,
  otherwise: CopyRecord["state"],
): Partial<CopyRecord> & Pick<CopyRecord, "state"> {
  return { state: state ?? otherwise, ...(blocker === undefined ? {} : blocker) };
}
