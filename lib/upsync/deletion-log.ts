import { type ClusterRegistration, maxRecentDeletions, maxRejected } from "../api/cluster-registration.ts";
import { formatTimestamp } from "../model/timestamp.ts";

/** The status of a registration. What is noted down there is what every process knows. */
type Status = NonNullable<ClusterRegistration["status"]>;
type Journal = NonNullable<Status["upsync"]>;

/** As long as it takes to see that something has gone wrong, and to do something about it. */
const latelyMs = 10 * 60_000;
/** As long as the schema lets a message be. */
const longestMessage = 1_024;

/** What was removed lately because it had gone from the cluster, by the names of keys. */
export function endedLately(status: Status | undefined, nowMs: number): ReadonlySet<string> {
  return new Set(lateEnds(status?.upsync, nowMs).map(({ name }) => name));
}

/** Whether no more ends can be noted down. */
export function isFull(status: Status | undefined, nowMs: number): boolean {
  return lateEnds(status?.upsync, nowMs).length >= maxRecentDeletions;
}

/** The status with one more end; the very same where that one is noted down already. */
export function withEnd(status: Status, name: string, nowMs: number): Status {
  const ended = lateEnds(status.upsync, nowMs);
  if (ended.some((each) => each.name === name)) return status;
  return withJournal(status, { ...status.upsync, recentDeletions: [...ended, { name, time: formatTimestamp(nowMs) }] });
}

/** What the workspace refuses, in its words, by the names of keys. */
export function refusedIn(status: Status | undefined): ReadonlyMap<string, string> {
  return new Map((status?.upsync?.rejected ?? []).map(({ name, message }) => [name, message]));
}

/** Whether it is time to offer again what was refused; what was not is offered at any time. */
export function isRetried(
  status: Status | undefined,
  name: string,
  { nowMs, afterSeconds }: Readonly<{ nowMs: number; afterSeconds: number }>,
): boolean {
  const refusal = status?.upsync?.rejected?.find((each) => each.name === name);
  return refusal === undefined || nowMs - Date.parse(refusal.time) >= afterSeconds * 1000;
}

/** The status with a refusal, or without one that is over; the very same where nothing is to be noted down. */
export function withRefusal(
  status: Status,
  { name, message }: Readonly<{ name: string; message: string | undefined }>,
  nowMs: number,
): Status {
  const refused = status.upsync?.rejected ?? [];
  const others = refused.filter((each) => each.name !== name);
  if (message === undefined) {
    return others.length === refused.length ? status : withJournal(status, { ...status.upsync, rejected: others });
  }
  if (others.length >= maxRejected) return status;
  const refusal = { name, time: formatTimestamp(nowMs), message: message.slice(0, longestMessage) };
  return withJournal(status, { ...status.upsync, rejected: [...others, refusal] });
}

/** The status without what is over: ends that were not lately, and refusals of what is not meant any more. */
export function tidied(status: Status, isMeant: (name: string) => boolean, nowMs: number): Status {
  const { recentDeletions: ended = [], rejected: refused = [] } = status.upsync ?? {};
  const late = lateEnds(status.upsync, nowMs);
  const left = refused.filter(({ name }) => isMeant(name));
  if (late.length === ended.length && left.length === refused.length) return status;
  return withJournal(status, { recentDeletions: late, rejected: left });
}

function lateEnds(journal: Journal | undefined, nowMs: number): NonNullable<Journal["recentDeletions"]> {
  // Clocks differ: what seems to be yet to come counts as well, unless it is as far off.
  return (journal?.recentDeletions ?? []).filter(({ time }) => Math.abs(nowMs - Date.parse(time)) < latelyMs);
}

function withJournal(
  { upsync: _, ...status }: Status,
  { recentDeletions: ended = [], rejected: refused = [] }: Journal,
): Status {
  if (ended.length === 0 && refused.length === 0) return status;
  return {
    ...status,
    upsync: { ...(ended.length > 0 && { recentDeletions: ended }), ...(refused.length > 0 && { rejected: refused }) },
  };
}
