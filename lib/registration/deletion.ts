import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { parseTimestamp } from "../model/timestamp.ts";
import type { RegistrationSettings } from "./settings.ts";

export type DepartureFacts = Readonly<{
  registration: ClusterRegistration;
  /** Whether a placement still names the cluster. */
  isUsed: boolean;
  nowMs: number;
  settings: RegistrationSettings;
}>;

export type Departure = Readonly<{ kind: "release" }> | Readonly<{ kind: "wait"; afterSeconds: number }>;

/** Longest and shortest time between two looks at whether the placements have let go. */
const shortestWaitSeconds = 1;
const longestWaitSeconds = 30;

/**
 * Decides whether a deleted registration may go: when no placement names it any more, or after a bounded time. The waits in
 * between grow with the time that has passed, and nothing need be remembered for that.
 */
export function decideDeparture({ registration, isUsed, nowMs, settings }: DepartureFacts): Departure {
  const sinceMs = parseTimestamp(registration.metadata.deletionTimestamp) ?? nowMs;
  const passedSeconds = Math.max(0, (nowMs - sinceMs) / 1000);
  const leftSeconds = settings.releaseAfterSeconds - passedSeconds;
  if (!isUsed || leftSeconds <= 0) return { kind: "release" };
  const wait = Math.min(Math.max(passedSeconds, shortestWaitSeconds), longestWaitSeconds, leftSeconds);
  return { kind: "wait", afterSeconds: Math.max(1, Math.ceil(wait)) };
}
