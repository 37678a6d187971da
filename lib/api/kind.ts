import type { ObjectMeta } from "@tmc/kube/kube-object.ts";
import type { Field, OpenApiSchema } from "./schema.ts";

/** An additional printer column of `kubectl get`. */
export type Column = Readonly<{
  name: string;
  type: "string" | "integer" | "boolean" | "date";
  jsonPath: string;
  description?: string;
  /** A column with a priority above 0 is shown only with `-o wide`. */
  priority?: number;
}>;

/** The JSON paths of the scale subresource. */
export type ScalePaths = Readonly<{ specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string }>;

/** The definition of a kind. CRDs, APIResourceSchemas, RBAC rules and reference pages are generated from it. */
export type ServedKind = Readonly<{
  /** Empty for the core group. */
  group: string;
  version: string;
  kind: string;
  plural: string;
  singular: string;
  shortNames: readonly string[];
  categories: readonly string[];
  scope: "Cluster" | "Namespaced";
  description: string;
  columns: readonly Column[];
  spec: OpenApiSchema;
  status: OpenApiSchema;
  scale?: ScalePaths;
  /** Warning header that the server sends with every response; ASCII, at most 256 characters. */
  warning?: string;
}>;

/** One of TMC's own kinds: a ServedKind plus the TypeScript types of its spec and status. */
export type Kind<Name extends string, Spec, Status> = ServedKind & Readonly<{ kind: Name; of?: [Spec, Status] }>;

/** The TypeScript type of a kind's objects. */
export type KindOf<K> =
  K extends Kind<infer Name, infer Spec, infer Status>
    ? { apiVersion: string; kind: Name; metadata: ObjectMeta; spec: Spec; status?: Status }
    : never;

type Definition<Name extends string, Spec, Status> = Omit<ServedKind, "kind" | "singular" | "spec" | "status"> &
  Readonly<{ kind: Name; spec: Field<Spec>; status: Field<Status> }>;

/** Defines a kind from the fields of its spec and status. */
export function defineKind<const Name extends string, Spec, Status>(
  definition: Definition<Name, Spec, Status>,
): Kind<Name, Spec, Status> {
  return {
    ...definition,
    singular: definition.kind.toLowerCase(),
    spec: definition.spec.schema,
    status: definition.status.schema,
  };
}

/** Returns the schema of a kind's objects. The server itself validates `metadata`. */
export function objectSchema(kind: ServedKind): OpenApiSchema {
  return {
    description: kind.description,
    type: "object",
    required: ["spec"],
    properties: {
      apiVersion: { description: "API version of the object.", type: "string" },
      kind: { description: "Kind of the object.", type: "string" },
      metadata: { type: "object" },
      spec: kind.spec,
      status: kind.status,
    },
  };
}

/** `apps/v1`, or `v1` for the core group. */
export function formatApiVersion({ group, version }: Pick<ServedKind, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Returns the `names` of a kind's CRD or APIResourceSchema. */
export function definitionNames({ kind, plural, singular, shortNames, categories }: ServedKind) {
  return {
    plural,
    singular,
    kind,
    listKind: `${kind}List`,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
  };
}

/** Returns the version entry that a kind's CRD and APIResourceSchema share, without the schema. */
export function versionProperties({ version, scale, columns, warning }: ServedKind) {
  return {
    name: version,
    served: true,
    storage: true,
    // A deprecation warning is the only way for a type to make the server send a warning header.
    ...(warning === undefined ? {} : { deprecated: true, deprecationWarning: warning }),
    subresources: { status: {}, ...(scale === undefined ? {} : { scale }) },
    additionalPrinterColumns: columns,
  };
}
