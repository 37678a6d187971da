import { isDeepStrictEqual } from "node:util";
import { compareStrings } from "@tmc/kube/compare.ts";
import type { CopyState, WorkloadSync } from "../api/workload-sync.ts";
import { findCondition } from "../model/condition.ts";
import { formatTimestamp } from "../model/timestamp.ts";
import type { PlacementStatus } from "./explain.ts";

export type PlacedWorkload = NonNullable<PlacementStatus["placedWorkloads"]>[number];
type Omitted = NonNullable<PlacementStatus["placedWorkloadsOmitted"]>;
type SyncRecord = Pick<WorkloadSync, "metadata" | "spec" | "status">;

/** Bounds of the list. Objects are stored and sent as a whole; with the other bounded lists a status stays below 100 KB. */
export const placedBounds = { entries: 200, bytes: 40_000, clusters: 10 } as const;

/** A list that changes continuously is written at most once per this time. */
export const placedDebounceSeconds = 5;

/** Copy states from the most to the least urgent for a user. */
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

/** The entry of `status.placedWorkloads` for a sync record. */
export function placedEntry({ metadata, spec, status }: SyncRecord): PlacedWorkload {
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
    state: ready?.status === "True" ? "Ready" : mostUrgentState(status?.clusters ?? []),
    clusters: clusters.slice(0, placedBounds.clusters),
    ...(more > 0 ? { moreClusters: more } : {}),
    ...(since === undefined ? {} : { since }),
  };
}

/** The placed workloads, the most urgent first, within the bounds; the omitted ones are counted by state. */
export function placedWorkloads(
  syncRecords: readonly SyncRecord[],
): Readonly<{ placedWorkloads?: readonly PlacedWorkload[]; placedWorkloadsOmitted?: Omitted }> {
  const all = syncRecords.map(placedEntry).toSorted(compareByUrgency);
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
  /** The placement's current status. */
  before: PlacementStatus;
  /** The status as decided, with the placed workloads of `before`. */
  status: PlacementStatus;
  syncRecords: readonly SyncRecord[];
  nowMs: number;
}>;

/**
 * Updates the placed workloads in a status. If the list was written recently and nothing else has to be written, the
 * status stays unchanged and `requeueSeconds` says when to update it.
 */
export function withPlacedWorkloads({ before, status, syncRecords, nowMs }: PlacedFacts): Readonly<{
  status: PlacementStatus;
  requeueSeconds?: number;
}> {
  const { placedWorkloads: list, placedWorkloadsOmitted: omitted, placedWorkloadsTime: time, ...rest } = status;
  const fresh = placedWorkloads(syncRecords);
  const known = {
    ...(list === undefined ? {} : { placedWorkloads: list }),
    ...(omitted === undefined ? {} : { placedWorkloadsOmitted: omitted }),
  };
  if (isDeepStrictEqual(fresh, known)) return { status };
  const sinceMs = nowMs - (time === undefined ? Number.NEGATIVE_INFINITY : Date.parse(time));
  const isWrittenAnyway = !isDeepStrictEqual(status, before);
  // A time in the future comes from another controller's clock and does not debounce.
  const isRecent = sinceMs >= 0 && sinceMs < placedDebounceSeconds * 1000;
  if (isRecent && !isWrittenAnyway) {
    return { status, requeueSeconds: Math.max(1, Math.ceil(placedDebounceSeconds - sinceMs / 1000)) };
  }
  return { status: { ...rest, ...fresh, placedWorkloadsTime: formatTimestamp(nowMs) } };
}

function mostUrgentState(copies: readonly Readonly<{ state: CopyState }>[]): CopyState {
  const present = new Set(copies.map(({ state }) => state));
  return byUrgency.find((state) => present.has(state)) ?? "Pending";
}

function compareByUrgency(one: PlacedWorkload, other: PlacedWorkload): number {
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
