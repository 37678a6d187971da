import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { objectMetaSchema } from "./object-meta-schema.ts";
import type { Schema } from "./schema.ts";

/** How a strategic merge patch handles one field, and the lookup for the fields below it. */
export type PatchMeta = Readonly<{ strategy: string; mergeKey: string; below: PatchLookup }>;

/** Patch strategies of a schema. Called only if both sides have a map, or both a list. */
export interface PatchLookup {
  map(field: string): PatchMeta;
  /** `below` applies to the items of the list. */
  list(field: string): PatchMeta;
}

/** Reads the patch strategies of a built-in type. By default maps are merged and lists are replaced. */
export function builtinLookup(schema: Schema | undefined, isRoot = true): PatchLookup {
  const find = (field: string): Schema | undefined => {
    const property =
      schema?.properties !== undefined && Object.hasOwn(schema.properties, field)
        ? schema.properties[field]
        : furtherProperties(schema);
    return isRoot && field === "metadata" ? describedMetadata(property) : property;
  };
  return {
    map: (field) => metaOf(find(field), (property) => builtinLookup(property, false)),
    list: (field) => metaOf(find(field), (property) => builtinLookup(property?.items, false)),
  };
}

const furtherProperties = (schema: Schema | undefined): Schema | undefined =>
  typeof schema?.additionalProperties === "object" ? schema.additionalProperties : undefined;

/** If a schema does not describe metadata, the server uses ObjectMeta. */
export const describedMetadata = (schema: Schema | undefined): Schema =>
  schema?.properties === undefined ? objectMetaSchema : schema;

function metaOf(schema: Schema | undefined, below: (schema: Schema | undefined) => PatchLookup): PatchMeta {
  const strategies = (schema?.["x-kubernetes-patch-strategy"] ?? "").split(",");
  return {
    // Only the $retainKeys directive matters on the server; the strategy is for clients.
    strategy: strategies.find((strategy) => strategy !== "retainKeys") ?? "",
    mergeKey: schema?.["x-kubernetes-patch-merge-key"] ?? "",
    below: below(schema),
  };
}

/** For undescribed values: maps are merged, lists are replaced, nothing fails. */
const unknownBelow: PatchLookup = {
  map: () => ({ strategy: "", mergeKey: "", below: unknownBelow }),
  list: () => ({ strategy: "", mergeKey: "", below: unknownBelow }),
};

/**
 * Reads an exported type's schema as kcp does. Such schemas have no patch strategies, so lists are replaced, even those
 * of metadata; a map or list that the schema does not describe makes the patch fail.
 */
export function boundLookup(schema: Schema, object: Readonly<Pick<KubeObject, "apiVersion" | "kind">>): PatchLookup {
  return describedLookup(schema, modelName(object.apiVersion, object.kind), true);
}

function describedLookup(schema: Schema | undefined, path: string, isRoot = false): PatchLookup {
  if (schema === undefined) return unknownBelow;
  const isMetadata = (field: string): boolean =>
    field === "metadata" && (isRoot || schema["x-kubernetes-embedded-resource"] === true);

  const find = (field: string, expected: "kind" | "slice"): Schema | undefined => {
    const kind = kindOf(schema, isRoot);
    if (kind === "arbitrary") return undefined;
    if (kind !== "kind") throw new Error(`expected ${expected}, but got ${kind}`);
    if (isMetadata(field)) return objectMetaSchema;
    const properties = schema.properties ?? {};
    if (!Object.hasOwn(properties, field)) throw new Error(`unable to find api field "${field}" in ${path}`);
    return properties[field];
  };
  const below = (field: string, property: Schema | undefined): PatchLookup =>
    describedLookup(property, isMetadata(field) ? objectMetaModel : `${path}.${field}`);

  return {
    map: (field) => ({ strategy: "", mergeKey: "", below: below(field, find(field, "kind")) }),
    list: (field) => {
      const property = find(field, "slice");
      const kind = property === undefined ? "arbitrary" : kindOf(property, false);
      if (kind === "map" || kind === "primitive") throw new Error(`expected slice, but got ${kind}`);
      // For a field that is not a list, the server searches for the same field once more inside it.
      if (kind === "kind") return below(field, property).list(field);
      return { strategy: "", mergeKey: "", below: kind === "slice" ? below(field, property?.items) : unknownBelow };
    },
  };
}

const objectMetaModel = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

function kindOf(schema: Schema, isRoot: boolean): "kind" | "map" | "slice" | "primitive" | "arbitrary" {
  if (isRoot) return "kind";
  switch (schema["x-kubernetes-int-or-string"] === true ? undefined : schema.type) {
    case "object": {
      const hasFields = Object.keys(schema.properties ?? {}).length > 0;
      return hasFields || schema["x-kubernetes-embedded-resource"] === true ? "kind" : "map";
    }
    case "array":
      return schema.items === undefined ? "arbitrary" : "slice";
    case undefined:
      return "arbitrary";
    default:
      return "primitive";
  }
}

const dotlessGroups = new Set(["", "apps", "batch", "extensions", "policy", "autoscaling"]);

/** Name of a type's model in kcp's OpenAPI, as in error messages. */
function modelName(apiVersion: string, kind: string): string {
  const [version = "", group = ""] = apiVersion.split("/").toReversed();
  const packageName = dotlessGroups.has(group) ? `k8s.io/api/${group === "" ? "core" : group}` : group;
  return `${packageName.split(".").toReversed().join(".")}.${version}.${kind}`;
}
