import { isRecord } from "@tmc/kube/json.ts";
import { type FieldError, forbidden, notSupported, required } from "../../machinery/field-error.ts";
import type { MutableFields } from "../../machinery/fields.ts";
import type { Schema } from "../../machinery/schema.ts";
import { validateObject } from "../../machinery/validate.ts";

const types = ["array", "boolean", "integer", "number", "object", "string"];

/** Checks that the schema of a custom type is structural. Covers the errors that users usually run into. */
export function structuralErrors(schema: unknown, path: string): FieldError[] {
  if (!isRecord(schema)) return [required(path)];
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

function nodeErrors(schema: MutableFields, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { type, items, properties, additionalProperties } = schema;
  if (typeof type === "string" && !types.includes(type)) errors.push(notSupported(`${path}.type`, type, types));
  if (type === "array" && !isRecord(items)) errors.push(required(`${path}.items`, "must be specified"));
  if (isRecord(properties) && additionalProperties !== undefined && additionalProperties !== false) {
    const why = "additionalProperties and properties are mutual exclusive";
    errors.push(forbidden(`${path}.additionalProperties`, why));
  }
  if (schema.default !== undefined && errors.length === 0) {
    // The keywords that validation uses here have been checked above.
    const wrong = validateObject(schema as Schema, schema.default);
    errors.push(...wrong.map((error) => ({ ...error, field: `${path}.default` })));
  }
  if (isRecord(properties)) {
    for (const [name, child] of Object.entries(properties)) {
      if (isRecord(child)) errors.push(...childErrors(child, `${path}.properties[${name}]`, "specified object fields"));
    }
  }
  if (isRecord(items)) errors.push(...childErrors(items, `${path}.items`, "specified array items"));
  if (isRecord(additionalProperties)) {
    errors.push(...childErrors(additionalProperties, `${path}.additionalProperties`, "specified object fields"));
  }
  return errors;
}

function childErrors(schema: MutableFields, path: string, what: string): FieldError[] {
  const isOpen =
    schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  const errors = nodeErrors(schema, path);
  if (typeof schema.type === "string" || isOpen) return errors;
  return [required(`${path}.type`, `must not be empty for ${what}`), ...errors];
}
