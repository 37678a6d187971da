import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { MergePatch } from "@tmc/kube/merge-patch.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { isClaimed } from "../api/workload-kinds.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import type { UpsyncHub } from "../upsync/world.ts";
import { createHubEvents, type HubEvents, type Untold } from "./events.ts";
import { recordLane } from "./watched-resources.ts";
import type { SeenAddress } from "./workload-cache.ts";
import {
  addressOfNamespace,
  addressOfRecord,
  addressOfReference,
  addressOfWorkload,
  contentVersion,
  finalizersPatchOf,
  markedRecord,
  recordPatchOf,
  statusPatchOf,
  type WorkloadRequests,
  type WorkloadWrite,
  workloadPatchOf,
} from "./workload-requests.ts";

/** A hub of workloads, and when all that it was to tell has been told. */
export type TellingWorkloadHub = WorkloadHub & UpsyncHub & Pick<HubEvents, "whenTold">;

/** What every hub of workloads is made of. */
export type WorkloadHubParts = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  clock: Clock;
  /** Told of every write before it is made. */
  onWrite?: ((write: WorkloadWrite) => void) | undefined;
  /** Hears of an Event that could not be written. */
  onUntold?: ((error: unknown, about: Untold) => void) | undefined;
}>;

/** In which hubs of workloads differ: where they look, and what they note of what servers answer. */
export interface WorkloadWays extends Pick<WorkloadRequests, "getMetadata" | "patch" | "create" | "remove"> {
  read(address: SeenAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  readRecord(address: SeenAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  /** The thing itself, always asked for and never kept. */
  readFresh(address: SeenAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  list(type: ResourceType, logicalCluster: string, signal: AbortSignal): Promise<readonly KubeObject[]>;
  /** Has the next list of a type read anew, where lists are kept for a while. */
  renew?(type: ResourceType, logicalCluster: string): void;
}

/** Makes a hub of workloads of the ways that it goes. */
export function workloadHubOf(
  ways: WorkloadWays,
  types: readonly WorkloadType[],
  { client, clock, onWrite, onUntold }: WorkloadHubParts,
): TellingWorkloadHub {
  const { tell, whenTold } = createHubEvents({
    client,
    clock,
    onTrouble: onUntold,
    onWrite: ({ logicalCluster }) => onWrite?.({ logicalCluster, part: "event" }),
  });
  const write = async <T extends KubeObject>(
    address: SeenAddress,
    seen: T,
    part: WorkloadWrite["part"],
    patch: MergePatch | undefined,
    signal: AbortSignal,
  ): Promise<T> =>
    // What a server answers is what was seen, changed: of the same type.
    patch === undefined ? seen : ((await ways.patch(address, part, patch, signal)) as T);

  return {
    types,
    read: (key, signal) => {
      const address = addressOfWorkload(key);
      // Of what comes along nobody keeps more than the metadata.
      return isClaimed(address) ? ways.readFresh(address, signal) : ways.read(address, signal);
    },
    list: (logicalCluster, type, signal) => ways.list(type, logicalCluster, signal),
    writeStatus: async (key, seen, status, signal) => {
      const address = addressOfWorkload(key);
      return write(address, seen, "status", statusPatchOf(address, seen, status), signal);
    },
    writeFinalizers: async (key, seen, finalizers, signal) => {
      const address = addressOfWorkload(key);
      return write(address, seen, "finalizers", finalizersPatchOf(address, seen, finalizers), signal);
    },
    createWorkload: (key, object, signal) => ways.create(addressOfWorkload(key), object, signal),
    writeWorkload: async (key, seen, wanted, signal) => {
      const address = addressOfWorkload(key);
      return write(address, seen, "workload", workloadPatchOf(address, seen, wanted), signal);
    },
    removeWorkload: (key, seen, signal) => ways.remove(addressOfWorkload(key), seen, signal),

    // What is read as a record the server holds to the kind's schema.
    readRecord: async (record, signal) =>
      (await ways.readRecord(addressOfRecord(record), signal)) as WorkloadSync | undefined,
    listRecordsUncached: async (logicalCluster, signal) => {
      ways.renew?.(recordLane.type, logicalCluster);
      return (await ways.list(recordLane.type, logicalCluster, signal)) as readonly WorkloadSync[];
    },
    listRecords: async (logicalCluster, signal) =>
      (await ways.list(recordLane.type, logicalCluster, signal)) as readonly WorkloadSync[],
    createRecord: async (record, wanted, signal) =>
      (await ways.create(addressOfRecord(record), markedRecord(wanted), signal)) as WorkloadSync,
    writeRecord: async (record, seen, wanted, signal) => {
      const address = addressOfRecord(record);
      return write(address, seen, "record", recordPatchOf(address, seen, wanted), signal);
    },
    writeRecordStatus: async (record, seen, status, signal) => {
      const address = addressOfRecord(record);
      return write(address, seen, "record-status", statusPatchOf(address, seen, status), signal);
    },

    namespaceLabels: async (logicalCluster, namespace, signal) => {
      const object = await ways.getMetadata(addressOfNamespace(logicalCluster, namespace), signal);
      return object === undefined ? undefined : (object.metadata.labels ?? {});
    },
    referenceVersion: async (reference, signal) => {
      const object = await ways.getMetadata(addressOfReference(reference), signal);
      return object === undefined ? undefined : contentVersion(object);
    },
    readReference: (reference, signal) => ways.readFresh(addressOfReference(reference), signal),
    recordEvent: (key, about, event) => {
      const { namespace } = addressOfWorkload(key);
      tell(key, { ...about, metadata: { ...about.metadata, namespace } }, event);
    },
    whenTold,
  };
}
