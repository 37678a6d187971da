import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { typeId } from "../api/workload-kinds.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey, WorkKey, WorkloadKey } from "../model/key.ts";
import type { CopyAddress } from "../sync/downstream.ts";
import { registrationKey } from "../sync/observed.ts";
import type { SyncSettings } from "../sync/settings.ts";
import type { UpsyncOrigins } from "../sync/status/upsync-origin-status.ts";
import type { Workload } from "../sync/sync-objects.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import type { UpsyncState } from "./decide.ts";
import type { UpsyncLocalState } from "./local-state.ts";
import { isOptedIn, isReady, type OptIn, optInsOf } from "./opt-in.ts";

/** The dependencies of the upsync reconcilers. */
export type UpsyncTools = Readonly<{
  /** Reads registrations and writes their status. */
  hub: Pick<Hub, "read" | "list" | "writeStatus">;
  workloads: Pick<WorkloadHub, "read" | "list" | "listRecords" | "types" | "namespaceLabels" | "recordEvent">;
  upsyncHub: UpsyncHub;
  source: UpsyncSource;
  localState: UpsyncLocalState;
  clock: Pick<Clock, "now">;
  settings: Pick<SyncSettings, "deletionGuard" | "retrySeconds" | "rejectedRetrySeconds">;
  /** Whether the cache has all of a logical cluster; until then nothing is decided. Always true where there is no cache. */
  isListed: (logicalCluster: string) => boolean;
  /** Enqueues keys; throws if the queue does not accept them. */
  enqueue: (keys: readonly WorkKey[]) => Promise<void>;
  /** Called after every upstream write, for metrics. */
  onUpsync?: ((action: "created" | "changed" | "removed") => void) | undefined;
}>;

/** Reads the objects to upsync from clusters, either from watches or by a request each time. */
export interface UpsyncSource {
  /** Whether clusters are watched and changes there enqueue their keys. If not, callers must read what they do not know. */
  readonly isWatching: boolean;
  /** Watches these types on a cluster and no others. Idempotent. Does nothing without watches. */
  subscribe(registration: ObjectKey, optIns: readonly OptIn[]): void;
  /** Stops watching a cluster: its registration is deleted, is not Ready, or opts in to nothing. */
  unsubscribe(registration: ObjectKey): void;
  /** The cached state; undefined when the cluster is not watched, or its cache is not listed, stale or disconnected for too long. */
  cached(address: CopyAddress): Extract<UpsyncState, { kind: "present" | "absent" }> | undefined;
  /** Reads the state from the cluster. Throws a fault when the cluster does not answer, or not about this object. */
  readUncached(address: CopyAddress, optIn: OptIn, signal: AbortSignal): Promise<UpsyncState>;
  /** Reads the whole object from the cluster; undefined when the cluster answers that it does not exist. */
  readObject(address: CopyAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  /**
   * Workload key name → uid of all objects to upsync on a cluster, complete or not at all. An object that was missing from
   * the list of a watch is included until a read has confirmed that it is gone. Returns undefined while a watch is not in
   * sync. Throws a fault when a cluster has to be listed and does not answer.
   */
  listUids(
    registration: ObjectKey,
    optIns: readonly OptIn[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string> | undefined>;
  /**
   * Workload key name → uid of objects whose deletion a watch of this process has reported, or that had a deletionTimestamp.
   * Empty without watches: an object that a read does not find may be absent for any reason.
   */
  observedDeletions(registration: ObjectKey): ReadonlyMap<string, string>;
  /** Drops cached lists of a cluster, where there are any: the next `listUids` goes to the server. */
  invalidate(registration: ObjectKey): void;
}

/** Writes upsynced workloads upstream. */
export interface UpsyncHub {
  /** Throws the fault "exists" when the object exists by now. */
  createWorkload(key: WorkloadKey, object: KubeObject, signal: AbortSignal): Promise<Workload>;
  /** Makes labels, annotations and all other content except status equal to `desired`. Conflicts if `observed` has changed. */
  updateWorkload(key: WorkloadKey, observed: Workload, desired: KubeObject, signal: AbortSignal): Promise<Workload>;
  /** Deletes the `observed` object, and no other object that has the name by now. */
  deleteWorkload(key: WorkloadKey, observed: Workload, signal: AbortSignal): Promise<void>;
}

/** Creates the reader by which sync gets the state of the originals of upsynced workloads. */
export function createUpsyncOrigins({ hub, workloads, source }: UpsyncTools): UpsyncOrigins {
  return {
    read: async ({ logicalCluster, registration: targetCluster }, { address: object, labels }, signal) => {
      const key = registrationKey(logicalCluster, targetCluster);
      const registration = await hub.read<ClusterRegistration & KubeObject>(key, signal);
      const { optIns } = registration === undefined ? { optIns: [] } : optInsOf(registration, workloads.types);
      const optIn = optIns.find(({ type }) => typeId(type.type) === typeId(object.type));
      // The object is no longer opted in, so TMC no longer reads it.
      if (registration === undefined || optIn === undefined) return undefined;
      if (!isReady(registration)) return { targetCluster, copy: undefined };
      try {
        const address = { registration: key, object };
        const cached = source.cached(address);
        const isCovered = isOptedIn(optIn.rules, { namespace: object.namespace, labels });
        // The cache has only what is opted in, so it does not know whether another object exists.
        if (cached?.kind === "absent" && source.isWatching && !isCovered) return undefined;
        const state = cached?.kind === "present" ? cached : await source.readUncached(address, optIn, signal);
        // Its labels or its namespace are no longer opted in.
        if (state.kind === "other") return undefined;
        return { targetCluster, copy: state.kind === "present" ? state.copy : undefined };
      } catch (error) {
        signal.throwIfAborted();
        if (faultOf(error) === undefined) throw error;
        return { targetCluster, copy: undefined };
      }
    },
  };
}
