import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { parseWorkloadKey, type WorkloadKey } from "../model/key.ts";
import type { Work } from "../model/work-item.ts";
import { done, earliestNext, requeueAfter } from "../model/work-item.ts";
import { registrationKey } from "../sync/observed.ts";
import type { UpsyncOrigin } from "../sync/ownership/upsync-origin.ts";
import type { Workload } from "../sync/sync-objects.ts";
import { hasReason } from "./conditions.ts";
import { decide, type UpsyncAction, type UpsyncBlocker, type UpsyncPlan } from "./decide.ts";
import { logDeletion, logRejection } from "./deletion-log-writer.ts";
import {
  hashOfNormalized,
  isUpsyncCandidate,
  normalizeDownstream,
  normalizeUpstream,
  upstreamObject,
} from "./normalize.ts";
import { observe, type UpsyncObserved, type WorkloadRef } from "./observe.ts";
import { isOptedIn } from "./opt-in.ts";
import type { UpsyncTools } from "./world.ts";

/**
 * Creates the reconciler of workload keys: an object on a cluster that opts in is mirrored upstream, with the content that
 * the cluster has, for as long as the cluster has it.
 *
 * It runs under the key of the workload, before sync. So one key is reconciled once at a time, whichever clusters have it.
 */
export function upsyncReconciler(tools: UpsyncTools): Work<WorkloadKey> {
  return async ({ key }, signal) => {
    const address = parseWorkloadKey(key);
    const type = tools.workloads.types.find(
      (each) =>
        address !== undefined &&
        each.type.plural === address.type.plural &&
        each.type.group === address.type.group &&
        each.type.version === address.type.version,
    );
    if (address === undefined || type?.isOffered !== true || !tools.isListed(key.logicalCluster)) return done;
    const ref: WorkloadRef = { key, address, type };
    const registrations = await tools.hub.list<ClusterRegistration & KubeObject>(
      "ClusterRegistration",
      key.logicalCluster,
      signal,
    );
    const observed = await observe(tools, ref, registrations, signal);
    if (observed === undefined) {
      tools.localState.recordBlockers(key, "");
      return done;
    }
    const { action, blockers, isPending } = await plan(tools, observed, signal);
    const isDone = await perform(tools, observed, action, signal);
    await reportBlockers(tools, observed, blockers);
    return !isDone || isPending || observed.isIncomplete ? requeueAfter(tools.settings.retrySeconds) : done;
  };
}

/** Decides what to do. A deletion is logged first, where every process reads it, or held. */
async function plan(
  tools: UpsyncTools,
  observed: UpsyncObserved,
  signal: AbortSignal,
): Promise<UpsyncPlan & Readonly<{ isPending: boolean }>> {
  const decided = decide(observed.facts);
  const { action } = decided;
  const hold = action.kind === "delete" ? await logDeletion(tools, observed, action.registration, signal) : undefined;
  if (hold === undefined) return { ...decided, isPending: false };
  return { ...decide({ ...observed.facts, heldMessage: hold.message }), isPending: hold.isTransient };
}

/** Performs the action. Returns false if it must be retried. */
async function perform(
  tools: UpsyncTools,
  observed: UpsyncObserved,
  action: UpsyncAction,
  signal: AbortSignal,
): Promise<boolean> {
  const { ref, upstream, facts } = observed;
  if (action.kind === "none") {
    const origin = facts.candidates.find(({ registration }) => registration === facts.upstream?.origin?.registration);
    if (origin?.state.kind !== "present") return true;
    await logRejection(tools, observed, { registration: origin.registration, message: undefined }, signal);
    return true;
  }
  const { registration } = action;
  if (action.kind === "delete") {
    if (upstream === undefined) return true;
    await tools.upsyncHub.deleteWorkload(ref.key, upstream, signal);
    tools.localState.setAcceptedDifference(ref.key, undefined);
    tools.onUpsync?.("removed");
    const conditions = observed.optedIn.get(registration)?.registration.status?.conditions;
    // With DeletionsConfirmed the registration requeues itself. With DeletionsHeld nothing else would enqueue it.
    if (hasReason(conditions, "DeletionsHeld")) {
      await tools.enqueue([registrationKey(ref.key.logicalCluster, registration)]);
    }
    return true;
  }
  const original = await readOriginal(tools, observed, registration, signal);
  if (original === "unreadable") return false;
  // Deleted or no longer opted in since it was observed: the watch or the next resync enqueues the key again.
  if (original === undefined) return true;
  const message = await rejectionOf(() => writeUpstream(tools, { observed, original, registration }, signal), signal);
  if (message === undefined) tools.onUpsync?.(action.kind === "create" ? "created" : "changed");
  await logRejection(tools, observed, { registration, message }, signal);
  return true;
}

/** Runs a write to upstream. Returns the message of the API server if it rejects the object. */
async function rejectionOf(write: () => Promise<void>, signal: AbortSignal): Promise<string | undefined> {
  try {
    await write();
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    const fault = faultOf(error);
    if (fault !== "invalid" && fault !== "forbidden") throw error;
    return oneLine(error instanceof Error ? error.message : fault);
  }
}

/** Reads the whole object from its cluster; undefined if it is no longer to be upsynced. */
async function readOriginal(
  { source }: UpsyncTools,
  { ref, optedIn }: UpsyncObserved,
  registration: string,
  signal: AbortSignal,
): Promise<KubeObject | "unreadable" | undefined> {
  const subject = optedIn.get(registration);
  const optIn = subject?.optIns.find(({ type }) => type === ref.type);
  if (subject === undefined || optIn === undefined) return undefined;
  try {
    const object = await source.readObject({ registration: subject.key, object: ref.address }, signal);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined || !isUpsyncCandidate(object))
      return undefined;
    const { namespace } = ref.address;
    return isOptedIn(optIn.rules, { namespace, labels: object.metadata.labels }) ? object : undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (faultOf(error) === undefined) throw error;
    return "unreadable";
  }
}

async function writeUpstream(
  { upsyncHub, localState }: UpsyncTools,
  {
    observed,
    original,
    registration,
  }: Readonly<{ observed: UpsyncObserved; original: KubeObject; registration: string }>,
  signal: AbortSignal,
): Promise<void> {
  const { ref, upstream } = observed;
  const { key, address, type } = ref;
  const { apiVersion, kind } = type;
  const { namespace, name } = address;
  const uid = original.metadata.uid ?? "";
  const { logicalCluster } = key;
  const origin: UpsyncOrigin = { logicalCluster, registration, apiVersion, kind, namespace, name, uid };
  const normalized = normalizeDownstream({ ...original, apiVersion, kind });
  const desired = upstreamObject(normalized, origin, upstream);
  const stored: Workload =
    upstream === undefined
      ? await upsyncHub.createWorkload(key, desired, signal)
      : await upsyncHub.updateWorkload(key, upstream, desired, signal);
  const upstreamHash = hashOfNormalized(normalizeUpstream({ ...stored, apiVersion, kind }));
  localState.setAcceptedDifference(key, { downstreamHash: hashOfNormalized(normalized), upstreamHash });
}

/**
 * Reports new blockers once: users by an Event, and the registration by enqueueing it, so that it updates its conditions.
 * Without watches, a registration whose conditions have the reason already is not enqueued: thousands of objects may be held
 * at once, and each reconcile of the registration lists the cluster. It gets no further Event either, because a function that
 * starts anew would repeat it at each resync.
 */
async function reportBlockers(
  { workloads, source, localState, enqueue }: UpsyncTools,
  { ref, upstream, optedIn }: UpsyncObserved,
  blockers: readonly UpsyncBlocker[],
): Promise<void> {
  if (!localState.recordBlockers(ref.key, JSON.stringify(blockers))) return;
  const unreported = blockers.filter(({ registration, reason }) => {
    const conditions = optedIn.get(registration)?.registration.status?.conditions;
    return source.isWatching || !hasReason(conditions, reason);
  });
  await enqueue(unreported.map(({ registration }) => registrationKey(ref.key.logicalCluster, registration)));
  if (upstream === undefined) return;
  for (const { registration, reason, message: cause } of unreported) {
    if (reason !== "NameTaken") continue;
    const message = `cluster ${registration} has an object with the same name that is not upsynced: ${cause}`;
    workloads.recordEvent(ref.key, upstream, { type: "Warning", reason: "UpsyncConflict", message });
  }
}

/** Runs two reconcilers one after the other for the same key, and requeues for the earlier of their results. */
export function runInSequence(first: Work<WorkloadKey>, then: Work<WorkloadKey>): Work<WorkloadKey> {
  return async (item, signal) => {
    const next = await first(item, signal);
    return earliestNext(next, await then(item, signal));
  };
}
