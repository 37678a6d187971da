import type { JsonObject, KubeObject, ObjectMeta } from "@tmc/kube/kube-object.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";

/** A tenant's workload of any type. */
export type Workload = KubeObject;

/** An object as it is written to a cluster: without any field that servers add. */
export type Manifest = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<Pick<ObjectMeta, "labels" | "annotations"> & { name: string; namespace?: string | undefined }>;
  [field: string]: unknown;
}>;

/** The facts about a registered cluster that sync uses. */
export type TargetCluster = Readonly<{
  name: string;
  location: string;
  /** Labels and derived keys. */
  labels: ReadonlyMap<string, string>;
  /** Whether the registration's Ready condition is True. */
  isReady: boolean;
  isDeleting: boolean;
  /** Whether the drain taint evicts its workloads. */
  isDrained: boolean;
  /** Time of the last successful probe. */
  lastHeartbeat: string | undefined;
  /** The served types, such as `apps/v1 Deployment`; undefined while not known. */
  apis: ReadonlySet<string> | undefined;
  /** Allocatable CPU in millicores; undefined while not known. */
  milliCpu: number | undefined;
}>;

/** A copy of a workload, as its cluster stores it. */
export type Copy = Readonly<{
  uid: string;
  resourceVersion: string;
  generation: number | undefined;
  isDeleting: boolean;
  /** The hash of the manifest that TMC wrote last, as the copy itself names it; undefined if it names none. */
  writtenHash?: string | undefined;
  status: JsonObject | undefined;
}>;

/** What is known about a copy. An object that could not be read is unknown, never absent. */
export type DownstreamState =
  | Readonly<{ kind: "there"; copy: Copy }>
  /** The cluster itself reported that the object does not exist. If `isCached`, only the watch cache lacks it, which is enough to create it. */
  | Readonly<{ kind: "absent"; isCached?: boolean }>
  /**
   * The cluster has an object of that name that this registration does not own; `message` says why not. If another
   * registration owns it for the same workload, `otherRegistration` names that.
   */
  | Readonly<{ kind: "foreign"; copy: Copy; message: string; otherRegistration?: string | undefined }>
  | Readonly<{ kind: "unknown"; message: string }>;

export type SyncStatus = NonNullable<WorkloadSync["status"]>;
export type CopyRecord = NonNullable<SyncStatus["clusters"]>[number];
