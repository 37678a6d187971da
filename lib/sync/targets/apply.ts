import type { Clock } from "@tmc/kube/clock.ts";
import { ApiError, faultOf, oneLine } from "@tmc/kube/errors.ts";
import type { ObjectKey, WorkloadAddress } from "../../model/key.ts";
import { withClusterTimeout } from "../cluster-timeout.ts";
import { withAutoscaledReplicas } from "../desired/autoscaler.ts";
import type { DesiredManifest } from "../desired/desired.ts";
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
  stateOf as stateOfObstacle,
  type TargetAction,
} from "./decide.ts";
import { differences, markPaths } from "./drift.ts";
import type { TypeBlocker } from "./served-types.ts";

/** A cluster that is to have a copy, and all that is known about it. */
export type Target = Readonly<{
  key: ObjectKey;
  targetCluster: TargetCluster | undefined;
  object: WorkloadAddress;
  origin: Owner;
  locator: Locator;
  downstreamState: DownstreamState;
  before: CopyRecord | undefined;
  desired: DesiredManifest | Blocker;
  /** The fingerprint of what comes along. */
  references: string;
  generation: number | undefined;
  policy: Policy;
  /** All clusters that are to have a copy. */
  targets: readonly string[];
  stopped: Blocker | undefined;
  /** Why it cannot be given objects of this type. */
  trouble: TypeBlocker | undefined;
}>;

/** What became of a copy. */
export type Outcome = Readonly<{
  record: CopyRecord;
  /** The copy as the cluster has it; undefined when it has none or was not heard from. */
  copy: Copy | undefined;
  /** Whether the copy is what it should be, as far as writing goes. */
  isCurrent: boolean;
  /** The spec that it should have there; undefined where that could not be made. */
  spec?: unknown;
  /** After how long to look again, where no change will tell. */
  againSeconds?: number | undefined;
  /** Why the cluster was written to. */
  wrote?: "new" | "changed" | "drifted" | "adopted" | undefined;
  /** Whether what was written is what an override of the placement made of it. */
  isTransformed?: boolean | undefined;
  /** Where somebody has made the copy say something else, and may. */
  drifted?: readonly string[] | undefined;
}>;

export type TargetTools = Readonly<{
  fleet: Downstream;
  /** Sends what comes along; an obstacle when something is missing. */
  sendReferences: (target: Target, signal: AbortSignal) => Promise<Blocker | undefined>;
  clock: Clock;
  settings: SyncSettings;
  /** The same text as long as what came along is on the cluster as it was written; undefined when that cannot be seen. */
  stampReferences: (target: Target, signal: AbortSignal) => Promise<string | undefined>;
}>;

/** Sees to it that one cluster has what it should have. Whatever fails there is said in the outcome, and holds up no other. */
export async function applyTarget(tools: TargetTools, target: Target, signal: AbortSignal): Promise<Outcome> {
  try {
    return await withClusterTimeout(tools, target.key.name, signal, (itsSignal) =>
      settle(tools, target, itsSignal).catch((error: unknown) => lookAfterAll(tools, { target, error }, itsSignal)),
    );
  } catch (error) {
    signal.throwIfAborted();
    return afterFailure(tools, target, error);
  }
}

/** Where nothing was presumed to be, something is: now the cluster itself is asked what. */
async function lookAfterAll(
  tools: TargetTools,
  { target, error }: Readonly<{ target: Target; error: unknown }>,
  signal: AbortSignal,
): Promise<Outcome> {
  const { key, object, origin, downstreamState } = target;
  const isPresumed = downstreamState.kind === "absent" && downstreamState.isPresumed === true;
  if (!isPresumed || faultOf(error) !== "conflict") throw error;
  return settle(
    tools,
    { ...target, downstreamState: await tools.fleet.readCopy({ registration: key, object }, origin, signal) },
    signal,
  );
}

async function settle(tools: TargetTools, target: Target, signal: AbortSignal): Promise<Outcome> {
  const { fleet } = tools;
  const { key, object, desired, trouble } = target;
  if (trouble !== undefined) {
    const { obstacle, againSeconds } = trouble;
    const outcome = await keep(tools, target, { do: "keep", state: stateOfObstacle(obstacle), obstacle }, signal);
    return { ...outcome, againSeconds };
  }
  const facts = { ...target, desired: "reason" in desired ? desired : { ...desired, references: target.references } };
  let act: TargetAction = decideTarget(facts);
  if (act.do === "compare" && !("reason" in desired)) {
    const live = await fleet.readObject({ registration: key, object }, signal);
    if (live === undefined) return settle(tools, { ...target, downstreamState: { kind: "absent" } }, signal);
    const ignore = target.downstreamState.kind === "foreign" ? markPaths : [];
    act = decideTarget({ ...facts, differences: differences(desired.manifest, live, { ignore }) });
  }
  if (act.do !== "apply" || "reason" in desired) {
    const kept = act.do === "keep" ? act : { do: "keep" as const };
    return keep(tools, target, kept, signal);
  }
  return apply(tools, target, desired, act.because, signal);
}

async function keep(
  tools: TargetTools,
  target: Target,
  act: Extract<TargetAction, { do: "keep" }>,
  signal: AbortSignal,
): Promise<Outcome> {
  const { downstreamState, before, desired, generation } = target;
  const copy = downstreamState.kind === "there" ? downstreamState.copy : undefined;
  let { obstacle } = act;
  let sent = before?.referencesHash;
  // Only what comes along has changed, here or there.
  if (act.isAsWished === true && !(await areReferencesKept(tools, target, signal))) {
    obstacle = await tools.sendReferences(target, signal);
    if (obstacle === undefined) sent = await sentReferences(tools, target, signal);
  }
  const isAsWished = act.isAsWished === true && !("reason" in desired);
  const known = copy === undefined || isUnheard(act) ? carried(before) : seenParts(target, copy);
  const record: CopyRecord = {
    name: target.key.name,
    ...known,
    ...(sent === undefined || sent === "" ? {} : { referencesHash: sent }),
    ...(isAsWished && copy !== undefined
      ? {
          appliedHash: desired.fingerprint,
          appliedVersion: appliedVersionOf(copy),
          uid: copy.uid,
          generation: generation ?? 0,
        }
      : {}),
    ...stateOf(act.state, obstacle, known.state),
  };
  const againSeconds =
    isUnheard(act) && target.targetCluster?.isReady === true ? tools.settings.retrySeconds : undefined;
  const spec = "reason" in desired ? undefined : desired.manifest.spec;
  const seen = isUnheard(act) ? undefined : copy;
  return { record, copy: seen, isCurrent: isAsWished, spec, againSeconds, drifted: act.drifted };
}

async function apply(
  tools: TargetTools,
  target: Target,
  wish: DesiredManifest,
  because: NonNullable<Outcome["wrote"]>,
  signal: AbortSignal,
): Promise<Outcome> {
  const { fleet } = tools;
  const { key, object, locator, generation, downstreamState } = target;
  await fleet.ensureNamespace(key, locator, signal);
  let sent = target.before?.referencesHash;
  if (downstreamState.kind !== "there" || !(await areReferencesKept(tools, target, signal))) {
    const missing = await tools.sendReferences(target, signal);
    if (missing !== undefined) {
      const copy = downstreamState.kind === "there" ? downstreamState.copy : undefined;
      return keepAside(target, copy, missing);
    }
    sent = await sentReferences(tools, target, signal);
  }
  const live =
    wish.firstReplicas === undefined ? undefined : await fleet.readObject({ registration: key, object }, signal);
  const manifest = withAutoscaledReplicas(wish, live);
  const copy = copyOf(await fleet.apply({ registration: key, object }, manifest, signal));
  const record: CopyRecord = {
    name: key.name,
    ...seenParts(target, copy),
    appliedHash: wish.fingerprint,
    appliedVersion: appliedVersionOf(copy),
    uid: copy.uid,
    generation: generation ?? 0,
    ...(sent === undefined || sent === "" ? {} : { referencesHash: sent }),
  };
  return { record, copy, isCurrent: true, spec: manifest.spec, wrote: because, isTransformed: wish.isTransformed };
}

/** Between what the hub has of everything that comes along, and what the cluster has of it. */
const stampMark = ".";

/** What is written down of everything that comes along, once it is there. */
async function sentReferences(tools: TargetTools, target: Target, signal: AbortSignal): Promise<string> {
  const { references } = target;
  if (references === "") return "";
  const stamp = await tools.stampReferences(target, signal);
  return stamp === undefined ? references : `${references}${stampMark}${stamp}`;
}

/** Whether everything that comes along is on the cluster, in the version that the hub has, and as it was written there. */
async function areReferencesKept(tools: TargetTools, target: Target, signal: AbortSignal): Promise<boolean> {
  const [version = "", stamp] = (target.before?.referencesHash ?? "").split(stampMark);
  if (version !== target.references) return false;
  // Where somebody may change what is there, that holds for what comes along too.
  if (version === "" || (target.policy.drift ?? "Revert") !== "Revert") return true;
  const now = await tools.stampReferences(target, signal);
  return now === undefined || now === stamp;
}

function keepAside(target: Target, copy: Copy | undefined, obstacle: Blocker): Outcome {
  const known = copy === undefined ? carried(target.before) : { ...carried(target.before), ...seenParts(target, copy) };
  const record: CopyRecord = {
    name: target.key.name,
    ...known,
    ...stateOf(copy === undefined ? "Pending" : undefined, obstacle, known.state),
  };
  return { record, copy, isCurrent: false };
}

function afterFailure(tools: TargetTools, target: Target, error: unknown): Outcome {
  const fault = faultOf(error);
  if (fault === undefined) throw error;
  const words = oneLine(error instanceof Error ? error.message : fault);
  const isRefused = fault === "invalid" || fault === "forbidden" || fault === "not-found";
  const reason = fault === "not-found" ? "TypeNotServed" : isRefused ? "Rejected" : "Applying";
  const obstacle: Blocker = { reason, message: error instanceof ApiError ? words : oneLine(words) };
  const copy = target.downstreamState.kind === "there" ? target.downstreamState.copy : undefined;
  const known = carried(target.before);
  const record: CopyRecord = {
    name: target.key.name,
    ...known,
    ...stateOf(isRefused ? "Failed" : "Pending", obstacle, known.state),
  };
  // A type that is not there any more may be a server that starts: the next look asks for it.
  const isLasting = isRefused && fault !== "not-found";
  return {
    record,
    copy,
    isCurrent: false,
    againSeconds: isLasting ? tools.settings.refusedSeconds : tools.settings.retrySeconds,
  };
}

const isUnheard = ({ state }: Extract<TargetAction, { do: "keep" }>): boolean => state === "Stale";

/** What stays written of a copy that was not looked at: what we did, not how it was. */
function carried(before: CopyRecord | undefined): Partial<CopyRecord> & Pick<CopyRecord, "state"> {
  if (before === undefined) return { state: "Pending" };
  const { readyReplicas: _, reason: __, message: ___, ...kept } = before;
  return kept;
}

function seenParts(
  { desired: wish, before, origin }: Target,
  copy: Copy,
): Partial<CopyRecord> & Pick<CopyRecord, "state"> {
  const manifest = "reason" in wish ? undefined : wish.manifest;
  const { apiVersion, kind } = origin;
  const health = copyHealth({
    apiVersion,
    kind,
    spec: manifest?.spec,
    status: copy.status,
    generation: copy.generation,
  });
  const desiredReplicas = "reason" in wish ? before?.desiredReplicas : (wish.desired ?? health.desiredReplicas);
  const { appliedHash, appliedVersion, uid, generation } = before ?? {};
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

function stateOf(
  state: CopyRecord["state"] | undefined,
  obstacle: Blocker | undefined,
  otherwise: CopyRecord["state"],
): Partial<CopyRecord> & Pick<CopyRecord, "state"> {
  return { state: state ?? otherwise, ...(obstacle === undefined ? {} : obstacle) };
}
