import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { parseTimestamp } from "../model/timestamp.ts";
import type { RegistrationSettings } from "./settings.ts";

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
