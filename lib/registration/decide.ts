import { isDeepStrictEqual } from "node:util";
import { formatQuantity, isQuantity, parseQuantity, type QuantityFormat } from "@tmc/kube/quantity.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { type Condition, type DecidedCondition, findCondition, withCondition } from "../model/condition.ts";
import type { ObjectEvent } from "../model/event.ts";
import { formatTimestamp, maxClockSkewMs, parseTimestamp } from "../model/timestamp.ts";
import { credentialsCondition, type ObservedWatches, watchedCondition } from "./conditions.ts";
import { decideIdentity, uniqueCondition } from "./identity.ts";
import type { Detected, Failed, OtherPods, ProbeOutcome, RegistrationStatus } from "./probe-outcome.ts";
import { bindingNames, connectedApis, type ObservedBinding } from "./served-apis.ts";
import type { RegistrationSettings } from "./settings.ts";

export type RegistrationFacts = Readonly<{
  registration: ClusterRegistration;
  /** Undefined if no probe was due. */
  outcome: ProbeOutcome | undefined;
  /** The APIBindings that the registration names, read together with the probe. @default none */
  bindings?: readonly ObservedBinding[] | undefined;
  /** Other registrations that lead to the same cluster. Undefined if they were not read with this probe. */
  sameCluster?: readonly string[] | undefined;
  /** Undefined if this process does not watch clusters. */
  watches?: ObservedWatches | undefined;
  /** When the probe started. */
  nowMs: number;
  settings: RegistrationSettings;
}>;

export type RegistrationPlan = Readonly<{
  /** The complete status to write; undefined if no write is needed. */
  status: RegistrationStatus | undefined;
  /** Changes of the Ready condition, for the log. */
  readyChanges: readonly ObjectEvent[];
  /** Events to record for the registration. */
  events: readonly ObjectEvent[];
}>;

const noChange: RegistrationPlan = { status: undefined, readyChanges: [], events: [] };

/** Reasons that come from the configuration, not from probes: after them one successful probe makes the cluster Ready. */
const configurationReasons: ReadonlySet<string> = new Set([
  "ClusterNotConfigured",
  "CredentialsInvalid",
  "CredentialsExpired",
  "PermissionClaimNotAccepted",
  "ClusterIdentityChanged",
]);

const readyMessage = "the cluster responds and reports that it is ready";
const recoveringMessage = "the cluster responds again; it becomes Ready after further successful probes";

/**
 * Decides the status of a registration after a probe.
 *
 * Ready becomes False after several failed probes in a row and True again after several successful ones. A cluster that
 * was never reached becomes Ready with its first successful probe; one that is not configured is not Ready at once. The
 * status of a healthy idle cluster is written once per `heartbeatWriteSeconds`. That of a failing cluster is written
 * while it fails, and then only when the cause changes.
 */
export function decideRegistration(facts: RegistrationFacts): RegistrationPlan {
  const { registration, settings } = facts;
  if (facts.outcome === undefined) return noChange;
  const { outcome, ...identity } = decideIdentity(registration, facts.outcome);
  const before = registration.status ?? {};
  const readyBefore = findCondition(before.conditions, "Ready");
  const desired = { ...statusAfter(facts, before, outcome), ...identity };
  if (!isWriteNeeded({ before, desired, outcome, nowMs: facts.nowMs, settings })) return noChange;
  const readyAfter = findCondition(desired.conditions, "Ready");
  return {
    status: desired,
    readyChanges: changesBetween(readyBefore, readyAfter),
    events: [
      ...probeEvents({ outcome, before: readyBefore, after: readyAfter }),
      ...warningEvents(before.conditions, desired.conditions),
    ],
  };
}

function statusAfter(facts: RegistrationFacts, before: RegistrationStatus, outcome: ProbeOutcome): RegistrationStatus {
  const { registration, bindings = [], nowMs, settings } = facts;
  const names = bindingNames(registration);
  const generation = registration.metadata.generation;
  const { ready, counters } = decideReady(before, outcome, settings);
  const {
    consecutiveFailures: _,
    consecutiveSuccesses: __,
    nextProbeTime: ___,
    credentialsExpire: ____,
    connectedAPIs: _____,
    clusterUID: ______,
    observedClusterUID: _______,
    ...kept
  } = before;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const isUnsettled = counters.consecutiveFailures !== undefined || counters.consecutiveSuccesses !== undefined;
  const now = formatTimestamp(nowMs);
  const decided = [{ ...ready, ...observed }, ...furtherConditions(facts, before.conditions ?? [], outcome)];
  return {
    ...(outcome.kind === "healthy" && outcome.detected !== undefined
      ? withDetected(kept, outcome.detected, nowMs)
      : kept),
    conditions: decided.reduce<readonly Condition[]>(
      (conditions, each) => withCondition(conditions, each, now),
      before.conditions ?? [],
    ),
    ...observed,
    ...(names.length > 0 && { connectedAPIs: connectedApis(names, bindings) }),
    ...(outcome.kind === "healthy" && { lastHeartbeat: formatTimestamp(heartbeatMs(before, nowMs)) }),
    ...counters,
    ...(isUnsettled && { nextProbeTime: formatTimestamp(nowMs + settings.intervalSeconds * 1000) }),
    ...(outcome.credentialsExpireMs !== undefined && {
      credentialsExpire: formatTimestamp(outcome.credentialsExpireMs),
    }),
  };
}

/** The conditions besides Ready that a registration needs. */
function furtherConditions(
  { registration, sameCluster, watches, nowMs }: RegistrationFacts,
  before: readonly Condition[],
  outcome: ProbeOutcome,
): readonly DecidedCondition[] {
  return [
    sameCluster && uniqueCondition(before, sameCluster),
    watchedCondition(before, watches),
    credentialsCondition(before, { registration, outcome, nowMs }),
  ].filter((each) => each !== undefined);
}

/** A heartbeat that is a little in the future was written by another controller and is kept; one further ahead is overwritten. */
function heartbeatMs(before: RegistrationStatus, nowMs: number): number {
  const lastMs = parseTimestamp(before.lastHeartbeat) ?? nowMs;
  return lastMs > nowMs && lastMs - nowMs <= maxClockSkewMs ? lastMs : nowMs;
}

type Counters = Pick<RegistrationStatus, "consecutiveFailures" | "consecutiveSuccesses">;
type ReadyAndCounters = Readonly<{ ready: DecidedCondition; counters: Counters }>;

function decideReady(
  before: RegistrationStatus,
  outcome: ProbeOutcome,
  settings: RegistrationSettings,
): ReadyAndCounters {
  switch (outcome.kind) {
    case "not-configured":
      return { ready: notReadyCondition(outcome.reason, outcome.message), counters: {} };
    case "failed":
      return decideAfterFailure(before, outcome, settings);
    case "healthy":
      return decideAfterSuccess(before, settings);
  }
}

function decideAfterFailure(
  before: RegistrationStatus,
  outcome: Failed,
  settings: RegistrationSettings,
): ReadyAndCounters {
  const present = findCondition(before.conditions, "Ready");
  const failures = Math.min(settings.failuresToUnready, (before.consecutiveFailures ?? 0) + 1);
  const counters = { consecutiveFailures: failures };
  if (present?.status === "True" && failures < settings.failuresToUnready) return { ready: readyCondition, counters };
  return { ready: notReadyCondition(outcome.reason, outcome.message), counters };
}

function decideAfterSuccess(before: RegistrationStatus, settings: RegistrationSettings): ReadyAndCounters {
  const present = findCondition(before.conditions, "Ready");
  const successes = (before.consecutiveSuccesses ?? 0) + 1;
  const isFirstContact =
    before.lastHeartbeat === undefined || present === undefined || configurationReasons.has(present.reason);
  if (present?.status === "True" || isFirstContact || successes >= settings.successesToReady) {
    return { ready: readyCondition, counters: {} };
  }
  return {
    ready: notReadyCondition("ClusterUnhealthy", recoveringMessage),
    counters: { consecutiveSuccesses: successes },
  };
}

const readyCondition: DecidedCondition = {
  type: "Ready",
  status: "True",
  reason: "ClusterReady",
  message: readyMessage,
};

function notReadyCondition(reason: string, message: string): DecidedCondition {
  return { type: "Ready", status: "False", severity: "Error", reason, message };
}

/**
 * Adds the detected facts. Capabilities: `compute` (with the Kubernetes version) always, `storage` if there is a storage
 * class, `networking` if Ingress is served, `gpu` if a node offers GPUs to pods. A capability whose facts could not be
 * read stays as it was.
 */
function withDetected(before: RegistrationStatus, detected: Detected, nowMs: number): RegistrationStatus {
  const {
    kubernetesVersion,
    apis: apisBefore,
    capacity,
    allocatable,
    nodes,
    otherPods,
    capabilities = [],
    ...kept
  } = before;
  const version = detected.version ?? kubernetesVersion;
  const apis = detected.apis ?? apisBefore;
  const nodeFacts =
    detected.nodes === undefined
      ? { ...(nodes && { nodes }), ...(capacity && { capacity }), ...(allocatable && { allocatable }) }
      : detected.nodes === "forbidden"
        ? {}
        : { nodes: detected.nodes.nodes, capacity: detected.nodes.capacity, allocatable: detected.nodes.allocatable };
  const had = (type: string): boolean => capabilities.some((each) => each.type === type);
  const hasIngress = apis?.some(
    ({ groupVersion, kinds }) => groupVersion.startsWith("networking.k8s.io/") && kinds?.includes("Ingress"),
  );
  const hasGpu = detected.nodes === undefined ? had("gpu") : detected.nodes !== "forbidden" && detected.nodes.gpu;
  return {
    ...kept,
    ...(version !== undefined && { kubernetesVersion: version }),
    ...(apis !== undefined && { apis }),
    ...nodeFacts,
    ...otherPodsAfter(otherPods, detected.otherPods, nodeFacts.allocatable),
    capabilities: [
      version === undefined ? { type: "compute" } : { type: "compute", version },
      ...(hasGpu ? [{ type: "gpu" }] : []),
      ...(hasIngress === true ? [{ type: "networking" }] : []),
      ...((detected.storage ?? had("storage")) ? [{ type: "storage" }] : []),
    ],
    capabilitiesDetected: formatTimestamp(nowMs),
  };
}

/** The requests of other pods after a detection; what could not be read this time stays as it was. */
function otherPodsAfter(
  before: RegistrationStatus["otherPods"],
  detected: OtherPods | undefined,
  allocatable: RegistrationStatus["allocatable"],
): Pick<RegistrationStatus, "otherPods"> {
  if (detected === undefined) return before === undefined ? {} : { otherPods: before };
  if (detected.kind === "unknown") return { otherPods: { unknown: detected.reason } };
  const { cpu, memory } = detected.requests;
  return {
    otherPods: {
      cpu: roundedUp(cpu, allocatable?.cpu, { format: "DecimalSI", unit: 1_000_000n }),
      memory: roundedUp(memory, allocatable?.memory, { format: "BinarySI", unit: 1024n * 1024n * 1_000_000_000n }),
    },
  };
}

/** Rounds an amount up to a fiftieth of what is allocatable, in whole millicores or mebibytes: pods come and go all the time. */
function roundedUp(
  nanos: bigint,
  allocatable: string | undefined,
  { format, unit }: Readonly<{ format: QuantityFormat; unit: bigint }>,
): string {
  const all = isQuantity(allocatable) ? parseQuantity(allocatable).nanos : 0n;
  const step = all / 50n > unit ? (all / 50n / unit) * unit : unit;
  return formatQuantity({ nanos: ((nanos + step - 1n) / step) * step, format });
}

type StatusChange = Readonly<{
  before: RegistrationStatus;
  desired: RegistrationStatus;
  outcome: ProbeOutcome;
  nowMs: number;
  settings: RegistrationSettings;
}>;

/** Every write triggers the watchers, so changed times alone are written only once per `heartbeatWriteSeconds`. */
function isWriteNeeded({ before, desired, outcome, nowMs, settings }: StatusChange): boolean {
  const minIntervalMs = settings.heartbeatWriteSeconds * 1000;
  if (isDeepStrictEqual(withoutTimes(before), withoutTimes(desired))) {
    if (outcome.kind !== "healthy") return false;
    const lastMs = parseTimestamp(before.lastHeartbeat);
    if (lastMs === undefined) return true;
    const nextMs = heartbeatMs(before, nowMs);
    // A time that is corrected backwards came from a wrong clock, and is wrong until it is overwritten.
    return nextMs < lastMs || nextMs - lastMs >= minIntervalMs;
  }
  // A failing network reports another cause with every probe; a change of the cause alone is written no more often.
  if (outcome.kind !== "failed" || !isDeepStrictEqual(withoutCause(before), withoutCause(desired))) return true;
  const writtenMs = (parseTimestamp(before.nextProbeTime) ?? 0) - settings.intervalSeconds * 1000;
  return nowMs - writtenMs >= minIntervalMs || writtenMs > nowMs;
}

/** The status for comparisons: only the presence of a time counts, not its value. */
function withoutTimes(status: RegistrationStatus): object {
  const { lastHeartbeat: _, capabilitiesDetected: __, nextProbeTime: ___, credentialsExpire, ...rest } = status;
  return { ...rest, expires: credentialsExpire !== undefined };
}

function withoutCause(status: RegistrationStatus): object {
  const conditions = (status.conditions ?? []).map(({ reason, message, ...rest }) =>
    rest.type === "Ready" && rest.status === "False" && !configurationReasons.has(reason)
      ? rest
      : { ...rest, reason, message },
  );
  return { ...withoutTimes(status), conditions };
}

function changesBetween(before: Condition | undefined, after: Condition | undefined): readonly ObjectEvent[] {
  if (after === undefined || (before?.status === after.status && before.reason === after.reason)) return [];
  return [{ type: after.status === "True" ? "Normal" : "Warning", reason: after.reason, message: after.message }];
}

/** The Ready condition before and after a probe. */
export type ReadyTransition = Readonly<{
  outcome: ProbeOutcome;
  before: Condition | undefined;
  after: Condition | undefined;
}>;

/**
 * Returns the Events to record after a probe: one if the cluster lost Ready, with the cause.
 *
 * While the cluster stays not Ready, another Event is recorded only for another reason: the messages of a failing network
 * change with every probe. Successful probes record no Events; the status has the condition and the last heartbeat.
 */
export function probeEvents({ outcome, before, after }: ReadyTransition): readonly ObjectEvent[] {
  if (outcome.kind === "healthy" || after?.status !== "False") return [];
  if (before?.status === "False" && before.reason === after.reason) return [];
  return [{ type: "Warning", reason: "HeartbeatFailed", message: `${after.reason}: ${after.message}` }];
}

/** The conditions that are recorded as an Event when they become False. */
const warnedTypes = ["CredentialsCurrent", "ObjectsWatched"] as const;

function warningEvents(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
): readonly ObjectEvent[] {
  return warnedTypes
    .map((type) => ({ was: findCondition(before, type), is: findCondition(after, type) }))
    .flatMap(({ was, is }) =>
      is?.status === "False" && was?.status !== "False"
        ? [{ type: "Warning" as const, reason: is.reason, message: is.message }]
        : [],
    );
}

export type DeletionFacts = Readonly<{
  registration: ClusterRegistration;
  /** Whether a placement or workload still uses the cluster. */
  isUsed: boolean;
  nowMs: number;
  settings: RegistrationSettings;
}>;

export type Deletion = Readonly<{ kind: "release" }> | Readonly<{ kind: "wait"; afterSeconds: number }>;

/** Bounds of the time between two checks whether the cluster is still used. */
const minWaitSeconds = 1;
const maxWaitSeconds = 30;

/**
 * Decides whether the finalizer of a deleted registration can be removed: when nothing uses the cluster any more, or
 * after `releaseAfterSeconds`. The wait between checks grows with the time since the deletion, so it needs no state.
 */
export function decideDeletion({ registration, isUsed, nowMs, settings }: DeletionFacts): Deletion {
  const sinceMs = parseTimestamp(registration.metadata.deletionTimestamp) ?? nowMs;
  const passedSeconds = Math.max(0, (nowMs - sinceMs) / 1000);
  const remainingSeconds = settings.releaseAfterSeconds - passedSeconds;
  if (!isUsed || remainingSeconds <= 0) return { kind: "release" };
  const wait = Math.min(Math.max(passedSeconds, minWaitSeconds), maxWaitSeconds, remainingSeconds);
  return { kind: "wait", afterSeconds: Math.max(1, Math.ceil(wait)) };
}
