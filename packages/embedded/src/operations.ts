import type { KubeList, KubeObject, Status } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "./definition.ts";
import type { User } from "./http.ts";
import type { Change } from "./store.ts";

/** Where an operation happens. `cluster` is a logical cluster's name, "*" for all (list and watch only), empty on a plain cluster. */
export type Target = Readonly<{ definition: ResourceDefinition; cluster: string; namespace?: string | undefined }>;
export type ObjectTarget = Target & Readonly<{ name: string }>;

export type WriteContext = Readonly<{
  user: User;
  fieldManager?: string | undefined;
  dryRun?: boolean | undefined;
  fieldValidation?: "Ignore" | "Warn" | "Strict" | undefined;
  /** The JSON text that the object was read from: it tells of fields that are there twice, and in which order all are. */
  body?: string | undefined;
  /** Collects what goes into the `Warning` headers. */
  warn?: ((message: string) => void) | undefined;
}>;

export type Selection = Readonly<{
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
 * The verbs of an API server on objects: everything between a parsed, authorised request and the store. All of it is
 * synchronous, so that one operation is one transaction; failures are thrown as `ApiFailure`. The server's own controllers
 * use the same verbs.
 */
export interface Operations {
  get(target: ObjectTarget): KubeObject;
  list(target: Target, selection?: Selection): KubeList;
  create(target: Target & { name?: string }, object: KubeObject, context: WriteContext): KubeObject;
  /** With `subresource: "status"` only status changes, without it everything but status (where status is a subresource). */
  update(target: ObjectTarget, object: KubeObject, context: WriteContext & { subresource?: string }): KubeObject;
  patch(
    target: ObjectTarget,
    patch: Readonly<{ kind: PatchKind; body: unknown; force?: boolean }>,
    context: WriteContext & { subresource?: string },
  ): { object: KubeObject; created: boolean };
  delete(target: ObjectTarget, options: DeleteRequest, context: WriteContext): KubeObject | Status;
  deleteCollection(target: Target, selection: Selection, options: DeleteRequest, context: WriteContext): KubeList;
  /** Tells `listener` of every change that the selection sees, as the selection sees it (an object that stops matching is DELETED). */
  watch(
    target: Target,
    selection: Selection,
    listener: (event: { type: Change["type"]; object: KubeObject; revision: number }) => void,
  ): () => void;
}

export type DeleteRequest = Readonly<{
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  propagationPolicy?: "Foreground" | "Background" | "Orphan" | undefined;
  gracePeriodSeconds?: number | undefined;
}>;
