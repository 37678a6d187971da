import type { WorkloadSync } from "../../api/workload-sync.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import type { Observed } from "../observed.ts";
import type { Workload } from "../sync-objects.ts";
import type { RecordAddress, WorkloadHub } from "../workload-hub.ts";
import { isSameSpec, newRecord, recordName, syncFinalizer } from "./record.ts";

/**
 * Writes the finalizer of the workload and its sync record, if they do not cover what is about to happen: the record names
 * every cluster that has a copy or gets one, and all references.
 */
export async function protectWorkload(
  workloads: WorkloadHub,
  observed: Observed,
  signal: AbortSignal,
): Promise<Observed> {
  const { key, address, type, workload, record, intent, locator } = observed;
  if (workload === undefined) return observed; // the record exists and names the clusters
  const recordAddress = {
    logicalCluster: key.logicalCluster,
    namespace: address.namespace,
    name: recordName(address),
  };
  const isDeleting = workload.metadata.deletionTimestamp !== undefined;
  const finalizers = workload.metadata.finalizers ?? [];
  const needsFinalizer =
    type.isOffered && !isDeleting && intent.clusters.length > 0 && !finalizers.includes(syncFinalizer);
  const spec: WorkloadSync["spec"] = {
    ...record?.spec,
    workload: newRecord(recordAddress.name, workload, locator.hub).spec.workload,
    ...(intent.placement === undefined
      ? {}
      : {
          placement: intent.placement.metadata.name ?? "",
          deletionPolicy: intent.placement.spec.deletionPolicy ?? "Delete",
        }),
    clusters: intent.clusters,
    // A cluster that has a copy, or gets one again, is not cleaned up.
    pendingCleanup: (record?.spec.pendingCleanup ?? []).filter((name) => !intent.clusters.includes(name)),
    references: intent.recordedReferences,
  };
  const isPlaced = intent.kind === "placed";
  const [protectedWorkload, protectedRecord] = await allSettledOrThrow([
    needsFinalizer ? workloads.writeFinalizers(key, workload, [...finalizers, syncFinalizer], signal) : workload,
    ensureRecord(workloads, { recordAddress, workload, record, spec, isPlaced, hubId: locator.hub }, signal),
  ]);
  return { ...observed, workload: protectedWorkload, record: protectedRecord };
}

type RecordWrite = Readonly<{
  recordAddress: RecordAddress;
  workload: Workload;
  record: WorkloadSync | undefined;
  spec: WorkloadSync["spec"];
  isPlaced: boolean;
  hubId: string;
}>;

async function ensureRecord(
  workloads: WorkloadHub,
  { recordAddress, workload, record, spec, isPlaced, hubId }: RecordWrite,
  signal: AbortSignal,
): Promise<WorkloadSync | undefined> {
  const initial = newRecord(recordAddress.name, workload, hubId);
  if (record === undefined) {
    if (!isPlaced && (spec.clusters ?? []).length === 0) return undefined;
    return workloads.createRecord(recordAddress, { ...initial, spec }, signal);
  }
  // The record is deleted with its namespace. What it names is cleaned up once more before its finalizer is removed.
  if (record.metadata.deletionTimestamp !== undefined) return record;
  const finalizers = record.metadata.finalizers ?? [];
  const isProtected = finalizers.includes(syncFinalizer) || (spec.clusters ?? []).length === 0;
  const isOwned = record.metadata.ownerReferences?.some(({ uid }) => uid === workload.metadata.uid) === true;
  if (isProtected && isOwned && isSameSpec(record.spec, spec)) return record;
  return workloads.writeRecord(
    recordAddress,
    record,
    {
      spec,
      metadata: {
        ...record.metadata,
        finalizers: isProtected ? finalizers : [...finalizers, syncFinalizer],
        ownerReferences: initial.metadata.ownerReferences ?? [],
      },
    },
    signal,
  );
}
