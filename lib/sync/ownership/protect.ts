import type { WorkloadSync } from "../../api/workload-sync.ts";
import { allSettledOrThrow } from "../../model/concurrency.ts";
import type { Observed } from "../observed.ts";
import type { Workload } from "../sync-objects.ts";
import type { RecordAddress, WorkloadHub } from "../workload-hub.ts";
import { isSameSpec, newRecord, recordName, syncFinalizer } from "./record.ts";

/** Writes the finalizer and the record, where they do not yet say what is about to happen. */
export async function protectWorkload(workloads: WorkloadHub, scene: Observed, signal: AbortSignal): Promise<Observed> {
  const { key, address, type, workload, record, intent } = scene;
  const at = { logicalCluster: key.logicalCluster, namespace: address.namespace, name: recordName(address) };
  if (workload === undefined) return scene; // the record is there, and says where copies are
  const isGoing = workload.metadata.deletionTimestamp !== undefined;
  const finalizers = workload.metadata.finalizers ?? [];
  const needsFinalizer =
    type.isOffered && !isGoing && intent.clusters.length > 0 && !finalizers.includes(syncFinalizer);
  const spec: WorkloadSync["spec"] = {
    ...record?.spec,
    workload: newRecord(at.name, workload).spec.workload,
    ...(intent.placement === undefined
      ? {}
      : {
          placement: intent.placement.metadata.name ?? "",
          deletionPolicy: intent.placement.spec.deletionPolicy ?? "Delete",
        }),
    clusters: intent.clusters,
    // Where it is or will be again, it has not gone.
    pendingCleanup: (record?.spec.pendingCleanup ?? []).filter((name) => !intent.clusters.includes(name)),
    references: intent.recordedReferences,
  };
  const [guardedWorkload, guardedRecord] = await allSettledOrThrow([
    needsFinalizer ? workloads.writeFinalizers(key, workload, [...finalizers, syncFinalizer], signal) : workload,
    writeRecord(workloads, { at, workload, record, spec, isWanted: intent.kind === "wanted" }, signal),
  ]);
  return { ...scene, workload: guardedWorkload, record: guardedRecord };
}

type RecordWrite = Readonly<{
  at: RecordAddress;
  workload: Workload;
  record: WorkloadSync | undefined;
  spec: WorkloadSync["spec"];
  isWanted: boolean;
}>;

async function writeRecord(
  workloads: WorkloadHub,
  { at, workload, record, spec, isWanted }: RecordWrite,
  signal: AbortSignal,
): Promise<WorkloadSync | undefined> {
  const fresh = newRecord(at.name, workload);
  if (record === undefined) {
    if (!isWanted && (spec.clusters ?? []).length === 0) return undefined;
    return workloads.createRecord(at, { ...fresh, spec }, signal);
  }
  // It goes with its namespace; whatever it names is gone through once more, and then it is let go.
  if (record.metadata.deletionTimestamp !== undefined) return record;
  const finalizers = record.metadata.finalizers ?? [];
  const isSafe = finalizers.includes(syncFinalizer) || (spec.clusters ?? []).length === 0;
  const isOwned = record.metadata.ownerReferences?.some(({ uid }) => uid === workload.metadata.uid) === true;
  if (isSafe && isOwned && isSameSpec(record.spec, spec)) return record;
  return workloads.writeRecord(
    at,
    record,
    {
      spec,
      metadata: {
        ...record.metadata,
        finalizers: isSafe ? finalizers : [...finalizers, syncFinalizer],
        ownerReferences: fresh.metadata.ownerReferences ?? [],
      },
    },
    signal,
  );
}
