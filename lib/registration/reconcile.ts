import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { ObjectEvent } from "../model/event.ts";
import type { ObjectKey, WorkKey } from "../model/key.ts";
import { done, type Next, requeueAfter } from "../model/next.ts";
import type { Work, WorkItem } from "../model/work-item.ts";
import { bindingNames, type SeenBinding } from "./connected-apis.ts";
import { decide } from "./decide.ts";
import { decideDeparture } from "./deletion.ts";
import { decideDue, type Occasion } from "./due.ts";
import type { Look, RegistrationStatus } from "./probe-outcome.ts";
import { defaultRegistrationSettings, type RegistrationSettings } from "./settings.ts";

/** Keeps a deleted registration until no placement uses it any more. */
export const clusterFinalizer = "tmc.kcp.io/cluster";

export type LookOptions = Readonly<{
  /** Whether to find out what the cluster is, too. */
  detect: boolean;
  /** Whether to read the credentials anew: somebody asks for it and may have just changed them. */
  fresh: boolean;
  timeoutMs: number;
}>;

/** When this process last looked at a cluster; nothing in a function that has just started. */
export type Memory = Readonly<{ probedMs?: number | undefined; detectedMs?: number | undefined }>;

/** How a cluster was when placements were last told of it, where that is known, and how it is now, unless it has gone. */
export type Change = Readonly<{
  before?: ClusterRegistration | undefined;
  after?: ClusterRegistration | undefined;
}>;

/** All that this reconciler needs of the world. The adapters give it; a test gives a small object. */
export interface RegistrationWorld {
  nowMs(): number;
  read(key: ObjectKey, signal: AbortSignal): Promise<ClusterRegistration | undefined>;
  /** Fails with the fault "conflict" when the registration has changed since it was seen; so does the next one. */
  writeStatus(
    key: ObjectKey,
    seen: ClusterRegistration,
    status: RegistrationStatus,
    signal: AbortSignal,
  ): Promise<ClusterRegistration>;
  writeFinalizers(
    key: ObjectKey,
    seen: ClusterRegistration,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<ClusterRegistration>;

  /** Finds the way into the cluster and asks how it is. Throws only when the hub cannot be asked, or on the signal. */
  look(key: ObjectKey, registration: ClusterRegistration, options: LookOptions, signal: AbortSignal): Promise<Look>;
  /** Looks at APIBindings of the registration's own workspace. That one cannot be seen is an answer. */
  readBindings(key: ObjectKey, names: readonly string[], signal: AbortSignal): Promise<readonly SeenBinding[]>;
  memory(key: ObjectKey): Memory;
  remember(key: ObjectKey, memory: Memory): void;
  /** Ends connections and drops what is remembered: the registration has gone or is going. */
  forget(key: ObjectKey): Promise<void>;

  /** The same text as long as placements would decide the same about the cluster. */
  fingerprint(registration: ClusterRegistration): string;
  /** The placements that a change of the cluster may concern, and the workloads that it has. */
  concerned(key: ObjectKey, change: Change, signal: AbortSignal): Promise<readonly WorkKey[]>;
  /** The placements whose status names the cluster, and the workloads that it has. */
  users(key: ObjectKey, signal: AbortSignal): Promise<readonly WorkKey[]>;
  wake(keys: readonly WorkKey[]): Promise<void>;
  /** Hears how Ready has changed. */
  note(key: ObjectKey, change: ObjectEvent): void;
  /** Tells people something, as an Event beside the registration. A failure to tell is logged, never thrown. */
  tell(key: ObjectKey, about: ClusterRegistration, event: ObjectEvent): void;
}

/** Keeps what is said about clusters true, and tells the placements when it changes. */
export function registrationReconciler(
  world: RegistrationWorld,
  settings: RegistrationSettings = defaultRegistrationSettings,
): Work<ObjectKey> {
  return async ({ key, reason }, signal) => {
    const seen = await world.read(key, signal);
    if (seen === undefined) return afterwards(world, key, signal);
    if (seen.metadata.deletionTimestamp !== undefined) return depart(world, settings, { key, seen }, signal);
    const nowMs = world.nowMs();
    const { probedMs, detectedMs } = world.memory(key);
    const occasion = occasionOf(reason);
    const due = decideDue({
      registration: seen,
      occasion,
      lastProbeMs: probedMs,
      lastDetectionMs: detectedMs,
      nowMs,
      settings,
    });

    // The finalizer is there before anything can rely on the cluster.
    const registration = await guard(world, { key, seen }, signal);
    const look =
      due.kind === "now"
        ? await world.look(
            key,
            registration,
            { detect: due.detect, fresh: occasion === "on-demand", timeoutMs: settings.probeTimeoutMs },
            signal,
          )
        : undefined;
    const names = look === undefined ? [] : bindingNames(registration);
    const bindings = names.length === 0 ? [] : await world.readBindings(key, names, signal);
    const { status, changes, events } = decide({ registration, look, bindings, nowMs, settings });
    await report(world, { key, registration, status }, signal);
    for (const change of changes) world.note(key, change);
    for (const event of events) world.tell(key, registration, event);
    // Only now: a look whose result could not be written is made again with the retry.
    if (look !== undefined) {
      const isDetected = look.kind === "healthy" && look.detected !== undefined;
      world.remember(key, { probedMs: nowMs, detectedMs: isDetected ? nowMs : detectedMs });
    }
    return due.kind === "later" ? requeueAfter(due.afterSeconds) : done;
  };
}

function occasionOf(reason: WorkItem["reason"]): Occasion {
  return reason === "heartbeat" || reason === "on-demand" || reason === "resync" ? reason : "passing";
}

type Subject = Readonly<{ key: ObjectKey; seen: ClusterRegistration }>;

async function guard(
  world: RegistrationWorld,
  { key, seen }: Subject,
  signal: AbortSignal,
): Promise<ClusterRegistration> {
  const finalizers = seen.metadata.finalizers ?? [];
  if (finalizers.includes(clusterFinalizer)) return seen;
  return world.writeFinalizers(key, seen, [...finalizers, clusterFinalizer], signal);
}

type News = Readonly<{
  key: ObjectKey;
  registration: ClusterRegistration;
  /** What is to be written; undefined when the status may stay. */
  status: RegistrationStatus | undefined;
}>;

/**
 * Writes the status and tells the placements what is new to them. They are told after they can see it and before that is
 * recorded: who is cut off in between tells them again. One write, where the status itself brings them nothing new.
 */
async function report(
  world: RegistrationWorld,
  { key, registration, status }: News,
  signal: AbortSignal,
): Promise<void> {
  const wanted = status ?? registration.status ?? {};
  const fingerprint = world.fingerprint({ ...registration, status: wanted });
  const isTold = registration.status?.notifiedHash === fingerprint;
  const visible = world.fingerprint(registration);
  const isVisible = visible === fingerprint;
  let current = registration;
  if (status !== undefined && (isTold || !isVisible)) {
    current = await world.writeStatus(key, registration, status, signal);
  }
  if (isTold) return;
  const before = registration.status?.notifiedHash === visible ? registration : undefined;
  const keys = await world.concerned(key, { before, after: current }, signal);
  if (keys.length > 0) await world.wake(keys);
  await world.writeStatus(key, current, { ...wanted, notifiedHash: fingerprint }, signal);
}

async function depart(
  world: RegistrationWorld,
  settings: RegistrationSettings,
  { key, seen }: Subject,
  signal: AbortSignal,
): Promise<Next> {
  await world.forget(key);
  const finalizers = seen.metadata.finalizers ?? [];
  if (!finalizers.includes(clusterFinalizer)) return done;
  const users = await world.users(key, signal);
  const departure = decideDeparture({ registration: seen, isUsed: users.length > 0, nowMs: world.nowMs(), settings });
  const concerned = await world.concerned(key, { after: seen }, signal);
  if (concerned.length > 0) await world.wake(concerned);
  if (departure.kind === "wait") return requeueAfter(departure.afterSeconds);
  const others = finalizers.filter((finalizer) => finalizer !== clusterFinalizer);
  await world.writeFinalizers(key, seen, others, signal);
  return done;
}

/** Placements that still speak of a cluster that has gone hear of it. */
async function afterwards(world: RegistrationWorld, key: ObjectKey, signal: AbortSignal): Promise<Next> {
  await world.forget(key);
  const keys = await world.concerned(key, {}, signal);
  if (keys.length > 0) await world.wake(keys);
  return done;
}
