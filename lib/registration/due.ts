import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { findCondition } from "../model/condition.ts";
import { parseTimestamp } from "../model/timestamp.ts";
import { isAcceptancePending } from "./identity.ts";
import type { RegistrationSettings } from "./settings.ts";

/** Why the registration is reconciled; every reason that does not matter for probes is "other". */
export type ProbeTrigger = "heartbeat" | "on-demand" | "resync" | "other";

export type DueFacts = Readonly<{
  registration: ClusterRegistration;
  trigger: ProbeTrigger;
  /** When this process last probed the cluster; undefined in a new process. */
  lastProbeMs: number | undefined;
  /** When this process last detected version, APIs, nodes and storage. */
  lastDetectionMs: number | undefined;
  nowMs: number;
  settings: RegistrationSettings;
}>;

export type Due =
  | Readonly<{ kind: "now"; detect: boolean }>
  /** The health is unsettled and a controller has just probed: probe again after this time. */
  | Readonly<{ kind: "later"; afterSeconds: number }>
  | Readonly<{ kind: "not-due" }>;

/**
 * Decides whether to probe a cluster now.
 *
 * On-demand requests, a new spec, a newly accepted identity and a registration without a condition are probed at once. While the health is unsettled,
 * `status.nextProbeTime` binds all controllers, so that two controllers do not count failures at double speed.
 */
export function decideDue(facts: DueFacts): Due {
  const { registration, trigger, nowMs, settings } = facts;
  const { status } = registration;
  const ready = findCondition(status?.conditions, "Ready");
  const isNew = ready === undefined || status?.observedGeneration !== registration.metadata.generation;
  if (isNew || trigger === "on-demand" || isAcceptancePending(registration)) return { kind: "now", detect: true };

  const waitMs = (parseTimestamp(status?.nextProbeTime) ?? nowMs) - nowMs;
  if (waitMs > 0 && isBelievedWait(waitMs, settings.intervalSeconds)) {
    return { kind: "later", afterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) };
  }
  const lastMs = facts.lastProbeMs ?? parseTimestamp(status?.lastHeartbeat);
  const sinceMs = lastMs === undefined || lastMs > nowMs ? Infinity : nowMs - lastMs;
  if (trigger === "other" && sinceMs < settings.intervalSeconds * 1000) return { kind: "not-due" };
  // Heartbeats are scheduled separately and may be late when workers are busy; a resync only replaces a missed one.
  if (trigger === "resync" && sinceMs < settings.intervalSeconds * 1500) return { kind: "not-due" };
  // Heartbeat and resync can coincide in any order: a heartbeat right after a probe of this process is skipped.
  if (facts.lastProbeMs !== undefined && sinceMs < settings.intervalSeconds * 500) return { kind: "not-due" };
  return { kind: "now", detect: ready.status !== "True" || isDetectionDue(facts) };
}

/** TMC never writes a time further ahead than one interval. Such a time is ignored: it must not stop the probes. */
function isBelievedWait(waitMs: number, intervalSeconds: number): boolean {
  return waitMs <= intervalSeconds * 1000;
}

function isDetectionDue({ registration, lastDetectionMs, nowMs, settings }: DueFacts): boolean {
  const { status } = registration;
  // After a failure the cluster may have changed, for example by an upgrade.
  if (status?.consecutiveFailures !== undefined && status.consecutiveFailures > 0) return true;
  // A time in the future comes from another clock and is ignored.
  const times = [lastDetectionMs, parseTimestamp(status?.capabilitiesDetected)].filter(
    (ms) => ms !== undefined && ms <= nowMs,
  );
  return times.every((ms) => ms === undefined || nowMs - ms >= settings.detectEverySeconds * 1000);
}

/** Whether to send a heartbeat for a registration in this round, or to wait for its `nextProbeTime`. */
export function isHeartbeatDue(
  { status }: KubeObject,
  { nowMs, periodSeconds }: Readonly<{ nowMs: number; periodSeconds: number }>,
): boolean {
  const waitMs = (nextProbeMs(status) ?? nowMs) - nowMs;
  // A probe that becomes due in the first half of the period is nearer to this round than to the next.
  return waitMs <= periodSeconds * 500 || !isBelievedWait(waitMs, periodSeconds);
}

function nextProbeMs(status: unknown): number | undefined {
  if (typeof status !== "object" || status === null || !("nextProbeTime" in status)) return undefined;
  const ms = typeof status.nextProbeTime === "string" ? Date.parse(status.nextProbeTime) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
