import { type Fields, isFields } from "../../fields.ts";
import { type FieldError, forbidden, notSupported, required } from "../../machinery/field-error.ts";
import type { Schema } from "../../machinery/schema.ts";
import { validateObject } from "../../machinery/validate.ts";

const types = ["array", "boolean", "integer", "number", "object", "string"];

/** What keeps a custom type's schema from being structural, as far as people meet it. */
export function structuralErrors(schema: unknown, path: string): FieldError[] {
  if (!isFields(schema)) return [required(path)];
  const root = typeof schema.type === "string" ? [] : [required(`${path}.type`, "must not be empty at the root")];
  if (root.length === 0 && schema.type !== "object") {
    return [
      {
        type: "Invalid",
        field: `${path}.type`,
        message: `Invalid value: "${String(schema.type)}": must be object at the root`,
      },
    ];
  }
  return [...root, ...nodeErrors(schema, path)];
}

function nodeErrors(schema: Fields, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { type, items, properties, additionalProperties } = schema;
  if (typeof type === "string" && !types.includes(type)) errors.push(notSupported(`${path}.type`, type, types));
  if (type === "array" && !isFields(items)) errors.push(required(`${path}.items`, "must be specified"));
  if (isFields(properties) && additionalProperties !== undefined && additionalProperties !== false) {
    const why = "additionalProperties and properties are mutual exclusive";
    errors.push(forbidden(`${path}.additionalProperties`, why));
  }
  if (schema.default !== undefined && errors.length === 0) {
    // Written by a user, but every keyword that matters here has been looked at.
    const wrong = validateObject(schema as Schema, schema.default);
    errors.push(...wrong.map((error) => ({ ...error, field: `${path}.default` })));
  }
  if (isFields(properties)) {
    for (const [name, child] of Object.entries(properties)) {
      if (isFields(child)) errors.push(...childErrors(child, `${path}.properties[${name}]`, "specified object fields"));
    }
  }
  if (isFields(items)) errors.push(...childErrors(items, `${path}.items`, "specified array items"));
  if (isFields(additionalProperties)) {
    errors.push(...childErrors(additionalProperties, `${path}.additionalProperties`, "specified object fields"));
  }
  return errors;
}

function childErrors(schema: Fields, path: string, what: string): FieldError[] {
  const isOpen =
    schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  const errors = nodeErrors(schema, path);
  if (typeof schema.type === "string" || isOpen) return errors;
  return [required(`${path}.type`, `must not be empty for ${what}`), ...errors];
}
