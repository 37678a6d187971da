import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { User } from "./http.ts";
import type { Schema } from "./machinery/schema.ts";
import type { Operations } from "./operations.ts";

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
  /** 0 is shown always, more only with `-o wide`. */
  priority?: number;
  /** `.spec.replicas`, as a custom resource definition has it … */
  jsonPath?: string;
  /** … or, for built-in types, a function. */
  cell?: (object: KubeObject, now: number) => string | number | boolean | null;
}>;

/**
 * One served version of a type, as one logical cluster (or a plain cluster) sees it.
 */
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
  /** The whole object's schema: validation, defaults, pruning, list keys for server-side apply. */
  schema: Schema;
  /**
   * How patches and unknown fields are treated: `builtin` merges strategic patches by merge key; `custom` refuses them
   * (415); `bound` is kcp's way with exported types of well-known groups (see packages/embedded/src/machinery/strategic-patch.ts).
   */
  flavour: "builtin" | "custom" | "bound";
  status: boolean;
  scale?: Readonly<{ specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string }>;
  columns: readonly PrinterColumn[];
  /** Fields that a field selector may name beside metadata.name and metadata.namespace, with their value. */
  selectableFields?: Readonly<Record<string, (object: KubeObject) => string>>;
  /**
   * Where its objects are kept: `deployments.apps`, and for types bound from an export
   * `deployments.apps:<identity hash>`, so that two exports' types of one name never meet. Versions share it.
   */
  storage: string;
  /** For a served version that is not the stored one: objects are converted on their way into the store and out of it. */
  conversion?: Readonly<{
    toStored: (object: KubeObject) => KubeObject;
    fromStored: (object: KubeObject) => KubeObject;
  }>;
  /** Sent as a `Warning` header with every answer about this version. */
  deprecationWarning?: string;
  /** Objects of this type do not count generations (events, config maps, secrets …). */
  withoutGeneration?: boolean;
  hooks?: ResourceHooks;
  /** A type that is only asked (`POST …/selfsubjectaccessreviews`): answers at once and stores nothing. */
  review?: (object: KubeObject, context: HookContext) => KubeObject;
  /** Further subresources: `token` of service accounts, `eviction`, `log` … */
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
  /** The logical cluster the object is in; empty on a plain cluster. */
  cluster: string;
  user: User;
  /** Reads and writes with all rights; for hooks and controllers of the server itself. */
  operations: Operations;
  now: number;
}>;

/** What a type does beyond its schema. Hooks may change `object` in place; they refuse by throwing an `ApiFailure`. */
export type ResourceHooks = Readonly<{
  /**
   * Fills in what the schema's defaults cannot say, for new and changed objects alike. What it sets belongs to the writer,
   * as defaults do; what the other hooks set belongs to nobody.
   */
  setDefaults?: (object: KubeObject) => void;
  /** After defaults, before validation and storage. `dryRun` requests come here too: no side effects but on `object`. */
  prepareCreate?: (object: KubeObject, context: HookContext) => void;
  prepareUpdate?: (object: KubeObject, old: KubeObject, context: HookContext) => void;
  /** Before a status write; `object.status` is the new one. */
  prepareStatus?: (object: KubeObject, old: KubeObject, context: HookContext) => void;
  prepareDelete?: (object: KubeObject, context: HookContext) => void;
}>;

/** What is served somewhere: in a logical cluster, in a virtual workspace, on a cluster. Changes as CRDs and bindings come and go. */
export interface Catalog {
  definitions(): readonly ResourceDefinition[];
  find(group: string, version: string, plural: string): ResourceDefinition | undefined;
  /** kcp 0.31 has no aggregated discovery of its groups: it answers the plain list. */
  readonly plainGroups?: boolean;
}
