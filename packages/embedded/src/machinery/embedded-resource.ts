import { type Fields, isFields } from "@tmc/kube/json.ts";
import { type FieldError, invalid, required } from "./field-error.ts";
import { fieldOf, isList } from "./json-value.ts";
import type { Schema } from "./schema.ts";

/** Checks that embedded resources have apiVersion and kind. */
export function embeddedResourceErrors(schema: Schema, value: unknown, path = ""): FieldError[] {
  if (isList(value)) {
    const { items } = schema;
    return items === undefined
      ? []
      : value.flatMap((item, index) => embeddedResourceErrors(items, item, `${path}[${index}]`));
  }
  if (!isFields(value)) return [];
  const errors = schema["x-kubernetes-embedded-resource"] === true ? typeErrors(value, path) : [];
  for (const [name, inner] of Object.entries(value)) {
    if (typeof inner !== "object" || inner === null) continue;
    const { properties, additionalProperties } = schema;
    const property = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property !== undefined) errors.push(...embeddedResourceErrors(property, inner, child(path, name)));
    else if (typeof additionalProperties === "object") {
      errors.push(...embeddedResourceErrors(additionalProperties, inner, `${path}[${name}]`));
    }
  }
  return errors;
}

const child = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

function typeErrors(resource: Fields, path: string): FieldError[] {
  return ["apiVersion", "kind"].flatMap((name) => {
    const value = fieldOf(resource, name);
    if (value === undefined) return [required(child(path, name))];
    if (typeof value !== "string") return [invalid(child(path, name), value, "must be a string")];
    return value === "" ? [invalid(child(path, name), value, "must not be empty")] : [];
  });
}
