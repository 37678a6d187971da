import type { JsonObject, KubeObject, ObjectMeta } from "@tmc/kube/kube-object.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import type { Condition } from "../model/condition.ts";

/** A workload of a tenant, of whatever type. */
export type Workload = KubeObject;

/** What is written to a cluster: an object without anything that servers add to it. */
export type Manifest = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<Pick<ObjectMeta, "labels" | "annotations"> & { name: string; namespace?: string | undefined }>;
  [field: string]: unknown;
}>;

/** What sync uses of a cluster. */
export type TargetCluster = Readonly<{
  name: string;
  location: string;
  /** Labels and derived keys. */
  labels: ReadonlyMap<string, string>;
  /** Whether it is heard from. */
  isReady: boolean;
  isDeleting: boolean;
  /** Whether somebody sends its work away. */
  isDrained: boolean;
  /** When it last answered well. */
  lastHeartbeat: string | undefined;
  /** `apps/v1 Deployment` …; undefined while not known. */
  apis: ReadonlySet<string> | undefined;
  /** Processors for pods, in thousandths; undefined while not known. */
  milliCpu: number | undefined;
}>;

/** A copy of a workload, as a cluster has it. */
export type Copy = Readonly<{
  uid: string;
  resourceVersion: string;
  generation: number | undefined;
  isDeleting: boolean;
  status: JsonObject | undefined;
}>;

/** What is known of a copy: nothing is taken for gone that was only not seen. */
export type DownstreamState =
  | Readonly<{ kind: "there"; copy: Copy }>
  /** The cluster itself has said so; or, presumed, a watch of what is ours there knows of none, which is enough to create one. */
  | Readonly<{ kind: "absent"; isPresumed?: boolean }>
  /** An object of that name that is not ours; `who` says whose it is, `holder` by which other registration the same workload has it. */
  | Readonly<{ kind: "foreign"; copy: Copy; who: string; holder?: string | undefined }>
  | Readonly<{ kind: "unknown"; why: string }>;

export type SyncStatus = NonNullable<WorkloadSync["status"]>;
export type CopyRecord = NonNullable<SyncStatus["clusters"]>[number];
export type Conditions = readonly Condition[];
