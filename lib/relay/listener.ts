import type { ApiError } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { TypeId } from "../api/workload-kinds.ts";
import type { ObjectKey, ReconciledKind } from "../model/key.ts";

/** What a relay watches in the hub. */
export type Watched =
  | ReconciledKind
  | ForeignKind
  | "Secret"
  | "APIBinding"
  | "APIExportEndpointSlice"
  /** A type that is watched for the sake of workloads: `deployments.v1.apps`. */
  | TypeId;

/** Kinds of others that can make clusters known. */
export type ForeignKind = "SyncTarget" | "ControlPlane" | "ControlPlaneEndpoint" | "ControlPlaneRegistration";

/**
 * Hears what the relay sees, before any key of it is sent. A cache in the same process listens here.
 *
 * A `place` is where a watch runs: a logical cluster, or the address of an endpoint behind which all tenants are watched
 * at once.
 */
export interface RelayListener {
  listed?(kind: ReconciledKind, logicalCluster: string, objects: readonly KubeObject[]): void;
  changed?(kind: ReconciledKind, logicalCluster: string, object: KubeObject): void;
  deleted?(kind: ReconciledKind, logicalCluster: string, object: KubeObject): void;
  /** A secret that this registration refers to came, changed or went. */
  secretChanged?(registration: ObjectKey): void;
  /** A list was read whole. */
  relisted?(kind: ReconciledKind, place: string): void;
  /** A watch that had ended was taken up again where it left off. */
  restarted?(kind: ReconciledKind, place: string): void;
  /** A watch was taken by the server, or has told something. */
  alive?(what: Watched, place: string): void;
  /** A watch is no longer wanted. */
  ended?(what: Watched, place: string): void;
  /** A logical cluster is looked after no more; what was seen of it says nothing from now on. */
  released?(logicalCluster: string): void;
  /** A watch for the sake of workloads told something. */
  workloadEvent?(event: "modified" | "deleted"): void;
  /** A type that may be missing is not served, or not given to us; without an error, it is there again. */
  absent?(absence: Readonly<{ what: Watched; logicalCluster: string; error: ApiError | undefined }>): void;
  /** Something failed; it is tried again by itself. */
  trouble?(trouble: RelayTrouble): void;
}

export type RelayTrouble = Readonly<{
  /** Where: something that is watched, or the queue, which has no place. */
  what: Watched | "queue";
  logicalCluster: string;
  error: unknown;
  retryInMs: number;
}>;
