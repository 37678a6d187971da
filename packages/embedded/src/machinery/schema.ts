import type { Json } from "@tmc/kube/kube-object.ts";

/**
 * A structural OpenAPI v3 schema. Built-in types use the same form (generated from a real API server), plus the two
 * patch extensions that custom types cannot have. Nodes may be shared and, for recursive types, cyclic: walk a schema
 * only along a value, and never change one.
 */
export type Schema = Readonly<{
  type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  description?: string;
  format?: string;
  title?: string;
  default?: Json;
  nullable?: boolean;
  enum?: readonly Json[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minProperties?: number;
  maxProperties?: number;
  required?: readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  allOf?: readonly Schema[];
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  not?: Schema;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-embedded-resource"?: boolean;
  "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  "x-kubernetes-list-map-keys"?: readonly string[];
  "x-kubernetes-map-type"?: "atomic" | "granular";
  "x-kubernetes-validations"?: readonly Readonly<{ rule: string; message?: string }>[];
  /** Built-in types only: merge key of a list in strategic merge patches. */
  "x-kubernetes-patch-merge-key"?: string;
  /** Built-in types only: `merge`, `replace`, `retainKeys`, or two of them joined by a comma. */
  "x-kubernetes-patch-strategy"?: string;
}>;
