import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { ObjectEvent } from "../model/event.ts";
import type { ObjectKey, WorkKey } from "../model/key.ts";
import type { Work, WorkItem } from "../model/work-item.ts";
import { done, type Next, requeueAfter } from "../model/work-item.ts";
import type { ObservedWatches } from "./conditions.ts";
import { decideDeletion, decideRegistration } from "./decide.ts";
import { decideDue, type ProbeTrigger } from "./due.ts";
import { registrationsOfSameCluster } from "./identity.ts";
import type { ProbeOutcome, RegistrationStatus } from "./probe-outcome.ts";
import { bindingNames, type ObservedBinding } from "./served-apis.ts";
import { defaultRegistrationSettings, type RegistrationSettings } from "./settings.ts";

/** Keeps a deleted registration until no placement or workload uses its cluster any more. */
export const clusterFinalizer = "tmc.kcp.io/cluster";

export type ProbeRequest = Readonly<{
  /** Whether to also detect version, APIs, nodes and storage. */
  detect: boolean;
  /** Whether to bypass cached credentials: a user who requests a probe may have just changed them. */
  fresh: boolean;
  timeoutMs: number;
}>;

/** When this process last probed a cluster; empty in a new process. */
export type LastProbe = Readonly<{ probedMs?: number | undefined; detectedMs?: number | undefined }>;

/**
 * A change of a registration: `before` is the state that placements were last notified of, if known; `after` is the
 * current state, undefined if the registration is gone.
 */
export type RegistrationChange = Readonly<{
  before?: ClusterRegistration | undefined;
  after?: ClusterRegistration | undefined;
}>;

/** Everything that the registration reconciler reads and writes; tests replace it with an in-memory world. */
export interface RegistrationWorld {
  nowMs(): number;
  read(key: ObjectKey, signal: AbortSignal): Promise<ClusterRegistration | undefined>;
  /** Returns the written object. Throws the fault "conflict" if the registration has changed since it was observed. */
  writeStatus(
    key: ObjectKey,
    observed: ClusterRegistration,
    status: RegistrationStatus,
    signal: AbortSignal,
  ): Promise<ClusterRegistration>;
  /** Like `writeStatus`. */
  writeFinalizers(
    key: ObjectKey,
    observed: ClusterRegistration,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<ClusterRegistration>;

  /** Finds credentials and probes the cluster. Throws only if upstream cannot be read, or on the signal. */
  probe(
    key: ObjectKey,
    registration: ClusterRegistration,
    options: ProbeRequest,
    signal: AbortSignal,
  ): Promise<ProbeOutcome>;
  /** Reads APIBindings of the registration's own workspace. A binding that TMC may not read is a result, not an error. */
  readBindings(key: ObjectKey, names: readonly string[], signal: AbortSignal): Promise<readonly ObservedBinding[]>;
  /** All registrations of the workspace, to find those that lead to the same cluster. */
  listRegistrations(key: ObjectKey, signal: AbortSignal): Promise<readonly ClusterRegistration[]>;
  lastProbe(key: ObjectKey): LastProbe;
  recordProbe(key: ObjectKey, probe: LastProbe): void;
  /** What this process watches of the cluster; undefined if it does not watch clusters. */
  watches(key: ObjectKey): ObservedWatches | undefined;
  /** Closes connections and drops all state of a registration that is gone or being deleted. */
  forget(key: ObjectKey): Promise<void>;

  /** Hash of the facts that placements read from a registration; it is compared with `status.notifiedHash`. */
  factsHash(registration: ClusterRegistration): string;
  /** The placements that a change of the registration may affect, and the workloads with copies on the cluster. */
  affected(key: ObjectKey, change: RegistrationChange, signal: AbortSignal): Promise<readonly WorkKey[]>;
  /** The placements that have selected the cluster, and the workloads with copies on it. */
  dependents(key: ObjectKey, signal: AbortSignal): Promise<readonly WorkKey[]>;
  enqueue(keys: readonly WorkKey[]): Promise<void>;
  logReadyChange(key: ObjectKey, change: ObjectEvent): void;
  /** Records a Kubernetes Event for the registration. Failures are logged, never thrown. */
  recordEvent(key: ObjectKey, registration: ClusterRegistration, event: ObjectEvent): void;
}

/** Creates the reconcile function for registrations: it probes clusters, writes their status and notifies placements. */
export function registrationReconciler(
  world: RegistrationWorld,
  settings: RegistrationSettings = defaultRegistrationSettings,
): Work<ObjectKey> {
  return async ({ key, reason }, signal) => {
    const observed = await world.read(key, signal);
    if (observed === undefined) return reconcileGone(world, key, signal);
    if (observed.metadata.deletionTimestamp !== undefined) {
      return reconcileDeletion(world, settings, { key, observed }, signal);
    }
    const nowMs = world.nowMs();
    const { probedMs, detectedMs } = world.lastProbe(key);
    const trigger = triggerOf(reason);
    const due = decideDue({
      registration: observed,
      trigger,
      lastProbeMs: probedMs,
      lastDetectionMs: detectedMs,
      nowMs,
      settings,
    });

    // The finalizer must exist before any placement can use the cluster.
    const registration = await ensureFinalizer(world, { key, observed }, signal);
    const outcome =
      due.kind === "now"
        ? await world.probe(
            key,
            registration,
            { detect: due.detect, fresh: trigger === "on-demand", timeoutMs: settings.probeTimeoutMs },
            signal,
          )
        : undefined;
    const names = outcome === undefined ? [] : bindingNames(registration);
    const bindings = names.length === 0 ? [] : await world.readBindings(key, names, signal);
    const sameCluster = await findSameCluster(world, key, outcome, signal);
    const facts = { registration, outcome, bindings, sameCluster, watches: world.watches(key), nowMs, settings };
    const { status, readyChanges, events } = decideRegistration(facts);
    await report(world, { key, registration, status }, signal);
    for (const change of readyChanges) world.logReadyChange(key, change);
    for (const event of events) world.recordEvent(key, registration, event);
    // Recorded last: if the status could not be written, the retry probes again.
    if (outcome !== undefined) {
      const isDetected = outcome.kind === "healthy" && outcome.detected !== undefined;
      world.recordProbe(key, { probedMs: nowMs, detectedMs: isDetected ? nowMs : detectedMs });
    }
    return due.kind === "later" ? requeueAfter(due.afterSeconds) : done;
  };
}

/**
 * Finds other registrations of the cluster that answered. Only after a detection, every ten minutes: without a cache it costs
 * a list, and two registrations of one cluster are allowed, so the condition is not urgent.
 */
async function findSameCluster(
  world: RegistrationWorld,
  key: ObjectKey,
  outcome: ProbeOutcome | undefined,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  if (outcome?.kind !== "healthy" || outcome.detected === undefined) return undefined;
  if (outcome.identity.kind === "unreadable") return [];
  const { uid } = outcome.identity;
  return registrationsOfSameCluster({ name: key.name, clusterUID: uid }, await world.listRegistrations(key, signal));
}

function triggerOf(reason: WorkItem["reason"]): ProbeTrigger {
  return reason === "heartbeat" || reason === "on-demand" || reason === "resync" ? reason : "other";
}

type ObservedRegistration = Readonly<{ key: ObjectKey; observed: ClusterRegistration }>;

async function ensureFinalizer(
  world: RegistrationWorld,
  { key, observed }: ObservedRegistration,
  signal: AbortSignal,
): Promise<ClusterRegistration> {
  const finalizers = observed.metadata.finalizers ?? [];
  if (finalizers.includes(clusterFinalizer)) return observed;
  return world.writeFinalizers(key, observed, [...finalizers, clusterFinalizer], signal);
}

type StatusReport = Readonly<{
  key: ObjectKey;
  registration: ClusterRegistration;
  /** The status to write; undefined if no write is needed. */
  status: RegistrationStatus | undefined;
}>;

/**
 * Writes the status and enqueues the affected placements. They are enqueued after the status is written, so that they
 * read it, and before `notifiedHash` is written: a crash in between enqueues them again. If the status itself does not
 * change the facts (a label or taint changed), one write does both.
 */
async function report(
  world: RegistrationWorld,
  { key, registration, status }: StatusReport,
  signal: AbortSignal,
): Promise<void> {
  const desired = status ?? registration.status ?? {};
  const hash = world.factsHash({ ...registration, status: desired });
  const isNotified = registration.status?.notifiedHash === hash;
  const storedHash = world.factsHash(registration);
  const isStored = storedHash === hash;
  let current = registration;
  if (status !== undefined && (isNotified || !isStored)) {
    current = await world.writeStatus(key, registration, status, signal);
  }
  if (isNotified) return;
  const before = registration.status?.notifiedHash === storedHash ? registration : undefined;
  const keys = await world.affected(key, { before, after: current }, signal);
  if (keys.length > 0) await world.enqueue(keys);
  await world.writeStatus(key, current, { ...desired, notifiedHash: hash }, signal);
}

async function reconcileDeletion(
  world: RegistrationWorld,
  settings: RegistrationSettings,
  { key, observed }: ObservedRegistration,
  signal: AbortSignal,
): Promise<Next> {
  await world.forget(key);
  const finalizers = observed.metadata.finalizers ?? [];
  if (!finalizers.includes(clusterFinalizer)) return done;
  const dependents = await world.dependents(key, signal);
  const isUsed = dependents.length > 0;
  const deletion = decideDeletion({ registration: observed, isUsed, nowMs: world.nowMs(), settings });
  const affected = await world.affected(key, { after: observed }, signal);
  if (affected.length > 0) await world.enqueue(affected);
  if (deletion.kind === "wait") return requeueAfter(deletion.afterSeconds);
  const others = finalizers.filter((finalizer) => finalizer !== clusterFinalizer);
  await world.writeFinalizers(key, observed, others, signal);
  return done;
}

/** Enqueues the placements whose status still has decisions about a registration that is gone. */
async function reconcileGone(world: RegistrationWorld, key: ObjectKey, signal: AbortSignal): Promise<Next> {
  await world.forget(key);
  const keys = await world.affected(key, {}, signal);
  if (keys.length > 0) await world.enqueue(keys);
  return done;
}
