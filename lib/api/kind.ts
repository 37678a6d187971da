import type { ObjectMeta } from "@tmc/kube/kube-object.ts";
import type { Field, OpenApiSchema } from "./schema.ts";

/** A column that `kubectl get` prints. */
export type Column = Readonly<{
  name: string;
  type: "string" | "integer" | "boolean" | "date";
  jsonPath: string;
  description?: string;
  /** 0 (or none) is shown always, more only with `-o wide`. */
  priority?: number;
}>;

/** Where the scale subresource finds its numbers. */
export type ScalePaths = Readonly<{ specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string }>;

/** Everything that a server must know to serve a kind; CRDs, APIResourceSchemas, rules and pages are made from it. */
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
  /** What kubectl shows with every answer; ASCII, at most 256 characters. */
  warning?: string;
}>;

/** A kind of our own: a served kind that also knows, for the compiler, what its spec and status hold. */
export type Kind<Name extends string, Spec, Status> = ServedKind & Readonly<{ kind: Name; of?: [Spec, Status] }>;

/** The type of a kind's objects. */
export type KindOf<K> =
  K extends Kind<infer Name, infer Spec, infer Status>
    ? { apiVersion: string; kind: Name; metadata: ObjectMeta; spec: Spec; status?: Status }
    : never;

type Definition<Name extends string, Spec, Status> = Omit<ServedKind, "kind" | "singular" | "spec" | "status"> &
  Readonly<{ kind: Name; spec: Field<Spec>; status: Field<Status> }>;

/** Declares a kind from the fields of its spec and status. */
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

/** The schema of a kind's whole object; metadata is left to the server, which knows it better. */
export function objectSchema(kind: ServedKind): OpenApiSchema {
  return {
    description: kind.description,
    type: "object",
    required: ["spec"],
    properties: {
      apiVersion: { description: "The version of the schema that this object is written in.", type: "string" },
      kind: { description: "What this object is.", type: "string" },
      metadata: { type: "object" },
      spec: kind.spec,
      status: kind.status,
    },
  };
}

/** The value of an object's `apiVersion`. */
export function apiVersionOf({ group, version }: Pick<ServedKind, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}

/** The names by which a definition of the kind, custom or exported, is known to the server and to kubectl. */
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

/** What CRDs and APIResourceSchemas say alike about the one version of a kind, all but its schema. */
export function versionProperties({ version, scale, columns, warning }: ServedKind) {
  return {
    name: version,
    served: true,
    storage: true,
    // The only way in which a type can have the server send a warning along.
    ...(warning === undefined ? {} : { deprecated: true, deprecationWarning: warning }),
    subresources: { status: {}, ...(scale === undefined ? {} : { scale }) },
    additionalPrinterColumns: columns,
  };
}
