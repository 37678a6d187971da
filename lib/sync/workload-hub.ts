import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import type { ObjectEvent } from "../model/event.ts";
import type { WorkloadKey } from "../model/key.ts";
import type { Reference } from "./dependencies/references.ts";
import type { SyncStatus, Workload } from "./sync-objects.ts";

/** The upstream address of an object that workloads reference. */
export type ReferenceAddress = Readonly<{ logicalCluster: string; namespace: string }> &
  Pick<Reference, "kind" | "name">;

/** The address of a sync record. */
export type RecordAddress = Readonly<{ logicalCluster: string; namespace: string; name: string }>;

/**
 * The tenants' workloads and TMC's sync records upstream. As in `lib/model/hub.ts`, every call names its logical cluster,
 * reads may be served from the relay's cache, and every write carries the resourceVersion that it was decided on: a write
 * after a stale read fails with the fault "conflict".
 */
export interface WorkloadHub {
  /** The workload, or undefined when the server (not only the cache) reports that it does not exist. */
  read(key: WorkloadKey, signal: AbortSignal): Promise<Workload | undefined>;
  /** The workload as the server has it, never cached. */
  readUncached(key: WorkloadKey, signal: AbortSignal): Promise<Workload | undefined>;
  /** All workloads of a type in a logical cluster. */
  list(logicalCluster: string, type: ResourceType, signal: AbortSignal): Promise<readonly Workload[]>;
  /** The workload types that TMC syncs. */
  readonly types: readonly WorkloadType[];
  /** Replaces the status of the workload as it was `observed`. */
  writeStatus(key: WorkloadKey, observed: Workload, status: object, signal: AbortSignal): Promise<Workload>;
  /** Replaces the finalizers of the workload as it was `observed`. */
  writeFinalizers(
    key: WorkloadKey,
    observed: Workload,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<Workload>;

  readRecord(address: RecordAddress, signal: AbortSignal): Promise<WorkloadSync | undefined>;
  /** The record as the server has it, never cached. */
  readRecordUncached(address: RecordAddress, signal: AbortSignal): Promise<WorkloadSync | undefined>;
  /** All sync records of a logical cluster. */
  listRecords(logicalCluster: string, signal: AbortSignal): Promise<readonly WorkloadSync[]>;
  /** All sync records of a logical cluster, read after all writes up to now instead of from a list that a batch shares. */
  listRecordsUncached(logicalCluster: string, signal: AbortSignal): Promise<readonly WorkloadSync[]>;
  /** Fails with the fault "exists" when the record exists by now. */
  createRecord(address: RecordAddress, record: WorkloadSync, signal: AbortSignal): Promise<WorkloadSync>;
  /** Replaces spec, finalizers and owner references of the record as it was `observed`. */
  writeRecord(
    address: RecordAddress,
    observed: WorkloadSync,
    desired: Pick<WorkloadSync, "spec" | "metadata">,
    signal: AbortSignal,
  ): Promise<WorkloadSync>;
  writeRecordStatus(
    address: RecordAddress,
    observed: WorkloadSync,
    status: SyncStatus,
    signal: AbortSignal,
  ): Promise<WorkloadSync>;

  /** The labels of a namespace; undefined when it does not exist. */
  namespaceLabels(
    logicalCluster: string,
    namespace: string,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>> | undefined>;
  /** Whether a namespace exists and is not terminating, read from the server and never cached. */
  isNamespaceActive(logicalCluster: string, namespace: string, signal: AbortSignal): Promise<boolean>;
  /** The resourceVersion of a referenced object; undefined when it does not exist. */
  referenceVersion(address: ReferenceAddress, signal: AbortSignal): Promise<string | undefined>;
  /** The referenced object itself, always read from the server and never cached. */
  readReference(address: ReferenceAddress, signal: AbortSignal): Promise<KubeObject | undefined>;

  /** Records an Event about a workload. A failure is logged, never thrown. */
  recordEvent(key: WorkloadKey, workload: Workload, event: ObjectEvent): void;
}
