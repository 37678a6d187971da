import { isList, isObject, setField } from "./json-value.ts";
import type { Schema } from "./schema.ts";

/**
 * Drops the fields that the schema does not know and names them (`spec.list[0].foo`), in order. What makes an object a
 * resource (apiVersion, kind, metadata) stays at the root and in embedded resources. Parts that lose nothing are shared
 * with the input.
 */
export function prune<T>(schema: Schema, object: T): { object: T; unknown: string[] } {
  const unknown: string[] = [];
  const pruned = pruneValue(asResource(schema), object, "", unknown);
  // Pruning answers an object for an object and a list for a list.
  return { object: pruned as T, unknown: unknown.toSorted() };
}

/** The message that refuses an object with unknown fields when `fieldValidation=Strict` was asked for. */
export function formatStrictDecoding(unknown: readonly string[]): string {
  return `strict decoding error: ${unknown.map(formatUnknownField).join(", ")}`;
}

/** The warning for one unknown field when `fieldValidation=Warn` was asked for. */
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
    // Below a list that keeps what it does not know, so do its items.
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

  if (!isObject(value)) return value;
  const properties = schema?.properties ?? {};
  const additional = schema?.additionalProperties;
  const resource = schema?.["x-kubernetes-embedded-resource"] === true;
  const result: Record<string, unknown> = {};
  let changed = false;
  for (const [name, inner] of Object.entries(value)) {
    const place = path === "" ? name : `${path}.${name}`;
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    let kept: unknown = inner;
    if (resource && typeFields.has(name)) {
      // Kept as it is.
    } else if (resource && name === "metadata") {
      kept =
        property?.properties === undefined
          ? pruneMetadata(inner, place, unknown)
          : pruneValue(property, inner, place, unknown);
    } else if (property !== undefined) {
      kept = pruneValue(property, inner, place, unknown);
    } else if (additional !== undefined && additional !== false) {
      kept = pruneValue(additional === true ? undefined : additional, inner, place, unknown);
    } else if (!preserve) {
      unknown.push(place);
      changed = true;
      continue;
    }
    changed ||= kept !== inner;
    setField(result, name, kept);
  }
  return changed ? result : value;
}

function pruneMetadata(metadata: unknown, path: string, unknown: string[]): unknown {
  if (!isObject(metadata)) return metadata;
  const strangers = Object.keys(metadata).filter((name) => !metadataFields.has(name));
  if (strangers.length === 0) return metadata;
  unknown.push(...strangers.map((name) => `${path}.${name}`));
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => metadataFields.has(name)));
}
