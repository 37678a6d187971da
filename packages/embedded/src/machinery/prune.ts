import { isFields } from "@tmc/kube/json.ts";
import { isList, setOwnField } from "./json-value.ts";
import type { Schema } from "./schema.ts";

/**
 * Removes fields that the schema does not describe, and returns their sorted paths (`spec.list[0].foo`). apiVersion,
 * kind and metadata are kept at the root and in embedded resources. Unchanged parts are shared with the input.
 */
export function prune<T>(schema: Schema, object: T): { object: T; unknown: string[] } {
  const unknown: string[] = [];
  const pruned = pruneValue(asResource(schema), object, "", unknown);
  // Pruning maps objects to objects and lists to lists.
  return { object: pruned as T, unknown: unknown.toSorted() };
}

/** The warning or error about one unknown field. */
export const formatUnknownField = (path: string): string => `unknown field "${path}"`;

const resources = new WeakMap<Schema, Schema>();

function asResource(schema: Schema): Schema {
  if (schema["x-kubernetes-embedded-resource"] === true) return schema;
  const known = resources.get(schema);
  if (known !== undefined) return known;
  const resource: Schema = { ...schema, "x-kubernetes-embedded-resource": true };
  resources.set(schema, resource);
  return resource;
}

const typeFields = new Set(["apiVersion", "kind"]);
const metadataFields = new Set([
  "name",
  "generateName",
  "namespace",
  "selfLink",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "ownerReferences",
  "finalizers",
  "managedFields",
]);

function pruneValue(schema: Schema | undefined, value: unknown, path: string, unknown: string[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  const preserve = schema?.["x-kubernetes-preserve-unknown-fields"] === true;

  if (isList(value)) {
    if (preserve && schema.items === undefined) return value;
    // Items of a list that preserves unknown fields preserve them as well.
    const inner: Schema | undefined = preserve
      ? { ...schema.items, "x-kubernetes-preserve-unknown-fields": true }
      : schema?.items;
    let changed = false;
    const items = value.map((item, index) => {
      const pruned = pruneValue(inner, item, `${path}[${index}]`, unknown);
      changed ||= pruned !== item;
      return pruned;
    });
    return changed ? items : value;
  }

  if (!isFields(value)) return value;
  const properties = schema?.properties ?? {};
  const additional = schema?.additionalProperties;
  const resource = schema?.["x-kubernetes-embedded-resource"] === true;
  const result: Record<string, unknown> = {};
  let changed = false;
  for (const [name, inner] of Object.entries(value)) {
    const fieldPath = path === "" ? name : `${path}.${name}`;
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    let kept: unknown = inner;
    if (resource && typeFields.has(name)) {
      // Always kept.
    } else if (resource && name === "metadata") {
      kept =
        property?.properties === undefined
          ? pruneMetadata(inner, fieldPath, unknown)
          : pruneValue(property, inner, fieldPath, unknown);
    } else if (property !== undefined) {
      kept = pruneValue(property, inner, fieldPath, unknown);
    } else if (additional !== undefined && additional !== false) {
      kept = pruneValue(additional === true ? undefined : additional, inner, fieldPath, unknown);
    } else if (!preserve) {
      unknown.push(fieldPath);
      changed = true;
      continue;
    }
    changed ||= kept !== inner;
    setOwnField(result, name, kept);
  }
  return changed ? result : value;
}

function pruneMetadata(metadata: unknown, path: string, unknown: string[]): unknown {
  if (!isFields(metadata)) return metadata;
  const unknownNames = Object.keys(metadata).filter((name) => !metadataFields.has(name));
  if (unknownNames.length === 0) return metadata;
  unknown.push(...unknownNames.map((name) => `${path}.${name}`));
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => metadataFields.has(name)));
}
