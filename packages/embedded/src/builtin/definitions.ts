import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Access } from "../auth/access.ts";
import { createReviews } from "../auth/reviews.ts";

import {
  allVerbs,
  type PrinterColumn,
  type ResourceDefinition,
  type Subresource,
  type Verb,
} from "../definitions/definition.ts";
import type { Cells } from "./columns/cells.ts";
import generatedResources from "./resources.generated.json" with { type: "json" };
import { customResourceDefinitionRules } from "./rules/custom-resource-definitions.ts";
import { type AssignAddresses, serviceRules } from "./rules/network.ts";
import { type BuiltinRules, hooksOf } from "./rules/rules.ts";
import { builtinSchema } from "./schemas.ts";
import { clusterTypes, commonTypes, type ServedType } from "./served-types.ts";
import {
  approvalSubresource,
  bindingSubresource,
  evictionSubresource,
  finalizeSubresource,
  logSubresource,
  tokenSubresource,
} from "./subresources.ts";
import { typeTraits } from "./types.ts";

export type ClusterDefinitionOptions = Readonly<{
  /** Assigns addresses to services. @default services get none */
  assignAddresses?: AssignAddresses | undefined;
  /** Returns the output of `kubectl logs`. @default nothing */
  readLog?: ((pod: KubeObject) => string) | undefined;
}>;

/**
 * Types that kcp and clusters both serve: namespaces, configuration, RBAC, events, custom resource definitions,
 * reviews.
 */
export function commonDefinitions(access: Access): ResourceDefinition[] {
  const reviews = createReviews(access);
  const extras: Extras = {
    "/v1/namespaces": { subresources: (self) => ({ finalize: finalizeSubresource(self) }) },
    "/v1/serviceaccounts": { subresources: () => ({ token: tokenSubresource(access) }) },
    "apiextensions.k8s.io/v1/customresourcedefinitions": { rules: customResourceDefinitionRules },
    "certificates.k8s.io/v1/certificatesigningrequests": {
      subresources: (self) => ({ approval: approvalSubresource(self) }),
    },
    ...Object.fromEntries(
      commonTypes
        .map((type) => [type, reviews[type.split("/")[2] ?? ""]] as const)
        .filter(([, review]) => review !== undefined)
        .map(([type, review]) => [type, { review }]),
    ),
  };
  return commonTypes.map((type) => define(type, extras[type]));
}

/** Types that only clusters serve: nodes, pods, workloads, services and storage. */
export function clusterDefinitions(options: ClusterDefinitionOptions = {}): ResourceDefinition[] {
  const { assignAddresses = () => {}, readLog = () => "" } = options;
  const extras: Extras = {
    "/v1/pods": {
      subresources: (self) => ({
        binding: bindingSubresource(self),
        eviction: evictionSubresource(self),
        log: logSubresource(readLog),
      }),
    },
    "/v1/services": { rules: serviceRules(assignAddresses) },
  };
  return clusterTypes.map((type) => define(type, extras[type]));
}

type Extra = Readonly<{
  rules?: BuiltinRules;
  review?: NonNullable<ResourceDefinition["review"]>;
  /** Called while the definition is still under construction, hence the function. */
  subresources?: (self: () => ResourceDefinition) => Readonly<Record<string, Subresource>>;
}>;
type Extras = Readonly<Partial<Record<ServedType, Extra>>>;

type GeneratedResource = Readonly<{
  kind: string;
  singular: string;
  namespaced: boolean;
  verbs: readonly string[];
  shortNames: readonly string[];
  categories: readonly string[];
  subresources: readonly string[];
  columns: readonly Readonly<{
    name: string;
    type: string;
    format?: string;
    description?: string;
    priority?: number;
  }>[];
}>;

const descriptions: ReadonlyMap<string, GeneratedResource> = new Map(Object.entries(generatedResources));

function define(type: ServedType, extra: Extra = {}): ResourceDefinition {
  const [group = "", version = "", plural = ""] = type.split("/");
  const description = descriptions.get(type);
  if (description === undefined) throw new Error(`definitions: ${type} is not a generated built-in type`);
  const { kind } = description;
  const traits = typeTraits[type] ?? {};
  const schema = () => builtinSchema(group, version, kind);
  const rules = extra.rules ?? traits.rules;
  const extraSubresources = extra.subresources?.(() => definition);
  const definition: ResourceDefinition = {
    group,
    version,
    plural,
    singular: description.singular,
    kind,
    listKind: `${kind}List`,
    shortNames: description.shortNames,
    categories: description.categories,
    namespaced: description.namespaced,
    verbs: allVerbs.filter((verb: Verb) => description.verbs.includes(verb)),
    // Linked on first use: most types of a server are never touched.
    get schema() {
      return schema();
    },
    flavor: "builtin",
    status: description.subresources.includes("status"),
    columns: columnsOf(description, traits.cells ?? {}),
    storage: traits.storage ?? (group === "" ? plural : `${plural}.${group}`),
    withoutGeneration: traits.generation !== true,
    ...(traits.scale === undefined ? {} : { scale: traits.scale }),
    ...(traits.selectableFields === undefined ? {} : { selectableFields: traits.selectableFields }),
    ...(traits.conversion === undefined ? {} : { conversion: traits.conversion }),
    ...(extra.review === undefined ? { hooks: hooksOf({ group, kind, schema }, rules) } : { review: extra.review }),
    ...(extraSubresources === undefined ? {} : { extraSubresources }),
  };
  return definition;
}

const columnTypes: readonly PrinterColumn["type"][] = ["string", "integer", "number", "boolean", "date"];

function columnsOf({ columns }: GeneratedResource, cells: Cells): PrinterColumn[] {
  return columns.map(({ name, type, ...rest }) => ({
    ...rest,
    name,
    type: columnTypes.find((known) => known === type) ?? "string",
    cell: name === "Name" ? (object) => object.metadata.name ?? "" : (cells[name] ?? (() => null)),
  }));
}

let columnsByType: ReadonlyMap<string, readonly PrinterColumn[]> | undefined;

/** Returns the printer columns of a built-in type, or undefined for other types. */
export function builtinColumns(group: string, version: string, plural: string): readonly PrinterColumn[] | undefined {
  columnsByType ??= new Map(
    clusterDefinitions().map((type) => [`${type.group}/${type.version}/${type.plural}`, type.columns]),
  );
  return columnsByType.get(`${group}/${version}/${plural}`);
}
