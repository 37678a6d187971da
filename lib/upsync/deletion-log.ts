import { type ClusterRegistration, maxRecentDeletions, maxRejected } from "../api/cluster-registration.ts";
import { formatTimestamp } from "../model/timestamp.ts";

type Status = NonNullable<ClusterRegistration["status"]>;
/** The part of a registration's status that all processes share for upsync. Names in it are key names. */
type DeletionLog = NonNullable<Status["upsync"]>;

/** How long a deletion counts as recent: long enough for a person to notice a mass deletion and to react. */
const windowMs = 10 * 60_000;
/** The maximum length of a message in the schema of ClusterRegistration. */
const maxMessageLength = 1_024;

/**
 * Key name → number of copies on other clusters, for objects that were recently deleted upstream because they were deleted on
 * the cluster.
 */
export function recentDeletionsOf(status: Status | undefined, nowMs: number): ReadonlyMap<string, number> {
  return new Map(recentDeletionsIn(status?.upsync, nowMs).map(({ name, copies = 0 }) => [name, copies]));
}

/** Whether the log has no space for another deletion. */
export function isDeletionLogFull(status: Status | undefined, nowMs: number): boolean {
  return recentDeletionsIn(status?.upsync, nowMs).length >= maxRecentDeletions;
}

/** Returns the status with one more deletion; the same object when that name is logged already. */
export function withDeletion(
  status: Status,
  { name, copies }: Readonly<{ name: string; copies: number }>,
  nowMs: number,
): Status {
  const recentDeletions = recentDeletionsIn(status.upsync, nowMs);
  if (recentDeletions.some((each) => each.name === name)) return status;
  return withDeletionLog(status, {
    ...status.upsync,
    recentDeletions: [...recentDeletions, { name, time: formatTimestamp(nowMs), ...(copies > 0 && { copies }) }],
  });
}

/** Key name → message of the upstream API server that rejects the object. */
export function rejectionsIn(status: Status | undefined): ReadonlyMap<string, string> {
  return new Map((status?.upsync?.rejected ?? []).map(({ name, message }) => [name, message]));
}

/** Whether an object may be written upstream now; a rejected one only some time after its rejection. */
export function isRetryDue(
  status: Status | undefined,
  name: string,
  { nowMs, afterSeconds }: Readonly<{ nowMs: number; afterSeconds: number }>,
): boolean {
  const rejection = status?.upsync?.rejected?.find((each) => each.name === name);
  // A rejection in the future comes from a clock that was set back: it postpones the retry no longer than one in the past.
  return rejection === undefined || Math.abs(nowMs - Date.parse(rejection.time)) >= afterSeconds * 1000;
}

/** Returns the status with a rejection, or without it when there is no message; the same object when nothing changes. */
export function withRejection(
  status: Status,
  { name, message }: Readonly<{ name: string; message: string | undefined }>,
  nowMs: number,
): Status {
  const rejected = status.upsync?.rejected ?? [];
  const others = rejected.filter((each) => each.name !== name);
  if (message === undefined) {
    return others.length === rejected.length ? status : withDeletionLog(status, { ...status.upsync, rejected: others });
  }
  if (others.length >= maxRejected) return status;
  const rejection = { name, time: formatTimestamp(nowMs), message: message.slice(0, maxMessageLength) };
  return withDeletionLog(status, { ...status.upsync, rejected: [...others, rejection] });
}

/** Returns the status without deletions that are no longer recent and without rejections of names that are not present. */
export function withoutExpired(status: Status, isPresent: (name: string) => boolean, nowMs: number): Status {
  const { recentDeletions = [], rejected = [] } = status.upsync ?? {};
  const stillRecent = recentDeletionsIn(status.upsync, nowMs);
  const stillRejected = rejected.filter(({ name }) => isPresent(name));
  if (stillRecent.length === recentDeletions.length && stillRejected.length === rejected.length) return status;
  return withDeletionLog(status, { ...status.upsync, recentDeletions: stillRecent, rejected: stillRejected });
}

/** Returns the status with the number of held deletions; the same object when the number has not changed. */
export function withHeldDeletions(status: Status, count: number): Status {
  if ((status.upsync?.heldDeletions ?? 0) === count) return status;
  return withDeletionLog(status, { ...status.upsync, heldDeletions: count });
}

function recentDeletionsIn(log: DeletionLog | undefined, nowMs: number): NonNullable<DeletionLog["recentDeletions"]> {
  // Clocks of processes differ: a time in the future counts as well, within the same window.
  return (log?.recentDeletions ?? []).filter(({ time }) => Math.abs(nowMs - Date.parse(time)) < windowMs);
}

function withDeletionLog(
  { upsync: _, ...status }: Status,
  { recentDeletions = [], rejected = [], heldDeletions = 0 }: DeletionLog,
): Status {
  if (recentDeletions.length === 0 && rejected.length === 0 && heldDeletions === 0) return status;
  return {
    ...status,
    upsync: {
      ...(recentDeletions.length > 0 && { recentDeletions }),
      ...(rejected.length > 0 && { rejected }),
      ...(heldDeletions > 0 && { heldDeletions }),
    },
  };
}
