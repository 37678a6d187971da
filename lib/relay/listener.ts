import type { ApiError } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { TypeId } from "../api/workload-kinds.ts";
import type { ObjectKey, ReconciledKind } from "../model/key.ts";

/** A collection that a relay watches upstream. */
export type Watched =
  | ReconciledKind
  | ForeignKind
  | "Secret"
  | "APIBinding"
  | "APIExportEndpointSlice"
  /** A resource that sync depends on: `deployments.v1.apps`. */
  | TypeId;

/** Kinds of other projects that stand for clusters. */
export type ForeignKind = "SyncTarget" | "ControlPlane" | "ControlPlaneEndpoint" | "ControlPlaneRegistration";

/**
 * Gets what the relay reads, before the relay sends any key of it. The cache of the same process is fed this way.
 *
 * `scope` says where a watch runs: in a logical cluster, or at the URL of an endpoint that serves all tenants.
 */
export interface RelayListener {
  /** `resourceVersion` is the version of the list, where it is known. */
  listed?(kind: ReconciledKind, logicalCluster: string, objects: readonly KubeObject[], resourceVersion?: string): void;
  changed?(kind: ReconciledKind, logicalCluster: string, object: KubeObject): void;
  deleted?(kind: ReconciledKind, logicalCluster: string, object: KubeObject): void;
  /** A secret that this registration refers to was created, changed or deleted. */
  secretChanged?(registration: ObjectKey): void;
  /** A list was read completely. */
  relisted?(kind: ReconciledKind, scope: string): void;
  /** A watch that had ended was resumed. */
  restarted?(kind: ReconciledKind, scope: string): void;
  /** The server accepted a watch, or sent an event. */
  alive?(what: Watched, scope: string): void;
  /** The relay stopped a watch. */
  ended?(what: Watched, scope: string): void;
  /** A logical cluster is no longer a tenant; what was read of it is no longer kept up to date. */
  released?(logicalCluster: string): void;
  /** A watch of a resource that sync depends on sent an event. */
  workloadEvent?(event: "modified" | "deleted"): void;
  /** An optional type is not served, or hidden from us; without an error, it is there again. */
  absent?(absence: Readonly<{ what: Watched; scope: string; error: ApiError | undefined }>): void;
  /** A watch or the queue failed; the relay retries by itself. */
  failed?(failure: RelayFailure): void;
}

export type RelayFailure = Readonly<{
  what: Watched | "queue";
  /** Empty for the queue. */
  scope: string;
  error: unknown;
  retryInMs: number;
}>;
