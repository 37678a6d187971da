import type { Json } from "@tmc/kube/kube-object.ts";

/** A structural OpenAPI v3 schema, as far as our kinds and the workload types use it. */
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

/** One field: its schema, and (for the compiler only) the type of its values. */
export type Field<T> = Readonly<{ schema: OpenApiSchema; mandatory?: boolean; value?: T }>;

/** A field that its object must have. */
export type Mandatory<T> = Field<T> & Readonly<{ mandatory: true }>;

/** The type of the values that a field holds. */
export type ValueOf<F> = F extends Field<infer T> ? T : never;

type Shape = Readonly<Record<string, Field<unknown>>>;
type Flat<T> = { readonly [K in keyof T]: T[K] };
type MandatoryKeys<S extends Shape> = { [K in keyof S]: S[K] extends Mandatory<unknown> ? K : never }[keyof S];

/** The type of an object with the given fields: mandatory ones are there, the others may be. */
export type ObjectOf<S extends Shape> = Flat<
  { [K in MandatoryKeys<S>]: ValueOf<S[K]> } & { [K in Exclude<keyof S, MandatoryKeys<S>>]?: ValueOf<S[K]> }
>;

type TextRules = Pick<OpenApiSchema, "pattern" | "minLength" | "maxLength" | "format">;
type NumberRules = Pick<OpenApiSchema, "minimum" | "maximum"> & Readonly<{ format?: "int32" | "int64" }>;
type Preset<T> = Readonly<{ default?: T }>;

/** Makes a field one that must be given. */
export function required<T>(field: Field<T>): Mandatory<T> {
  return { ...field, mandatory: true };
}

/** A string. */
export function text(description: string, rules: TextRules & Preset<string> = {}): Field<string> {
  return { schema: { description, type: "string", ...rules } };
}

/** A string that is one of a few. */
export function choice<const T extends string>(
  description: string,
  values: readonly T[],
  preset: Preset<T> = {},
): Field<T> {
  return { schema: { description, type: "string", enum: values, ...preset } };
}

/** A whole number, 64 bits wide unless said otherwise. */
export function whole(description: string, rules: NumberRules & Preset<number> = {}): Field<number> {
  return { schema: { description, type: "integer", format: "int64", ...rules } };
}

/** Anything that JSON has. */
export function anyValue(description: string): Field<Json> {
  return { schema: { description, "x-kubernetes-preserve-unknown-fields": true } };
}

/** True or false. */
export function flag(description: string, preset: Preset<boolean> = {}): Field<boolean> {
  return { schema: { description, type: "boolean", ...preset } };
}

/** A moment, as RFC 3339 text. */
export function time(description: string): Field<string> {
  return { schema: { description, type: "string", format: "date-time" } };
}

/** A map from text to text. */
export function textMap(
  description: string,
  rules: Pick<OpenApiSchema, "maxProperties"> = {},
): Field<Readonly<Record<string, string>>> {
  return { schema: { description, type: "object", additionalProperties: { type: "string" }, ...rules } };
}

type ListRules = Pick<OpenApiSchema, "minItems" | "maxItems">;

/** A list with one owner: who writes it writes it whole. */
export function list<T>(description: string, item: Field<T>, rules: ListRules = {}): Field<readonly T[]> {
  return {
    schema: { description, type: "array", "x-kubernetes-list-type": "atomic", items: item.schema, ...rules },
  };
}

/** A list of values of which each occurs once; several owners may add to it. */
export function set<T extends string | number>(
  description: string,
  item: Field<T>,
  rules: ListRules = {},
): Field<readonly T[]> {
  return { schema: { description, type: "array", "x-kubernetes-list-type": "set", items: item.schema, ...rules } };
}

/** A list of objects told apart by `key`; several owners may each have entries of their own. */
export function listMap<T extends object>(
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

/** An object with the given fields and no others. */
export function object<const S extends Shape>(
  description: string,
  shape: S,
  rules: Pick<OpenApiSchema, "x-kubernetes-map-type" | "minProperties" | "maxProperties"> = {},
): Field<ObjectOf<S>> {
  const fields = Object.entries(shape);
  const mandatory = fields.filter(([, field]) => field.mandatory === true).map(([name]) => name);
  return {
    schema: {
      description,
      type: "object",
      ...(mandatory.length > 0 ? { required: mandatory } : {}),
      properties: Object.fromEntries(fields.map(([name, field]) => [name, field.schema])),
      ...rules,
    },
  };
}
