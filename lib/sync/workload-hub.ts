import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import type { ObjectEvent } from "../model/event.ts";
import type { WorkloadKey } from "../model/key.ts";
import type { Reference } from "./dependencies/references.ts";
import type { SyncStatus, Workload } from "./sync-objects.ts";

/** An object of one of the types that come along with workloads, by its name in the hub. */
export type ReferenceAddress = Readonly<{ logicalCluster: string; namespace: string }> &
  Pick<Reference, "kind" | "name">;

/** Where a record is. */
export type RecordAddress = Readonly<{ logicalCluster: string; namespace: string; name: string }>;

/**
 * The workloads that tenants keep in the hub, and TMC's records of them. As with `lib/model/hub.ts`, every call names its
 * logical cluster, reads may be answered from what the relay has just seen, and every write carries the version that it
 * was decided on: a stale read ends as the fault "conflict".
 */
export interface WorkloadHub {
  /** The workload, or undefined when the server (not only the cache) says that it is not there. */
  read(key: WorkloadKey, signal: AbortSignal): Promise<Workload | undefined>;
  /** All workloads of a type in a logical cluster. */
  list(cluster: string, type: ResourceType, signal: AbortSignal): Promise<readonly Workload[]>;
  /** The types of workloads that are looked after. */
  readonly types: readonly WorkloadType[];
  /** Replaces the status of what was `seen`. */
  writeStatus(key: WorkloadKey, seen: Workload, status: object, signal: AbortSignal): Promise<Workload>;
  /** Replaces the finalizers of what was `seen`. */
  writeFinalizers(
    key: WorkloadKey,
    seen: Workload,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<Workload>;

  readRecord(address: RecordAddress, signal: AbortSignal): Promise<WorkloadSync | undefined>;
  /** All records of a logical cluster. */
  listRecords(cluster: string, signal: AbortSignal): Promise<readonly WorkloadSync[]>;
  /** The same with all that others have written up to now, where a list that was read before would be gone by. */
  listRecordsUncached(cluster: string, signal: AbortSignal): Promise<readonly WorkloadSync[]>;
  /** Fails with the fault "exists" when there is one by now. */
  createRecord(address: RecordAddress, record: WorkloadSync, signal: AbortSignal): Promise<WorkloadSync>;
  /** Replaces spec, finalizers and owner references of what was `seen` by those of `wanted`. */
  writeRecord(
    address: RecordAddress,
    seen: WorkloadSync,
    wanted: Pick<WorkloadSync, "spec" | "metadata">,
    signal: AbortSignal,
  ): Promise<WorkloadSync>;
  writeRecordStatus(
    address: RecordAddress,
    seen: WorkloadSync,
    status: SyncStatus,
    signal: AbortSignal,
  ): Promise<WorkloadSync>;

  /** The labels of a namespace; undefined when it is not there. */
  namespaceLabels(
    cluster: string,
    namespace: string,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>> | undefined>;
  /** The version of something that a workload refers to; undefined when it is not there. */
  referenceVersion(address: ReferenceAddress, signal: AbortSignal): Promise<string | undefined>;
  /** The thing itself, always read fresh and never kept. */
  readReference(address: ReferenceAddress, signal: AbortSignal): Promise<KubeObject | undefined>;

  /** Tells people something about a workload, as an Event beside it. A failure to tell is logged, never thrown. */
  recordEvent(key: WorkloadKey, about: Workload, event: ObjectEvent): void;
}
