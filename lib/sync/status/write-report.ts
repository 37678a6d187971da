import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { annotationsValidType } from "../../api/annotations.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import { findCondition } from "../../model/condition.ts";
import type { ObjectEvent } from "../../model/event.ts";
import { controlErrors } from "../control-annotations.ts";
import type { Observed, SyncTools } from "../observed.ts";
import { recordName } from "../ownership/record.ts";
import type { SyncStatus, Workload } from "../sync-objects.ts";
import type { CopyOutcome } from "../targets/apply.ts";
import type { WorkloadHub } from "../workload-hub.ts";
import { aggregate } from "./aggregate.ts";
import { hasObservedGeneration } from "./conditions.ts";
import { decideRecordStatus, secondsToStall } from "./report.ts";
import { type ChosenStrategy, strategyOf } from "./strategy.ts";

type ReportInput = Readonly<{
  observed: Observed;
  outcomes: readonly CopyOutcome[];
  /** Explains why not all replicas could be placed. */
  shortfall: string | undefined;
  /** The paths at which the copies differ. */
  differences: readonly string[];
  now: string;
}>;

/** The facts with the objects as they were written, and the seconds until a copy counts as stalled. */
export type Reported = Readonly<{ observed: Observed; stalledInSeconds: number | undefined }>;

/**
 * Records Events about the writes of this reconcile. Only this reconcile knows them, so they are recorded even if the report
 * is delayed.
 */
export function recordWriteEvents(
  { workloads }: Pick<SyncTools, "workloads">,
  { key, type, workload, record }: Observed,
  outcomes: readonly CopyOutcome[],
): void {
  if (workload === undefined || record === undefined || !type.isOffered) return;
  for (const event of eventsOfWrites(outcomes)) workloads.recordEvent(key, workload, event);
}

/** Writes the status of the sync record and of the workload, each only if it differs, and records Events of transitions. */
export async function writeReport(
  { workloads, settings }: Pick<SyncTools, "workloads" | "settings">,
  input: ReportInput,
  signal: AbortSignal,
): Promise<Reported> {
  const { observed, outcomes, shortfall, differences, now } = input;
  const { key, address, type, workload, record, intent, controls } = observed;
  const { stalledAfterSeconds } = settings;
  const recordAddress = {
    logicalCluster: key.logicalCluster,
    namespace: address.namespace,
    name: recordName(address),
  };
  const status =
    record === undefined
      ? undefined
      : decideRecordStatus({
          previous: record.status,
          copies: outcomes.map((outcome) => outcome.record),
          intent,
          shortfall,
          differences,
          strategyError: strategyFor(observed).error,
          annotationErrors:
            workload === undefined ? [] : controlErrors(workload, (name) => observed.targetClusters.has(name)),
          hubControllersError:
            controls.syncBlocker?.reason === "HubRunsWorkloads" ? controls.syncBlocker.message : undefined,
          retainedClaims: observed.retainedClaims,
          stalledAfterSeconds,
          generation: workload?.metadata.generation,
          now,
        });
  const [writtenRecord, writtenWorkload] = await allSettledOrThrow([
    record === undefined || status === undefined
      ? record
      : workloads.writeRecordStatus(recordAddress, record, status, signal),
    writeWorkloadStatus(workloads, input, signal),
  ]);
  if (workload !== undefined && status !== undefined && type.isOffered) {
    for (const event of eventsOfTransitions(record?.status, status)) workloads.recordEvent(key, workload, event);
  }
  return {
    observed: { ...observed, record: writtenRecord, workload: writtenWorkload },
    stalledInSeconds: status && secondsToStall(status.clusters ?? [], { now, stalledAfterSeconds }),
  };
}

async function writeWorkloadStatus(
  workloads: WorkloadHub,
  { observed, outcomes, now }: ReportInput,
  signal: AbortSignal,
): Promise<Workload | undefined> {
  const { key, type, workload, intent, upsyncOrigin } = observed;
  const hasStatus = type.isOffered && type.custom?.hasStatus !== false;
  // A workload that is being deleted needs no status. One that no placement selects reports that its copies go.
  if (workload === undefined || !hasStatus || intent.kind === "deleted") return workload;
  const reporting = withoutDuplicates(outcomes.filter(({ copy }) => copy !== undefined && !copy.isDeleting));
  const previous = statusOf(workload);
  // No cluster has reported a status yet.
  if (previous === undefined && reporting.every(({ copy }) => Object.keys(copy?.status ?? {}).length === 0))
    return workload;
  const typeNames = { apiVersion: type.apiVersion, kind: type.kind };
  const status = aggregate({
    ...typeNames,
    generation: workload.metadata.generation,
    previous,
    targets: [
      ...(upsyncOrigin === undefined ? [] : [upsyncOrigin.targetCluster]),
      ...(intent.placement?.status?.selectedClusters?.filter((name) => intent.targets.includes(name)) ?? []),
      ...intent.heldClusters,
    ],
    copies: reporting.map(({ record, copy, isCurrent }) => ({
      targetCluster: record.name,
      status: copy?.status,
      isCurrent:
        isCurrent && hasObservedGeneration({ ...typeNames, status: copy?.status, generation: copy?.generation }),
      observedMs: Date.parse(record.lastObservedTime ?? now),
    })),
    strategy: strategyFor(observed).strategy,
    summedFields: type.custom?.statusRule.sum,
    now,
  });
  return workloads.writeStatus(key, workload, status, signal);
}

/**
 * Omits a copy that is listed twice. Two registrations may point to one cluster: an object that one of them has just adopted
 * from the other was read as the other's at the beginning of the same reconcile.
 */
function withoutDuplicates(outcomes: readonly CopyOutcome[]): readonly CopyOutcome[] {
  const uids = new Set<string>();
  return outcomes.filter(({ copy: { uid } = { uid: "" } }) => {
    const isFirst = uid === "" || !uids.has(uid);
    uids.add(uid);
    return isFirst;
  });
}

/** The strategy by which the statuses of the copies are aggregated. */
function strategyFor({ workload, intent, type }: Observed): ChosenStrategy {
  return strategyOf(workload?.metadata.annotations, {
    placement: intent.placement?.spec.status?.aggregation,
    type: type.custom?.statusRule.strategy,
  });
}

function statusOf({ status }: Workload): JsonObject | undefined {
  return typeof status === "object" && status !== null ? (status as JsonObject) : undefined; // it was parsed from JSON
}

/** Events about writes to clusters. Equal Events are counted, not repeated. */
function eventsOfWrites(
  outcomes: readonly Pick<CopyOutcome, "record" | "writeCause" | "isOverridden">[],
): readonly ObjectEvent[] {
  return outcomes.flatMap(({ record: { name }, writeCause, isOverridden }): ObjectEvent[] => [
    ...(writeCause === "drifted"
      ? [{ type: "Normal" as const, reason: "DriftReverted", message: `reverted a change that was made on ${name}` }]
      : []),
    ...(writeCause !== undefined && isOverridden === true
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

function eventsOfAnnotations(previous: SyncStatus | undefined, current: SyncStatus): readonly ObjectEvent[] {
  const condition = findCondition(current.conditions, annotationsValidType);
  if (condition === undefined || findCondition(previous?.conditions, annotationsValidType) !== undefined) return [];
  return [{ type: "Warning", reason: condition.reason, message: condition.message }];
}

/** Events about state transitions: one for each state that a copy enters. */
function eventsOfTransitions(previous: SyncStatus | undefined, current: SyncStatus): readonly ObjectEvent[] {
  const previousCopies = new Map((previous?.clusters ?? []).map((entry) => [entry.name, entry]));
  const events = (current.clusters ?? []).flatMap((copy): ObjectEvent[] => {
    const before = previousCopies.get(copy.name);
    const hasChanged = before?.state !== copy.state || before.reason !== copy.reason;
    const message = `${copy.name}: ${copy.message ?? copy.reason ?? ""}`;
    if (hasChanged && copy.state === "Failed") return [{ type: "Warning", reason: "SyncFailed", message }];
    if (hasChanged && copy.state === "Held") return [{ type: "Warning", reason: "DeletionsHeld", message }];
    if (hasChanged && copy.reason === "ReferenceMissing") {
      return [{ type: "Warning", reason: "ReferenceMissing", message }];
    }
    if (copy.appliedHash !== undefined && before?.appliedHash === undefined) {
      return [{ type: "Normal", reason: "Synced", message: `written to ${copy.name}` }];
    }
    return [];
  });
  const begun = (["Stalled", "EvictionHeld"] as const).flatMap((type): ObjectEvent[] => {
    const condition = findCondition(current.conditions, type);
    if (condition?.status !== "True" || findCondition(previous?.conditions, type)?.status === "True") return [];
    const reason = type === "Stalled" ? type : condition.reason;
    return [{ type: "Warning", reason, message: condition.message }];
  });
  return [...events, ...begun, ...eventsOfAnnotations(previous, current)];
}
