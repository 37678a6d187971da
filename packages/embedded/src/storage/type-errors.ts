import { type Fields, isFields } from "@tmc/kube/json.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import { isList } from "../machinery/json-value.ts";
import type { Schema } from "../machinery/schema.ts";

/**
 * Returns the decoding error for the first value of a wrong type, or undefined. Built-in types are decoded into Go
 * structs first, so such an error is a bad request and not an invalid object.
 */
export function typeErrorMessage({ schema, kind, version }: ResourceDefinition, object: Fields): string | undefined {
  const found = firstError(schema, object, "");
  if (found === undefined) return undefined;
  const { got, path, schema: expected } = found;
  const parents = path.split(".").slice(0, -1);
  const structure = parents.reduce((parent, field) => structureName(parent, field), kind);
  const type = goType(expected, structureName(structure, path.split(".").at(-1) ?? ""), version);
  return `json: cannot unmarshal ${got} into Go struct field ${structure}.${path} of type ${type}`;
}

type TypeMismatch = Readonly<{ got: string; path: string; schema: Schema }>;

function firstError(schema: Schema | undefined, value: unknown, path: string): TypeMismatch | undefined {
  if (schema === undefined || value === null || value === undefined) return undefined;
  if (schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true) {
    return undefined;
  }
  const error = (got: string): TypeMismatch => ({ got, path, schema });
  switch (schema.type) {
    case "object":
      return isFields(value) ? firstInFields(schema, value, path) : error(jsonType(value));
    case "array": {
      if (!isList(value)) return error(jsonType(value));
      for (const item of value) {
        const found = firstError(schema.items, item, path);
        if (found !== undefined) return found;
      }
      return undefined;
    }
    case "string":
      // A quantity may also be a number.
      if (typeof value === "string" || (typeof value === "number" && schema.format === "quantity")) return undefined;
      return error(jsonType(value));
    case "boolean":
      return typeof value === "boolean" ? undefined : error(jsonType(value));
    case "integer":
    case "number": {
      if (typeof value !== "number") return error(jsonType(value));
      return schema.type === "integer" && !Number.isInteger(value) ? error(`number ${value}`) : undefined;
    }
    default:
      return undefined;
  }
}

function firstInFields(
  { properties, additionalProperties }: Schema,
  value: Fields,
  path: string,
): TypeMismatch | undefined {
  for (const name of Object.keys(value)) {
    const known = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
    const entry = typeof additionalProperties === "object" ? additionalProperties : undefined;
    const found =
      known === undefined
        ? // Keys of a map are not struct fields.
          firstError(entry, value[name], path)
        : firstError(known, value[name], path === "" ? name : `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
const wellKnown: Readonly<Record<string, string>> = {
  metadata: "ObjectMeta",
  containers: "Container",
  initContainers: "Container",
  template: "PodTemplateSpec",
  ports: "Port",
};

/** Name of the Go struct of a field, derived from names: `DeploymentSpec` below a Deployment's spec. */
function structureName(parent: string, field: string): string {
  const known = Object.hasOwn(wellKnown, field) ? wellKnown[field] : undefined;
  if (known !== undefined) return known;
  if (parent === "PodTemplateSpec" && field === "spec") return "PodSpec";
  return field === "spec" || field === "status" ? `${parent}${capital(field)}` : capital(field);
}

function jsonType(value: unknown): string {
  if (isList(value)) return "array";
  if (isFields(value)) return "object";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function goType(schema: Schema, structure: string, version: string): string {
  switch (schema.type) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "integer":
      return schema.format === "int64" ? "int64" : "int32";
    case "number":
      return "float64";
    case "array":
      return `[]${schema.items?.type === "string" ? "string" : `${version}.${structure}`}`;
    default:
      return typeof schema.additionalProperties === "object" && schema.additionalProperties.type === "string"
        ? "map[string]string"
        : `${version}.${structure}`;
  }
}
