import type { Json, KubeObject } from "@tmc/kube/kube-object.ts";
import { builtinColumns } from "../builtin/definitions.ts";
import {
  allVerbs,
  type PrinterColumn,
  type ResourceDefinition,
  type ResourceHooks,
} from "../definitions/definition.ts";
import type { Schema } from "../machinery/schema.ts";
import { bindingFromStored, bindingToStored, exportFromStored, exportToStored } from "./conversion.ts";
import generated from "./kcp-types.generated.json" with { type: "json" };

/** A type as described by custom resource definitions and APIResourceSchemas. */
export type TypeSpec = Readonly<{
  group: string;
  names: Readonly<{
    plural: string;
    singular: string;
    kind: string;
    listKind: string;
    shortNames?: readonly string[];
    categories?: readonly string[];
  }>;
  scope: string;
  versions: readonly TypeVersion[];
}>;

export type TypeVersion = Readonly<{
  name: string;
  served: boolean;
  storage: boolean;
  schema: Schema;
  subresources?: Readonly<{
    status?: object;
    scale?: Readonly<{ specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string }>;
  }>;
  additionalPrinterColumns?: readonly PrinterColumn[];
  deprecated?: boolean;
  deprecationWarning?: string;
}>;

type Generated = Readonly<{
  types: readonly TypeSpec[];
  schemas: readonly Readonly<{ name: string; spec: Readonly<Record<string, Json>> }>[];
  exports: readonly Readonly<{ name: string; spec: Readonly<Record<string, Json>> }>[];
}>;

// Generated from kcp's own definitions.
const { types, schemas, exports } = generated as unknown as Generated;

/** The APIResourceSchemas and APIExports that the root workspace starts with. */
export const rootSchemas: Generated["schemas"] = schemas;
export const rootExports: Generated["exports"] = exports;

/**
 * Groups in client-go's scheme: kcp accepts strategic merge patches for their types, whichever export they come from.
 */
const knownGroups: ReadonlySet<string> = new Set([
  "",
  "admissionregistration.k8s.io",
  "apps",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "autoscaling",
  "batch",
  "certificates.k8s.io",
  "coordination.k8s.io",
  "discovery.k8s.io",
  "events.k8s.io",
  "extensions",
  "flowcontrol.apiserver.k8s.io",
  "networking.k8s.io",
  "node.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "resource.k8s.io",
  "scheduling.k8s.io",
  "storage.k8s.io",
]);

/** Converts the description of a type to definitions, one per served version. */
export function definitionsOfType(
  spec: TypeSpec,
  storage: string,
  hooks?: ResourceHooks,
): readonly ResourceDefinition[] {
  const { group, names } = spec;
  return spec.versions
    .filter(({ served }) => served)
    .map((version) => ({
      group,
      version: version.name,
      plural: names.plural,
      singular: names.singular,
      kind: names.kind,
      listKind: names.listKind,
      shortNames: names.shortNames ?? [],
      categories: names.categories ?? [],
      namespaced: spec.scope === "Namespaced",
      verbs: allVerbs,
      schema: withOpenMetadata(version.schema),
      flavor: knownGroups.has(group) ? "bound" : "custom",
      status: version.subresources?.status !== undefined,
      ...(version.subresources?.scale === undefined ? {} : { scale: version.subresources.scale }),
      // kcp prints types of well-known groups as Kubernetes does and ignores their own columns.
      columns: builtinColumns(group, version.name, names.plural) ?? columnsOf(version),
      storage,
      ...deprecation(spec, version),
      ...(hooks === undefined ? {} : { hooks }),
    }));
}

/** A schema that restricts metadata.name must not remove all other metadata fields. */
function withOpenMetadata(schema: Schema): Schema {
  const metadata = schema.properties?.metadata;
  if (metadata?.properties === undefined) return schema;
  return {
    ...schema,
    properties: { ...schema.properties, metadata: { ...metadata, "x-kubernetes-preserve-unknown-fields": true } },
  };
}

/** A type without columns shows its age. */
function columnsOf({ additionalPrinterColumns: columns = [] }: TypeVersion): readonly PrinterColumn[] {
  if (columns.length === 0) return [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }];
  return columns.map((column) => ({
    description: `Custom resource definition column (in JSONPath format): ${column.jsonPath ?? ""}`,
    ...column,
  }));
}

function deprecation({ group, names }: TypeSpec, version: TypeVersion): Pick<ResourceDefinition, "deprecationWarning"> {
  if (version.deprecated !== true) return {};
  const usual = `${group}/${version.name} ${names.kind} is deprecated`;
  return { deprecationWarning: version.deprecationWarning ?? usual };
}

const conversions: Readonly<
  Record<
    string,
    Readonly<{ toStored: (object: KubeObject) => KubeObject; fromStored: (object: KubeObject) => KubeObject }>
  >
> = {
  apiexports: { toStored: exportToStored, fromStored: exportFromStored },
  apibindings: { toStored: bindingToStored, fromStored: bindingFromStored },
};

/** kcp's own types, which every workspace serves. */
export function systemDefinitions(
  hooksOf: (plural: string) => ResourceHooks | undefined,
): readonly ResourceDefinition[] {
  return types.flatMap((type) => {
    const { plural } = type.names;
    const conversion = conversions[plural];
    return definitionsOfType(type, `${plural}.${type.group}`, hooksOf(plural)).map((definition) =>
      conversion === undefined || definition.version !== "v1alpha1" ? definition : { ...definition, conversion },
    );
  });
}
