import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Access } from "../auth/access.ts";
import { createReviews } from "../auth/reviews.ts";

import { allVerbs, type PrinterColumn, type ResourceDefinition, type Subresource, type Verb } from "../definition.ts";
import type { Cells } from "./columns/cells.ts";
import described from "./resources.generated.json" with { type: "json" };
import { customResourceDefinitionRules } from "./rules/custom-resource-definitions.ts";
import { type AssignAddresses, serviceRules } from "./rules/network.ts";
import { hooksOf, type TypeRules } from "./rules/rules.ts";
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

export type ClusterOptions = Readonly<{
  /** Gives services their addresses. @default they get none */
  assignAddresses?: AssignAddresses | undefined;
  /** What `kubectl logs` shows. @default nothing */
  readLog?: ((pod: KubeObject) => string) | undefined;
}>;

/** What kcp and clusters both serve: namespaces, configuration, rights, events, custom resource definitions, reviews. */
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

/** What a cluster serves besides: nodes, pods, everything that runs, and how it is reached. */
export function clusterDefinitions(options: ClusterOptions = {}): ResourceDefinition[] {
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
  rules?: TypeRules;
  review?: NonNullable<ResourceDefinition["review"]>;
  /** Made with the definition they belong to, which is not finished yet at that time. */
  subresources?: (self: () => ResourceDefinition) => Readonly<Record<string, Subresource>>;
}>;
type Extras = Readonly<Partial<Record<ServedType, Extra>>>;

type Described = Readonly<{
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

const descriptions: ReadonlyMap<string, Described> = new Map(Object.entries(described));

function define(type: ServedType, extra: Extra = {}): ResourceDefinition {
  const [group = "", version = "", plural = ""] = type.split("/");
  const description = descriptions.get(type);
  if (description === undefined) throw new Error(`definitions: nothing is known of ${type}`);
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
    // Linked when first looked at: most types of a server are never touched.
    get schema() {
      return schema();
    },
    flavour: "builtin",
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

function columnsOf({ columns }: Described, cells: Cells): PrinterColumn[] {
  return columns.map(({ name, type, ...rest }) => ({
    ...rest,
    name,
    type: columnTypes.find((known) => known === type) ?? "string",
    cell: name === "Name" ? (object) => object.metadata.name ?? "" : (cells[name] ?? (() => null)),
  }));
}

let columnsByType: ReadonlyMap<string, readonly PrinterColumn[]> | undefined;

/** How Kubernetes prints one of its own types; undefined for any other. */
export function builtinColumns(group: string, version: string, plural: string): readonly PrinterColumn[] | undefined {
  columnsByType ??= new Map(
    clusterDefinitions().map((type) => [`${type.group}/${type.version}/${type.plural}`, type.columns]),
  );
  return columnsByType.get(`${group}/${version}/${plural}`);
}
