import { isDeepStrictEqual } from "node:util";
import { compareStrings } from "@tmc/kube/compare.ts";
import type { CopyState, WorkloadSync } from "../api/workload-sync.ts";
import { findCondition } from "../model/condition.ts";
import { formatTimestamp } from "../model/timestamp.ts";
import type { PlacementStatus } from "./explain.ts";

export type PlacedWorkload = NonNullable<PlacementStatus["placedWorkloads"]>[number];
type Omitted = NonNullable<PlacementStatus["placedWorkloadsOmitted"]>;
type Record = Pick<WorkloadSync, "metadata" | "spec" | "status">;

/** How long the list may become: objects are kept and sent whole. With all else that is bounded this stays below 100 KB. */
export const placedBounds = { entries: 200, bytes: 40_000, clusters: 10 } as const;

/** A list that changes all the time is written once in so many seconds, whoever asks for it. */
export const placedQuietSeconds = 5;

/** From the state that most needs somebody to look to the one that nobody need look at. */
const byUrgency: readonly CopyState[] = [
  "Failed",
  "Held",
  "Stale",
  "Paused",
  "Pending",
  "Evicting",
  "Applied",
  "Ready",
];

/** What a placement says of one of its workloads, by TMC's record of it. */
export function placedEntry({ metadata, spec, status }: Record): PlacedWorkload {
  const { apiVersion, kind, name } = spec.workload;
  const ready = findCondition(status?.conditions, "Ready");
  const clusters = spec.clusters ?? [];
  const more = clusters.length - placedBounds.clusters;
  const since = ready?.lastTransitionTime ?? metadata.creationTimestamp;
  return {
    apiVersion,
    kind,
    namespace: metadata.namespace ?? "",
    name,
    state: ready?.status === "True" ? "Ready" : worstOf(status?.clusters ?? []),
    clusters: clusters.slice(0, placedBounds.clusters),
    ...(more > 0 ? { moreClusters: more } : {}),
    ...(since === undefined ? {} : { since }),
  };
}

/** The workloads that a placement has put on clusters: those that need somebody first, as far as the bounds allow; the rest is counted. */
export function placedWorkloads(
  records: readonly Record[],
): Readonly<{ placedWorkloads?: readonly PlacedWorkload[]; placedWorkloadsOmitted?: Omitted }> {
  const all = records.map(placedEntry).toSorted(byNeed);
  if (all.length === 0) return {};
  let bytes = 0;
  let listed = 0;
  for (const entry of all) {
    bytes += JSON.stringify(entry).length;
    if (listed >= placedBounds.entries || bytes > placedBounds.bytes) break;
    listed += 1;
  }
  const omitted = all.slice(listed);
  return {
    placedWorkloads: all.slice(0, listed),
    ...(omitted.length === 0
      ? {}
      : { placedWorkloadsOmitted: { count: omitted.length, states: countStates(omitted) } }),
  };
}

export type PlacedFacts = Readonly<{
  /** The placement's status as it is, and as it was decided. */
  before: PlacementStatus;
  status: PlacementStatus;
  records: readonly Record[];
  nowMs: number;
}>;

/** The status with what has become of the workloads, and after how long to write the rest, where it was written a moment ago. */
export function withPlaced({ before, status, records, nowMs }: PlacedFacts): Readonly<{
  status: PlacementStatus;
  againSeconds?: number;
}> {
  const { placedWorkloads: list, placedWorkloadsOmitted: omitted, placedWorkloadsTime: time, ...rest } = status;
  const fresh = placedWorkloads(records);
  const known = {
    ...(list === undefined ? {} : { placedWorkloads: list }),
    ...(omitted === undefined ? {} : { placedWorkloadsOmitted: omitted }),
  };
  if (isDeepStrictEqual(fresh, known)) return { status };
  const sinceMs = nowMs - (time === undefined ? Number.NEGATIVE_INFINITY : Date.parse(time));
  const isWrittenAnyway = !isDeepStrictEqual(status, before);
  // A time that has not come yet is of another clock.
  const isRecent = sinceMs >= 0 && sinceMs < placedQuietSeconds * 1000;
  if (isRecent && !isWrittenAnyway) {
    return { status, againSeconds: Math.max(1, Math.ceil(placedQuietSeconds - sinceMs / 1000)) };
  }
  return { status: { ...rest, ...fresh, placedWorkloadsTime: formatTimestamp(nowMs) } };
}

function worstOf(copies: readonly Readonly<{ state: CopyState }>[]): CopyState {
  const present = new Set(copies.map(({ state }) => state));
  return byUrgency.find((state) => present.has(state)) ?? "Pending";
}

function byNeed(one: PlacedWorkload, other: PlacedWorkload): number {
  return (
    byUrgency.indexOf(one.state) - byUrgency.indexOf(other.state) ||
    compareStrings(one.namespace, other.namespace) ||
    compareStrings(one.kind, other.kind) ||
    compareStrings(one.name, other.name) ||
    compareStrings(one.apiVersion, other.apiVersion)
  );
}

function countStates(entries: readonly PlacedWorkload[]): NonNullable<Omitted["states"]> {
  return byUrgency
    .map((state) => ({ state, count: entries.filter((entry) => entry.state === state).length }))
    .filter(({ count }) => count > 0);
}
