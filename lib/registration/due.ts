import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { findCondition } from "../model/condition.ts";
import { parseTimestamp } from "../model/timestamp.ts";
import type { RegistrationSettings } from "./settings.ts";

/** Why the registration is worked on, as far as it matters here; any other reason counts as a look in passing. */
export type Occasion = "heartbeat" | "on-demand" | "resync" | "passing";

export type DueFacts = Readonly<{
  registration: ClusterRegistration;
  occasion: Occasion;
  /** When this process last probed it; unknown in a function that has just started. */
  lastProbeMs: number | undefined;
  /** When it was last found out here what the cluster is. */
  lastDetectionMs: number | undefined;
  nowMs: number;
  settings: RegistrationSettings;
}>;

export type Due =
  | Readonly<{ kind: "now"; detect: boolean }>
  /** Its health is in doubt and somebody has just tried: once more after that time. */
  | Readonly<{ kind: "later"; afterSeconds: number }>
  | Readonly<{ kind: "not-due" }>;

/**
 * Tells whether a cluster is to be looked at now.
 *
 * A person's wish, a new spec and a registration that was never looked at come first. While a cluster's health is in doubt
 * the time in its status holds for everybody, so that two controllers at once do not count failures at double speed.
 */
export function decideDue(facts: DueFacts): Due {
  const { registration, occasion, nowMs, settings } = facts;
  const { status } = registration;
  const ready = findCondition(status?.conditions, "Ready");
  const isNew = ready === undefined || status?.observedGeneration !== registration.metadata.generation;
  if (isNew || occasion === "on-demand") return { kind: "now", detect: true };

  const waitMs = (parseTimestamp(status?.nextProbeTime) ?? nowMs) - nowMs;
  // A time further off than any that we write is not ours: nobody may put a cluster out of sight.
  if (waitMs > 0 && waitMs <= settings.intervalSeconds * 1000) {
    return { kind: "later", afterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) };
  }
  const lastMs = facts.lastProbeMs ?? parseTimestamp(status?.lastHeartbeat);
  const sinceMs = lastMs === undefined || lastMs > nowMs ? Infinity : nowMs - lastMs;
  if (occasion === "passing" && sinceMs < settings.intervalSeconds * 1000) return { kind: "not-due" };
  // Heartbeats come by themselves, if late where workers are busy; a resync makes up only for one that was missed.
  if (occasion === "resync" && sinceMs < settings.intervalSeconds * 1500) return { kind: "not-due" };
  // Rounds of different kinds meet at the same moment, in any order: a heartbeat right after our own look is not another.
  if (facts.lastProbeMs !== undefined && sinceMs < settings.intervalSeconds * 500) return { kind: "not-due" };
  return { kind: "now", detect: ready.status !== "True" || isDetectionDue(facts) };
}

function isDetectionDue({ registration, lastDetectionMs, nowMs, settings }: DueFacts): boolean {
  const { status } = registration;
  // After a failure it may be another one that answers: an upgrade looks like that.
  if (status?.consecutiveFailures !== undefined && status.consecutiveFailures > 0) return true;
  // A time that has not come yet is of another clock, and tells nothing.
  const times = [lastDetectionMs, parseTimestamp(status?.capabilitiesDetected)].filter(
    (ms) => ms !== undefined && ms <= nowMs,
  );
  return times.every((ms) => ms === undefined || nowMs - ms >= settings.detectEverySeconds * 1000);
}

/** Tells whether a registration is to be probed in this round, or waits for the time that its breaker names. */
export function isHeartbeatDue(
  { status }: KubeObject,
  { nowMs, periodSeconds }: Readonly<{ nowMs: number; periodSeconds: number }>,
): boolean {
  const next = nextProbeMs(status);
  // Turns and probes are a little apart: one that is due before the next turn is nearer to this one.
  return next === undefined || next <= nowMs + periodSeconds * 500;
}

function nextProbeMs(status: unknown): number | undefined {
  if (typeof status !== "object" || status === null || !("nextProbeTime" in status)) return undefined;
  const ms = typeof status.nextProbeTime === "string" ? Date.parse(status.nextProbeTime) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
