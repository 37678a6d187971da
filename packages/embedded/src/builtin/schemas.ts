import type { Json } from "@tmc/kube/kube-object.ts";
import { isObject } from "../machinery/json-value.ts";
import type { Schema } from "../machinery/schema.ts";
import texts from "./schemas.generated.json" with { type: "json" };

/** A schema as it is written down: like `Schema`, but other schemas are named instead of being there. */
export type WrittenSchema = Readonly<{ [key: string]: Json }>;

const textOf: ReadonlyMap<string, string> = new Map(Object.entries(texts));
const written = new Map<string, WrittenSchema>();
const linked = new Map<string, Schema>();

/** The schema of a built-in kind. Its parts come into being as they are looked at, so that asking for it costs next to nothing. */
export function builtinSchema(group: string, version: string, kind: string): Schema {
  return linkedSchema(componentName(group, version, kind));
}

/** The name under which OpenAPI documents list a built-in kind: `io.k8s.api.apps.v1.Deployment`. */
export function componentName(group: string, version: string, kind: string): string {
  if (group === "apiextensions.k8s.io")
    return `io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.${version}.${kind}`;
  const folder = group === "" ? "core" : group.split(".")[0];
  return `io.k8s.api.${folder}.${version}.${kind}`;
}

/** The name under which OpenAPI documents list the metadata of every object. */
export const objectMetaName = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/** Tells whether a schema of that name is known. */
export function hasWrittenSchema(name: string): boolean {
  return textOf.has(name);
}

/** A schema by its component name, as it is written down; throws where there is none. */
export function writtenSchema(name: string): WrittenSchema {
  const known = written.get(name);
  if (known !== undefined) return known;
  const text = textOf.get(name);
  if (text === undefined) throw new Error(`schemas: no built-in schema ${name}`);
  // The generated file holds nothing but schemas.
  const schema = JSON.parse(text) as WrittenSchema;
  written.set(name, schema);
  return schema;
}

function linkedSchema(name: string): Schema {
  let schema = linked.get(name);
  if (schema === undefined) {
    schema = link(writtenSchema(name));
    linked.set(name, schema);
  }
  return schema;
}

/** Recursive types make the graph cyclic: a node's children are linked when they are first asked for. */
function link(node: WrittenSchema): Schema {
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
    else if (isWritten(value)) defineLazily(result, key, () => link(value));
    else result[key] = value;
  }
  // Made of nothing but the generated file's schemas, whose keys are those of Schema.
  return result as Schema;
}

const childKeys: ReadonlySet<string> = new Set(["properties", "items", "additionalProperties"]);

function linkProperties(properties: Json): Record<string, Schema> {
  if (!isWritten(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, child]) => (isWritten(child) ? [[name, link(child)]] : [])),
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

/** Tells a JSON object that was written down, such as a part of a schema, from other JSON. */
export function isWritten(value: Json | undefined): value is { [key: string]: Json } {
  return isObject(value);
}
