import type { KubeList, KubeObject, Status } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import type { User } from "../server/http.ts";
import type { StorageChange } from "./store.ts";

/**
 * The type and location of an operation. `logicalCluster` is "*" for all (list and watch only), empty on a Kubernetes
 * cluster.
 */
export type ResourceTarget = Readonly<{
  definition: ResourceDefinition;
  logicalCluster: string;
  namespace?: string | undefined;
}>;
export type ObjectTarget = ResourceTarget & Readonly<{ name: string }>;

export type WriteContext = Readonly<{
  user: User;
  fieldManager?: string | undefined;
  dryRun?: boolean | undefined;
  fieldValidation?: "Ignore" | "Warn" | "Strict" | undefined;
  /** The JSON text of the object, for duplicate fields and the order of fields. */
  body?: string | undefined;
  /** Receives the texts of `Warning` headers. */
  warn?: ((message: string) => void) | undefined;
}>;

export type ObjectSelection = Readonly<{
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  limit?: number | undefined;
  continue?: string | undefined;
  resourceVersion?: string | undefined;
  resourceVersionMatch?: string | undefined;
  /** A virtual workspace shows only some objects. */
  visible?: ((object: KubeObject) => boolean) | undefined;
}>;

export type PatchKind = "json" | "merge" | "strategic" | "apply";

/**
 * The verbs of an API server: everything between an authorized request and the store. All of it is synchronous, so that
 * each operation is a transaction. Errors are thrown as `ApiFailure`. The server's own controllers use the same verbs.
 */
export interface Operations {
  get(target: ObjectTarget): KubeObject;
  list(target: ResourceTarget, selection?: ObjectSelection): KubeList;
  create(target: ResourceTarget & { name?: string }, object: KubeObject, context: WriteContext): KubeObject;
  /** With `subresource: "status"` only the status changes; without it, everything else (if status is a subresource). */
  update(target: ObjectTarget, object: KubeObject, context: WriteContext & { subresource?: string }): KubeObject;
  patch(
    target: ObjectTarget,
    patch: Readonly<{ kind: PatchKind; body: unknown; force?: boolean }>,
    context: WriteContext & { subresource?: string },
  ): { object: KubeObject; created: boolean };
  delete(target: ObjectTarget, options: DeleteRequest, context: WriteContext): KubeObject | Status;
  deleteCollection(
    target: ResourceTarget,
    selection: ObjectSelection,
    options: DeleteRequest,
    context: WriteContext,
  ): KubeList;
  /** Calls `listener` for every selected change. An object that stops matching is DELETED. */
  watch(
    target: ResourceTarget,
    selection: ObjectSelection,
    listener: (event: { type: StorageChange["type"]; object: KubeObject; revision: number }) => void,
  ): () => void;
}

export type DeleteRequest = Readonly<{
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  propagationPolicy?: "Foreground" | "Background" | "Orphan" | undefined;
  gracePeriodSeconds?: number | undefined;
}>;
