import { isDeepStrictEqual } from "node:util";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { type Condition, type DecidedCondition, findCondition, withCondition } from "../model/condition.ts";
import type { ObjectEvent } from "../model/event.ts";
import { formatTimestamp, parseTimestamp } from "../model/timestamp.ts";
import { bindingNames, connectedApis, type SeenBinding } from "./connected-apis.ts";
import type { Detected, Failed, Healthy, Look, RegistrationStatus } from "./probe-outcome.ts";
import type { RegistrationSettings } from "./settings.ts";

export type Facts = Readonly<{
  registration: ClusterRegistration;
  /** What a look has shown; undefined when none was due. */
  look: Look | undefined;
  /** The APIBindings that the registration asks for, as they were seen beside that look. @default none */
  bindings?: readonly SeenBinding[] | undefined;
  /** When the look began. */
  nowMs: number;
  settings: RegistrationSettings;
}>;

export type Plan = Readonly<{
  /** The whole status to write; undefined when what is there may stay. */
  status: RegistrationStatus | undefined;
  /** How Ready has changed, for the log. */
  changes: readonly ObjectEvent[];
  /** What people hear of by Events beside the registration. */
  events: readonly ObjectEvent[];
}>;

const nothing: Plan = { status: undefined, changes: [], events: [] };

/** Said of a cluster by its configuration alone: what probes have shown before does not count against it. */
const reasonsOfConfiguration: ReadonlySet<string> = new Set([
  "ClusterNotConfigured",
  "CredentialsInvalid",
  "CredentialsExpired",
  "PermissionClaimNotAccepted",
]);

const readyMessage = "the cluster answers and says that it is ready";
const recoveringMessage = "the cluster answers again; it is Ready once it goes on doing so";

/**
 * Decides what is said about a cluster after a look at it.
 *
 * It is not Ready after some failed probes in a row, and Ready again after some good ones; a cluster that was never reached
 * before is Ready at its first good probe, and one that is not configured is not Ready at once. A healthy idle cluster is
 * written once per `heartbeatWriteSeconds`; a dead one is written as it dies and then only when its cause changes.
 */
export function decide(facts: Facts): Plan {
  const { registration, look, settings } = facts;
  if (look === undefined) return nothing;
  const before = registration.status ?? {};
  const present = findCondition(before.conditions, "Ready");
  const wanted = statusAfter(facts, before, look);
  if (!isWorthWriting({ before, wanted, look, nowMs: facts.nowMs, settings })) return nothing;
  const after = findCondition(wanted.conditions, "Ready");
  return {
    status: wanted,
    changes: changesBetween(present, after),
    events: eventsOfLook({ look, before: present, after }),
  };
}

function statusAfter(facts: Facts, before: RegistrationStatus, look: Look): RegistrationStatus {
  const { registration, bindings = [], nowMs, settings } = facts;
  const names = bindingNames(registration);
  const generation = registration.metadata.generation;
  const { ready, counters } = judge(before, look, settings);
  const {
    consecutiveFailures: _,
    consecutiveSuccesses: __,
    nextProbeTime: ___,
    credentialsExpire: ____,
    connectedAPIs: _____,
    ...kept
  } = before;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const isInDoubt = counters.consecutiveFailures !== undefined || counters.consecutiveSuccesses !== undefined;
  return {
    ...(look.kind === "healthy" && look.detected !== undefined ? withDetected(kept, look.detected, nowMs) : kept),
    conditions: withCondition(before.conditions ?? [], { ...ready, ...observed }, formatTimestamp(nowMs)),
    ...observed,
    ...(names.length > 0 && { connectedAPIs: connectedApis(names, bindings) }),
    ...(look.kind === "healthy" && { lastHeartbeat: formatTimestamp(heartbeatMs(before, nowMs)) }),
    ...counters,
    ...(isInDoubt && { nextProbeTime: formatTimestamp(nowMs + settings.intervalSeconds * 1000) }),
    ...(look.credentialsExpireMs !== undefined && { credentialsExpire: formatTimestamp(look.credentialsExpireMs) }),
  };
}

/** Clocks differ: a heartbeat a little ahead is another controller's, and is not taken back; one far ahead is a mistake. */
const clockSkewMs = 5 * 60_000;

function heartbeatMs(before: RegistrationStatus, nowMs: number): number {
  const lastMs = parseTimestamp(before.lastHeartbeat) ?? nowMs;
  return lastMs > nowMs && lastMs - nowMs <= clockSkewMs ? lastMs : nowMs;
}

type Counters = Pick<RegistrationStatus, "consecutiveFailures" | "consecutiveSuccesses">;
type Judgement = Readonly<{ ready: DecidedCondition; counters: Counters }>;

function judge(before: RegistrationStatus, look: Look, settings: RegistrationSettings): Judgement {
  switch (look.kind) {
    case "not-configured":
      return { ready: notReady(look.reason, look.message), counters: {} };
    case "failed":
      return judgeFailed(before, look, settings);
    case "healthy":
      return judgeHealthy(before, look, settings);
  }
}

function judgeFailed(before: RegistrationStatus, look: Failed, settings: RegistrationSettings): Judgement {
  const present = findCondition(before.conditions, "Ready");
  const failures = Math.min(settings.failuresToUnready, (before.consecutiveFailures ?? 0) + 1);
  const counters = { consecutiveFailures: failures };
  if (present?.status === "True" && failures < settings.failuresToUnready) return { ready: isReady, counters };
  return { ready: notReady(look.reason, look.message), counters };
}

function judgeHealthy(before: RegistrationStatus, _: Healthy, settings: RegistrationSettings): Judgement {
  const present = findCondition(before.conditions, "Ready");
  const successes = (before.consecutiveSuccesses ?? 0) + 1;
  const isFirstContact =
    before.lastHeartbeat === undefined || present === undefined || reasonsOfConfiguration.has(present.reason);
  if (present?.status === "True" || isFirstContact || successes >= settings.successesToReady) {
    return { ready: isReady, counters: {} };
  }
  return {
    ready: notReady("ClusterUnhealthy", recoveringMessage),
    counters: { consecutiveSuccesses: successes },
  };
}

const isReady: DecidedCondition = { type: "Ready", status: "True", reason: "ClusterReady", message: readyMessage };

function notReady(reason: string, message: string): DecidedCondition {
  return { type: "Ready", status: "False", severity: "Error", reason, message };
}

/**
 * Adds what was detected. Capabilities: `compute` (in the version of Kubernetes) wherever the cluster answers, `storage`
 * where there is a storage class, `networking` where Ingress is served, `gpu` where a node has graphics processors for
 * pods. A capability whose part could not be looked at stays as it was.
 */
function withDetected(before: RegistrationStatus, detected: Detected, nowMs: number): RegistrationStatus {
  const { kubernetesVersion, apis: apisBefore, capacity, allocatable, nodes, capabilities = [], ...kept } = before;
  const version = detected.version ?? kubernetesVersion;
  const apis = detected.apis ?? apisBefore;
  const nodeFacts =
    detected.nodes === undefined
      ? { ...(nodes && { nodes }), ...(capacity && { capacity }), ...(allocatable && { allocatable }) }
      : detected.nodes === "refused"
        ? {}
        : { nodes: detected.nodes.nodes, capacity: detected.nodes.capacity, allocatable: detected.nodes.allocatable };
  const had = (type: string): boolean => capabilities.some((each) => each.type === type);
  const hasIngress = apis?.some(
    ({ groupVersion, kinds }) => groupVersion.startsWith("networking.k8s.io/") && kinds?.includes("Ingress"),
  );
  const hasGpu = detected.nodes === undefined ? had("gpu") : detected.nodes !== "refused" && detected.nodes.gpu;
  return {
    ...kept,
    ...(version !== undefined && { kubernetesVersion: version }),
    ...(apis !== undefined && { apis }),
    ...nodeFacts,
    capabilities: [
      version === undefined ? { type: "compute" } : { type: "compute", version },
      ...(hasGpu ? [{ type: "gpu" }] : []),
      ...(hasIngress === true ? [{ type: "networking" }] : []),
      ...((detected.storage ?? had("storage")) ? [{ type: "storage" }] : []),
    ],
    capabilitiesDetected: formatTimestamp(nowMs),
  };
}

type Difference = Readonly<{
  before: RegistrationStatus;
  wanted: RegistrationStatus;
  look: Look;
  nowMs: number;
  settings: RegistrationSettings;
}>;

/** Every write wakes the watchers: times alone are written once a while, and with whatever else is written. */
function isWorthWriting({ before, wanted, look, nowMs, settings }: Difference): boolean {
  const patienceMs = settings.heartbeatWriteSeconds * 1000;
  if (isDeepStrictEqual(withoutTimes(before), withoutTimes(wanted))) {
    if (look.kind !== "healthy") return false;
    const lastMs = parseTimestamp(before.lastHeartbeat);
    return lastMs === undefined || Math.abs(heartbeatMs(before, nowMs) - lastMs) >= patienceMs;
  }
  // A dying network gives another cause each time; while nothing else is new, the cause is told once a while.
  if (look.kind !== "failed" || !isDeepStrictEqual(withoutCause(before), withoutCause(wanted))) return true;
  const writtenMs = (parseTimestamp(before.nextProbeTime) ?? 0) - settings.intervalSeconds * 1000;
  return nowMs - writtenMs >= patienceMs || writtenMs > nowMs;
}

/** A status as it counts for the question whether it differs: that a time is there counts, not which. */
function withoutTimes(status: RegistrationStatus): object {
  const { lastHeartbeat: _, capabilitiesDetected: __, nextProbeTime: ___, credentialsExpire, ...rest } = status;
  return { ...rest, expires: credentialsExpire !== undefined };
}

function withoutCause(status: RegistrationStatus): object {
  const conditions = (status.conditions ?? []).map(({ reason, message, ...rest }) =>
    rest.type === "Ready" && rest.status === "False" && !reasonsOfConfiguration.has(reason)
      ? rest
      : { ...rest, reason, message },
  );
  return { ...withoutTimes(status), conditions };
}

function changesBetween(before: Condition | undefined, after: Condition | undefined): readonly ObjectEvent[] {
  if (after === undefined || (before?.status === after.status && before.reason === after.reason)) return [];
  return [{ type: after.status === "True" ? "Normal" : "Warning", reason: after.reason, message: after.message }];
}

/** The condition Ready of a registration before and after it says what a look has shown. */
export type Turn = Readonly<{ look: Look; before: Condition | undefined; after: Condition | undefined }>;

/**
 * What people hear of a look, as an Event beside the registration: that the cluster has turned not Ready, and why.
 *
 * A cluster that stays so is told again only for another reason: what a dying network says changes with every probe. A look
 * that went well is never told; how the cluster is and when it was last heard from is in its status.
 */
export function eventsOfLook({ look, before, after }: Turn): readonly ObjectEvent[] {
  if (look.kind === "healthy" || after?.status !== "False") return [];
  if (before?.status === "False" && before.reason === after.reason) return [];
  return [{ type: "Warning", reason: "HeartbeatFailed", message: `${after.reason}: ${after.message}` }];
}
