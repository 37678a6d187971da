import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import { findCondition } from "../../model/condition.ts";
import type { ObjectEvent } from "../../model/event.ts";
import type { Observed, SyncTools } from "../observed.ts";
import { recordName } from "../ownership/record.ts";
import type { SyncStatus, Workload } from "../sync-objects.ts";
import type { Outcome } from "../targets/apply.ts";
import type { WorkloadHub } from "../workload-hub.ts";
import { aggregate } from "./aggregate.ts";
import { hasReached } from "./conditions.ts";
import { decideRecordStatus, secondsToStall } from "./report.ts";
import { type StrategyWish, strategyOf } from "./strategy.ts";

/** What was found. */
type Found = Readonly<{
  scene: Observed;
  outcomes: readonly Outcome[];
  /** What could not be shared out, in words. */
  shortfall: string | undefined;
  /** Where the clusters do not all have the same. */
  differences: readonly string[];
  now: string;
}>;

/** What there is after the report, and after how long somebody has to be told that something has stalled. */
export type Reported = Readonly<{ scene: Observed; againSeconds: number | undefined }>;

/** Says in the record and in the workload's own status what was found; writes only what differs. */
export async function writeReport(
  { workloads, settings }: Pick<SyncTools, "workloads" | "settings">,
  found: Found,
  signal: AbortSignal,
): Promise<Reported> {
  const { scene, outcomes, shortfall, differences, now } = found;
  const { key, address, type, workload, record, intent } = scene;
  const { stalledSeconds } = settings;
  const at = { logicalCluster: key.logicalCluster, namespace: address.namespace, name: recordName(address) };
  const status =
    record === undefined
      ? undefined
      : decideRecordStatus({
          before: record.status,
          copies: outcomes.map((outcome) => outcome.record),
          intent,
          shortfall,
          differences,
          strategyProblem: strategyFor(scene).problem,
          stalledSeconds,
          generation: workload?.metadata.generation,
          now,
        });
  const [recordAfter, workloadAfter] = await allSettledOrThrow([
    record === undefined || status === undefined ? record : workloads.writeRecordStatus(at, record, status, signal),
    writeWorkloadStatus(workloads, found, signal),
  ]);
  if (workload !== undefined && status !== undefined && type.isOffered) {
    for (const event of [...eventsOfWrites(outcomes), ...eventsBetween(record?.status, status)]) {
      workloads.recordEvent(key, workload, event);
    }
  }
  return {
    scene: { ...scene, record: recordAfter, workload: workloadAfter },
    againSeconds: status && secondsToStall(status.clusters ?? [], { now, stalledSeconds }),
  };
}

async function writeWorkloadStatus(
  workloads: WorkloadHub,
  { scene, outcomes, now }: Found,
  signal: AbortSignal,
): Promise<Workload | undefined> {
  const { key, type, workload, intent, upsyncOrigin } = scene;
  const hasStatus = type.isOffered && type.custom?.hasStatus !== false;
  // Of what is being deleted nobody asks any more how it is; what no placement wants says so as its copies go.
  if (workload === undefined || !hasStatus || intent.kind === "deleted") return workload;
  const heard = eachOnce(outcomes.filter(({ copy }) => copy !== undefined && !copy.isDeleting));
  const previous = statusOf(workload);
  // Nobody has reported anything yet, so there is nothing to say.
  if (previous === undefined && heard.every(({ copy }) => Object.keys(copy?.status ?? {}).length === 0))
    return workload;
  const typeNames = { apiVersion: type.apiVersion, kind: type.kind };
  const status = aggregate({
    ...typeNames,
    generation: workload.metadata.generation,
    previous,
    wanted: [
      ...(upsyncOrigin === undefined ? [] : [upsyncOrigin.name]),
      ...(intent.placement?.status?.selectedClusters?.filter((name) => intent.targets.includes(name)) ?? []),
    ],
    copies: heard.map(({ record, copy, isCurrent }) => ({
      cluster: record.name,
      status: copy?.status,
      isCurrent: isCurrent && hasReached({ ...typeNames, status: copy?.status, generation: copy?.generation }),
      seenMs: Date.parse(record.lastObservedTime ?? now),
    })),
    strategy: strategyFor(scene).strategy,
    sum: type.custom?.statusRule.sum,
    now,
  });
  return workloads.writeStatus(key, workload, status, signal);
}

/**
 * Leaves out what was told before. Two registrations may stand for one cluster: what one has just taken over from the other was seen
 * as the other's at the beginning of the same look, and is one object.
 */
function eachOnce(outcomes: readonly Outcome[]): readonly Outcome[] {
  const told = new Set<string>();
  return outcomes.filter(({ copy: { uid } = { uid: "" } }) => {
    const isNew = uid === "" || !told.has(uid);
    told.add(uid);
    return isNew;
  });
}

/** How the statuses of a workload's copies become one. */
function strategyFor({ workload, intent, type }: Observed): StrategyWish {
  return strategyOf(workload?.metadata.annotations, {
    placement: intent.placement?.spec.status?.aggregation,
    type: type.custom?.statusRule.strategy,
  });
}

function statusOf({ status }: Workload): JsonObject | undefined {
  return typeof status === "object" && status !== null ? (status as JsonObject) : undefined; // it came as JSON
}

/** What people hear of what was written to clusters. The same words are one Event, however often they are said. */
export function eventsOfWrites(
  outcomes: readonly Pick<Outcome, "record" | "wrote" | "isTransformed">[],
): readonly ObjectEvent[] {
  return outcomes.flatMap(({ record: { name }, wrote, isTransformed }): ObjectEvent[] => [
    ...(wrote === "drifted"
      ? [{ type: "Normal" as const, reason: "DriftReverted", message: `put back on ${name} what was changed there` }]
      : []),
    ...(wrote !== undefined && isTransformed === true
      ? [
          {
            type: "Normal" as const,
            reason: "Transformed",
            message: `changed for ${name} by the placement's overrides`,
          },
        ]
      : []),
  ]);
}

/** What people hear of: each state that a copy comes into, once. */
export function eventsBetween(before: SyncStatus | undefined, after: SyncStatus): readonly ObjectEvent[] {
  const known = new Map((before?.clusters ?? []).map((entry) => [entry.name, entry]));
  const events = (after.clusters ?? []).flatMap((copy): ObjectEvent[] => {
    const old = known.get(copy.name);
    const isNew = old?.state !== copy.state || old.reason !== copy.reason;
    const words = `${copy.name}: ${copy.message ?? copy.reason ?? ""}`;
    if (isNew && copy.state === "Failed") return [{ type: "Warning", reason: "SyncFailed", message: words }];
    if (isNew && copy.state === "Held") return [{ type: "Warning", reason: "DeletionsHeld", message: words }];
    if (isNew && copy.reason === "ReferenceMissing") {
      return [{ type: "Warning", reason: "ReferenceMissing", message: words }];
    }
    if (copy.appliedHash !== undefined && old?.appliedHash === undefined) {
      return [{ type: "Normal", reason: "Synced", message: `written to ${copy.name}` }];
    }
    return [];
  });
  const isStalled = findCondition(after.conditions, "Stalled");
  if (isStalled?.status !== "True" || findCondition(before?.conditions, "Stalled")?.status === "True") return events;
  return [...events, { type: "Warning", reason: "Stalled", message: isStalled.message }];
}
