import type { Json } from "@tmc/kube/kube-object.ts";

/** The subset of structural OpenAPI v3 schemas that our kinds and the workload types use. */
export type OpenApiSchema = Readonly<{
  type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  description?: string;
  format?: string;
  default?: Json;
  enum?: readonly string[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  required?: readonly string[];
  properties?: Readonly<Record<string, OpenApiSchema>>;
  additionalProperties?: OpenApiSchema;
  items?: OpenApiSchema;
  "x-kubernetes-preserve-unknown-fields"?: true;
  "x-kubernetes-int-or-string"?: true;
  "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  "x-kubernetes-list-map-keys"?: readonly string[];
  "x-kubernetes-map-type"?: "atomic";
}>;

/** A field of a kind: its schema, plus a phantom `value` that carries the TypeScript type of its values. */
export type Field<T> = Readonly<{ schema: OpenApiSchema; isRequired?: boolean; value?: T }>;

export type RequiredField<T> = Field<T> & Readonly<{ isRequired: true }>;

export type ValueOf<F> = F extends Field<infer T> ? T : never;

type Shape = Readonly<Record<string, Field<unknown>>>;
type Flattened<T> = { readonly [K in keyof T]: T[K] };
type RequiredKeys<S extends Shape> = { [K in keyof S]: S[K] extends RequiredField<unknown> ? K : never }[keyof S];

/** The TypeScript type of an object with the given fields. */
export type ObjectOf<S extends Shape> = Flattened<
  { [K in RequiredKeys<S>]: ValueOf<S[K]> } & { [K in Exclude<keyof S, RequiredKeys<S>>]?: ValueOf<S[K]> }
>;

type StringRules = Pick<OpenApiSchema, "pattern" | "minLength" | "maxLength" | "format">;
type NumberRules = Pick<OpenApiSchema, "minimum" | "maximum"> & Readonly<{ format?: "int32" | "int64" }>;
type DefaultValue<T> = Readonly<{ default?: T }>;

/** Marks a field as required in its object. */
export function requiredField<T>(field: Field<T>): RequiredField<T> {
  return { ...field, isRequired: true };
}

export function stringField(description: string, rules: StringRules & DefaultValue<string> = {}): Field<string> {
  return { schema: { description, type: "string", ...rules } };
}

export function enumField<const T extends string>(
  description: string,
  values: readonly T[],
  defaultValue: DefaultValue<T> = {},
): Field<T> {
  return { schema: { description, type: "string", enum: values, ...defaultValue } };
}

/** An integer, int64 unless `rules.format` says otherwise. */
export function integerField(description: string, rules: NumberRules & DefaultValue<number> = {}): Field<number> {
  return { schema: { description, type: "integer", format: "int64", ...rules } };
}

/** Any JSON value; the server stores it as it is. */
export function jsonField(description: string): Field<Json> {
  return { schema: { description, "x-kubernetes-preserve-unknown-fields": true } };
}

export function booleanField(description: string, defaultValue: DefaultValue<boolean> = {}): Field<boolean> {
  return { schema: { description, type: "boolean", ...defaultValue } };
}

/** An RFC 3339 timestamp. */
export function timeField(description: string): Field<string> {
  return { schema: { description, type: "string", format: "date-time" } };
}

export function stringMapField(
  description: string,
  rules: Pick<OpenApiSchema, "maxProperties"> = {},
): Field<Readonly<Record<string, string>>> {
  return { schema: { description, type: "object", additionalProperties: { type: "string" }, ...rules } };
}

type ListRules = Pick<OpenApiSchema, "minItems" | "maxItems">;

/** An atomic list: server-side apply replaces it as a whole. */
export function listField<T>(description: string, item: Field<T>, rules: ListRules = {}): Field<readonly T[]> {
  return {
    schema: { description, type: "array", "x-kubernetes-list-type": "atomic", items: item.schema, ...rules },
  };
}

/** A list of unique scalars; server-side apply merges the items of several field managers. */
export function setField<T extends string | number>(
  description: string,
  item: Field<T>,
  rules: ListRules = {},
): Field<readonly T[]> {
  return { schema: { description, type: "array", "x-kubernetes-list-type": "set", items: item.schema, ...rules } };
}

/** A list of objects identified by `key`; server-side apply merges the entries of several field managers. */
export function listMapField<T extends object>(
  description: string,
  key: keyof T & string,
  item: Field<T>,
  rules: ListRules = {},
): Field<readonly T[]> {
  return {
    schema: {
      description,
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": [key],
      items: item.schema,
      ...rules,
    },
  };
}

/** An object with the given fields; the server prunes all others. */
export function objectField<const S extends Shape>(
  description: string,
  shape: S,
  rules: Pick<OpenApiSchema, "x-kubernetes-map-type" | "minProperties" | "maxProperties"> = {},
): Field<ObjectOf<S>> {
  const fields = Object.entries(shape);
  const required = fields.filter(([, field]) => field.isRequired === true).map(([name]) => name);
  return {
    schema: {
      description,
      type: "object",
      ...(required.length > 0 ? { required } : {}),
      properties: Object.fromEntries(fields.map(([name, field]) => [name, field.schema])),
      ...rules,
    },
  };
}
