import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import type { WorkloadKey } from "../../model/key.ts";
import type { Intent } from "../decide.ts";
import { referenceId } from "../dependencies/references.ts";
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
  const { deleted, ...recordedSpec } = record?.spec ?? {};
  const spec: WorkloadSync["spec"] = {
    ...recordedSpec,
    // Whether an earlier object of that name was deleted says nothing about this one.
    ...(deleted === undefined || !isDeleting ? {} : { deleted }),
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
  const isReplaced =
    record !== undefined &&
    isReplaceable(record, intent) &&
    // A terminating namespace accepts no new record, and deletes the workload itself next.
    (await workloads.isNamespaceActive(key.logicalCluster, address.namespace, signal));
  const [protectedWorkload, protectedRecord] = await allSettledOrThrow([
    needsFinalizer ? workloads.writeFinalizers(key, workload, [...finalizers, syncFinalizer], signal) : workload,
    isReplaced
      ? record
      : ensureRecord(workloads, { recordAddress, workload, record, spec, isPlaced, hubId: locator.hub }, signal),
  ]);
  return {
    ...observed,
    workload: protectedWorkload,
    record: isReplaced
      ? await replaceRecord(workloads, { key, recordAddress, workload, record, spec, hubId: locator.hub }, signal)
      : protectedRecord,
  };
}

/**
 * Whether a record that is terminating names nothing but what its workload needs now, so that a new record can take its place.
 *
 * Between the two writes no record exists. A crash there must lose nothing: the target clusters and the references follow from
 * the workload and its placement, and a copy on any other cluster, a pending cleanup or a dropped reference does not.
 */
export function isReplaceable({ metadata, spec }: Pick<WorkloadSync, "metadata" | "spec">, intent: Intent): boolean {
  const references = new Set(intent.references.map(referenceId));
  return (
    intent.kind === "placed" &&
    metadata.deletionTimestamp !== undefined &&
    (metadata.finalizers ?? []).every((each) => each === syncFinalizer) &&
    (spec.clusters ?? []).every((name) => intent.targets.includes(name)) &&
    (spec.pendingCleanup ?? []).length === 0 &&
    (spec.references ?? []).every((reference) => references.has(referenceId(reference)))
  );
}

/**
 * Replaces a terminating record by a new one, before anything is written to a cluster.
 *
 * The upstream garbage collector deletes the record of a workload that was deleted and created again. A terminating record
 * cannot be restored. Until it can be replaced, it is written as any other record. The garbage collector would delete a record
 * of an object that only the cache still has, again and again; so the server is asked for the workload first.
 */
async function replaceRecord(
  workloads: WorkloadHub,
  { key, recordAddress, workload, record, spec, hubId }: RecordReplacement,
  signal: AbortSignal,
): Promise<WorkloadSync> {
  const initial = newRecord(recordAddress.name, workload, hubId);
  const current = await workloads.readUncached(key, signal);
  if (current?.metadata.uid !== workload.metadata.uid) {
    throw new ControllerError(
      "conflict",
      `${workload.kind} ${workload.metadata.name} was replaced or deleted upstream`,
    );
  }
  try {
    const metadata = { ...record.metadata, finalizers: [] };
    await workloads.writeRecord(recordAddress, record, { spec: record.spec, metadata }, signal);
    return await workloads.createRecord(recordAddress, { ...initial, spec }, signal);
  } catch (error) {
    const fault = faultOf(error);
    if (fault !== "not-found" && fault !== "exists") throw error;
    throw new ControllerError("conflict", `another controller has replaced the sync record ${recordAddress.name}`);
  }
}

type RecordWrite = Readonly<{
  recordAddress: RecordAddress;
  workload: Workload;
  record: WorkloadSync | undefined;
  spec: WorkloadSync["spec"];
  isPlaced: boolean;
  hubId: string;
}>;

type RecordReplacement = Omit<RecordWrite, "isPlaced" | "record"> &
  Readonly<{ key: WorkloadKey; record: WorkloadSync }>;

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
  // The record is deleted with its namespace or with its workload. What it names is cleaned up before its finalizer is removed,
  // and it is written only if another object of that name needs it by now.
  if (record.metadata.deletionTimestamp !== undefined && !isPlaced) return record;
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
