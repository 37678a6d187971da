import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Schema } from "../machinery/schema.ts";
import type { User } from "../server/http.ts";
import type { Operations } from "../storage/operations.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";
export const allVerbs: readonly Verb[] = [
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
];

export type PrinterColumn = Readonly<{
  name: string;
  type: "string" | "integer" | "number" | "boolean" | "date";
  description?: string;
  format?: string;
  /** Columns with a priority above 0 are shown only with `-o wide`. */
  priority?: number;
  /** Path of the value, for custom types. */
  jsonPath?: string;
  /** Computes the value, for built-in types. */
  cell?: (object: KubeObject, now: number) => string | number | boolean | null;
}>;

/** One served version of a type, as one logical cluster or Kubernetes cluster serves it. */
export type ResourceDefinition = Readonly<{
  group: string;
  version: string;
  plural: string;
  singular: string;
  kind: string;
  listKind: string;
  shortNames: readonly string[];
  categories: readonly string[];
  namespaced: boolean;
  verbs: readonly Verb[];
  /** Schema of the whole object, used for validation, defaults, pruning and the list keys of server-side apply. */
  schema: Schema;
  /**
   * How patches and unknown fields are handled: `builtin` merges strategic patches by merge key; `custom` rejects them
   * (415); `bound` is how kcp handles exported types of well-known groups (see machinery/strategic-patch.ts).
   */
  flavor: "builtin" | "custom" | "bound";
  status: boolean;
  scale?: Readonly<{ specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string }>;
  columns: readonly PrinterColumn[];
  /**
   * Fields that field selectors support besides metadata.name and metadata.namespace, with functions that read them.
   */
  selectableFields?: Readonly<Record<string, (object: KubeObject) => string>>;
  /**
   * Name of the collection in the store: `deployments.apps`, or `deployments.apps:<identity hash>` for types bound from
   * an export, so that two exports with the same type do not share objects. Versions share a storage.
   */
  storage: string;
  /** For a served version that is not the stored one: converts objects on writes and reads. */
  conversion?: Readonly<{
    toStored: (object: KubeObject) => KubeObject;
    fromStored: (object: KubeObject) => KubeObject;
  }>;
  /** Sent as a `Warning` header with every response for this version. */
  deprecationWarning?: string;
  /** Objects of this type have no metadata.generation (events, config maps, secrets, …). */
  withoutGeneration?: boolean;
  hooks?: ResourceHooks;
  /** For review types (`POST …/selfsubjectaccessreviews`): computes the response; nothing is stored. */
  review?: (object: KubeObject, context: HookContext) => KubeObject;
  /** Further subresources, for example `token` of service accounts, `eviction`, `log`. */
  extraSubresources?: Readonly<Record<string, Subresource>>;
}>;

export type Subresource = Readonly<{
  kind: string;
  group?: string;
  version?: string;
  verbs: readonly Verb[];
  handle: (request: { verb: Verb; parent: KubeObject; body?: KubeObject }, context: HookContext) => KubeObject | string;
}>;

export type HookContext = Readonly<{
  /** The logical cluster of the object; empty on a Kubernetes cluster. */
  logicalCluster: string;
  user: User;
  /** Reads and writes without authorization, for hooks and for the server's own controllers. */
  operations: Operations;
  now: number;
}>;

/**
 * Behavior of a type beyond its schema. Hooks may change `object` in place and reject a request by throwing an
 * `ApiFailure`.
 */
export type ResourceHooks = Readonly<{
  /**
   * Sets defaults that the schema cannot express, for creates and updates. The writer owns these fields, as it owns
   * defaults; fields that other hooks set have no owner.
   */
  setDefaults?: (object: KubeObject) => void;
  /** Called after defaulting and before validation, also for `dryRun` requests: may only change `object`. */
  prepareCreate?: (object: KubeObject, context: HookContext) => void;
  prepareUpdate?: (object: KubeObject, old: KubeObject, context: HookContext) => void;
  /** Called before a status write; `object.status` is the new status. */
  prepareStatus?: (object: KubeObject, old: KubeObject, context: HookContext) => void;
  prepareDelete?: (object: KubeObject, context: HookContext) => void;
}>;

/**
 * The types served in a logical cluster, in a virtual workspace or on a cluster. Changes with custom resource
 * definitions and bindings.
 */
export interface Catalog {
  definitions(): readonly ResourceDefinition[];
  find(group: string, version: string, plural: string): ResourceDefinition | undefined;
  /** kcp 0.31 has no aggregated discovery for `/apis`; it returns the plain list. */
  readonly plainGroups?: boolean;
}
