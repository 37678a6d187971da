import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { unlessAborted } from "@tmc/kube/deadline.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { MergePatch } from "@tmc/kube/merge-patch.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { isClaimed } from "../api/workload-kinds.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import type { OwnerReads } from "../sync/orphans/reconcile.ts";
import { recordName } from "../sync/ownership/record.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import type { UpsyncHub } from "../upsync/world.ts";
import { createEventSink, type EventSink, type FailedEvent } from "./events.ts";
import { writeAcceptedStatus } from "./hub-requests.ts";
import { recordResource } from "./watched-resources.ts";
import type { CachedAddress } from "./workload-cache.ts";
import {
  addressOfNamespace,
  addressOfRecord,
  addressOfReference,
  addressOfWorkload,
  contentVersion,
  finalizersPatchOf,
  recordPatchOf,
  statusPatchOf,
  type WorkloadRequests,
  type WorkloadWrite,
  withLastWrittenHash,
  workloadPatchOf,
} from "./workload-requests.ts";

/** A workload hub whose recorded Events can be waited for. */
export type FlushableWorkloadHub = WorkloadHub & UpsyncHub & OwnerReads & Pick<EventSink, "whenFlushed">;

export type WorkloadHubOptions = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  clock: Clock;
  /** Called before every write, for metrics. */
  onWrite?: ((write: WorkloadWrite) => void) | undefined;
  /** Called for an Event that could not be written. */
  onEventFailure?: ((error: unknown, about: FailedEvent) => void) | undefined;
}>;

/** How a workload hub reads and writes objects: the part in which the cached and the fresh hub differ. */
export interface WorkloadAccess extends Pick<WorkloadRequests, "getMetadata" | "patch" | "create" | "remove"> {
  read(address: CachedAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  readRecord(address: CachedAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  /** Reads the whole object from the server, never from a cache, and does not cache it. */
  readUncached(address: CachedAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  list(type: ResourceType, logicalCluster: string, signal: AbortSignal): Promise<readonly KubeObject[]>;
  /** Lists from the server, never from a cache. */
  listUncached(type: ResourceType, logicalCluster: string): Promise<readonly KubeObject[]>;
  /** Drops a list that is cached for a batch: the next call reads it again. */
  invalidate?(type: ResourceType, logicalCluster: string): void;
}

/** Creates a workload hub on top of an access. */
export function createWorkloadHub(
  access: WorkloadAccess,
  types: readonly WorkloadType[],
  { client, clock, onWrite, onEventFailure }: WorkloadHubOptions,
): FlushableWorkloadHub {
  const events = createEventSink({
    client,
    clock,
    onFailure: onEventFailure,
    onWrite: ({ logicalCluster }) => onWrite?.({ logicalCluster, part: "event" }),
  });
  const write = async <T extends KubeObject>(
    address: CachedAddress,
    seen: T,
    part: WorkloadWrite["part"],
    patch: MergePatch | undefined,
    signal: AbortSignal,
  ): Promise<T> =>
    // The server answers with the same object, changed.
    patch === undefined ? seen : ((await access.patch(address, part, patch, signal)) as T);

  return {
    types,
    read: (key, signal) => {
      const address = addressOfWorkload(key);
      // Only the metadata of dependencies is cached.
      return isClaimed(address) ? access.readUncached(address, signal) : access.read(address, signal);
    },
    readUncached: (key, signal) => access.readUncached(addressOfWorkload(key), signal),
    list: (logicalCluster, type, signal) => access.list(type, logicalCluster, signal),
    writeStatus: async (key, seen, status, signal) => {
      const address = addressOfWorkload(key);
      return write(address, seen, "status", statusPatchOf(address, seen, status), signal);
    },
    writeFinalizers: async (key, seen, finalizers, signal) => {
      const address = addressOfWorkload(key);
      return write(address, seen, "finalizers", finalizersPatchOf(address, seen, finalizers), signal);
    },
    createWorkload: (key, object, signal) => access.create(addressOfWorkload(key), object, signal),
    updateWorkload: async (key, seen, desired, signal) => {
      const address = addressOfWorkload(key);
      return write(address, seen, "workload", workloadPatchOf(address, seen, desired), signal);
    },
    deleteWorkload: (key, seen, signal) => access.remove(addressOfWorkload(key), seen, signal),

    // The server validates sync records against the kind's schema.
    readRecord: async (record, signal) =>
      (await access.readRecord(addressOfRecord(record), signal)) as WorkloadSync | undefined,
    readRecordUncached: async (record, signal) =>
      (await access.readUncached(addressOfRecord(record), signal)) as WorkloadSync | undefined,
    listRecordsUncached: async (logicalCluster, signal) => {
      access.invalidate?.(recordResource.type, logicalCluster);
      return (await access.list(recordResource.type, logicalCluster, signal)) as readonly WorkloadSync[];
    },
    listRecords: async (logicalCluster, signal) =>
      (await access.list(recordResource.type, logicalCluster, signal)) as readonly WorkloadSync[],
    listRecordsFromServer: async (logicalCluster, signal) =>
      (await unlessAborted(
        access.listUncached(recordResource.type, logicalCluster),
        signal,
      )) as readonly WorkloadSync[],
    readOwner: async (key, signal) => {
      const address = addressOfWorkload(key);
      const { logicalCluster, namespace } = address;
      const recordAddress = addressOfRecord({ logicalCluster, namespace, name: recordName(address) });
      // The record first: it is written after the workload exists, and removed before the workload is.
      const record = (await access.readUncached(recordAddress, signal)) as WorkloadSync | undefined;
      return { record, workload: await access.readUncached(address, signal) };
    },
    createRecord: async (record, desired, signal) =>
      (await access.create(addressOfRecord(record), withLastWrittenHash(desired), signal)) as WorkloadSync,
    writeRecord: async (record, seen, desired, signal) => {
      const address = addressOfRecord(record);
      return write(address, seen, "record", recordPatchOf(address, seen, desired), signal);
    },
    writeRecordStatus: (record, seen, desired, signal) => {
      const address = addressOfRecord(record);
      return writeAcceptedStatus(seen, desired, (status) =>
        write(address, seen, "record-status", statusPatchOf(address, seen, status), signal),
      );
    },

    namespaceLabels: async (logicalCluster, namespace, signal) => {
      const object = await access.getMetadata(addressOfNamespace(logicalCluster, namespace), signal);
      return object === undefined ? undefined : (object.metadata.labels ?? {});
    },
    isNamespaceActive: async (logicalCluster, namespace, signal) => {
      const object = await access.readUncached(addressOfNamespace(logicalCluster, namespace), signal);
      return object !== undefined && object.metadata.deletionTimestamp === undefined;
    },
    referenceVersion: async (reference, signal) => {
      const object = await access.getMetadata(addressOfReference(reference), signal);
      return object === undefined ? undefined : contentVersion(object);
    },
    readReference: (reference, signal) => access.readUncached(addressOfReference(reference), signal),
    recordEvent: (key, about, event) => {
      const { namespace } = addressOfWorkload(key);
      events.record(key, { ...about, metadata: { ...about.metadata, namespace } }, event);
    },
    whenFlushed: events.whenFlushed,
  };
}
