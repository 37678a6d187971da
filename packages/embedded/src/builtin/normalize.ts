import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { ApiFailure } from "../machinery/api-errors.ts";
import type { MutableFields } from "../machinery/fields.ts";
import type { Schema } from "../machinery/schema.ts";
import { canonicalQuantity } from "./quantity.ts";

/**
 * Normalizes an object of a built-in type in place, as a real server does: null fields are removed, and quantities get
 * their canonical form.
 */
export function normalize(schema: Schema, object: KubeObject): void {
  // The server handles metadata separately.
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    if (name !== "metadata") normalizeField(object, name, child, object);
  }
}

function normalizeField(parent: MutableFields, name: string, schema: Schema, root: KubeObject): void {
  const value = parent[name];
  if (value === undefined) return;
  if (value === null) {
    // Where the schema allows any value, null is a value, for example as the default of a custom type's field.
    if (schema["x-kubernetes-preserve-unknown-fields"] !== true) delete parent[name];
    return;
  }
  if (schema.format === "quantity") {
    parent[name] = quantity(value, root);
    return;
  }
  normalizeValue(schema, value, root);
}

function normalizeValue(schema: Schema, value: unknown, root: KubeObject): void {
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const item of value) normalizeValue(schema.items, item, root);
    return;
  }
  if (!isRecord(value)) return;
  if (schema.properties !== undefined) {
    // Iterates over the object because it has fewer fields than the schema.
    for (const name of Object.keys(value)) {
      const child = schema.properties[name];
      if (child !== undefined) normalizeField(value, name, child, root);
    }
  } else if (typeof schema.additionalProperties === "object") {
    for (const key of Object.keys(value)) normalizeField(value, key, schema.additionalProperties, root);
  }
}

function quantity(value: unknown, { apiVersion, kind }: KubeObject): unknown {
  if (typeof value !== "string" && typeof value !== "number") return value;
  const canonical = canonicalQuantity(value);
  if (canonical !== undefined) return canonical;
  const version = apiVersion.split("/").at(-1) ?? "";
  throw new ApiFailure(
    400,
    "BadRequest",
    `${kind} in version "${version}" cannot be handled as a ${kind}: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
  );
}
