import { isFields } from "@tmc/kube/json.ts";
import type { Json } from "@tmc/kube/kube-object.ts";
import type { Schema } from "../machinery/schema.ts";
import texts from "./schemas.generated.json" with { type: "json" };

/** A schema as the generated file has it: like `Schema`, but with references (`$ref`) to other schemas. */
export type GeneratedSchema = Readonly<{ [key: string]: Json }>;

const textOf: ReadonlyMap<string, string> = new Map(Object.entries(texts));
const parsedSchemas = new Map<string, GeneratedSchema>();
const linkedSchemas = new Map<string, Schema>();

/** Returns the schema of a built-in kind. Its parts are linked lazily, so the call is fast. */
export function builtinSchema(group: string, version: string, kind: string): Schema {
  return linkedSchema(componentName(group, version, kind));
}

/** The name of a built-in kind in OpenAPI documents: `io.k8s.api.apps.v1.Deployment`. */
export function componentName(group: string, version: string, kind: string): string {
  if (group === "apiextensions.k8s.io")
    return `io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.${version}.${kind}`;
  const folder = group === "" ? "core" : group.split(".")[0];
  return `io.k8s.api.${folder}.${version}.${kind}`;
}

/** The name of ObjectMeta in OpenAPI documents. */
export const objectMetaName = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

export function hasGeneratedSchema(name: string): boolean {
  return textOf.has(name);
}

/** Returns a schema by component name as generated, with references; throws if there is none. */
export function generatedSchema(name: string): GeneratedSchema {
  const known = parsedSchemas.get(name);
  if (known !== undefined) return known;
  const text = textOf.get(name);
  if (text === undefined) throw new Error(`schemas: no built-in schema ${name}`);
  // The generated file contains only schemas.
  const schema = JSON.parse(text) as GeneratedSchema;
  parsedSchemas.set(name, schema);
  return schema;
}

function linkedSchema(name: string): Schema {
  let schema = linkedSchemas.get(name);
  if (schema === undefined) {
    schema = link(generatedSchema(name));
    linkedSchemas.set(name, schema);
  }
  return schema;
}

/** Links children on first access: recursive types make the graph cyclic. */
function link(node: GeneratedSchema): Schema {
  const { $ref, ...own } = node;
  const target = typeof $ref === "string" ? linkedSchema($ref) : undefined;
  if (target !== undefined && Object.keys(own).length === 0) return target;
  const result: { [key: string]: unknown } = {};
  if (target !== undefined) {
    for (const key of Object.keys(target)) {
      // Shared with the target, so that every use of a type has the same children.
      if (childKeys.has(key)) defineLazily(result, key, () => Reflect.get(target, key));
      else result[key] = Reflect.get(target, key);
    }
  }
  for (const [key, value] of Object.entries(own)) {
    if (!childKeys.has(key)) result[key] = value;
    else if (key === "properties") defineLazily(result, key, () => linkProperties(value));
    else if (isGeneratedSchema(value)) defineLazily(result, key, () => link(value));
    else result[key] = value;
  }
  // Built from generated schemas only, whose keys are those of Schema.
  return result as Schema;
}

const childKeys: ReadonlySet<string> = new Set(["properties", "items", "additionalProperties"]);

function linkProperties(properties: Json): Record<string, Schema> {
  if (!isGeneratedSchema(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, child]) => (isGeneratedSchema(child) ? [[name, link(child)]] : [])),
  );
}

function defineLazily(target: object, key: string, make: () => unknown): void {
  Object.defineProperty(target, key, {
    enumerable: true,
    configurable: true,
    get: () => {
      const value = make();
      Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: false });
      return value;
    },
  });
}

export function isGeneratedSchema(value: Json | undefined): value is { [key: string]: Json } {
  return isFields(value);
}
