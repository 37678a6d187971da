import type { OpenApiSchema } from "../../../lib/api/schema.ts";

/** A schema with its path in the containing schema. */
export type SubSchema = Readonly<{ path: string; schema: OpenApiSchema }>;

/** Returns a schema and all schemas in it. */
export function subSchemas(schema: OpenApiSchema, path = ""): readonly SubSchema[] {
  return [
    { path, schema },
    ...Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => subSchemas(inner, `${path}.${name}`)),
    ...(schema.items === undefined ? [] : subSchemas(schema.items, `${path}[]`)),
    ...(schema.additionalProperties === undefined ? [] : subSchemas(schema.additionalProperties, `${path}{}`)),
  ];
}

/** Returns the violations of the rules for structural schemas, for the rules that apply to TMC's schemas. */
export function structuralFaults(schema: OpenApiSchema): readonly string[] {
  return subSchemas(schema).flatMap(({ path, schema: at }) => faultsAt(at).map((fault) => `${path || "."}: ${fault}`));
}

const known = new Set(
  [
    "type description format default enum pattern minLength maxLength minimum maximum minItems maxItems",
    "minProperties maxProperties",
    "required properties additionalProperties items x-kubernetes-preserve-unknown-fields x-kubernetes-int-or-string",
    "x-kubernetes-list-type x-kubernetes-list-map-keys x-kubernetes-map-type",
  ].flatMap((keywords) => keywords.split(" ")),
);

function faultsAt(at: OpenApiSchema): string[] {
  const faults: string[] = [];
  const intOrString = at["x-kubernetes-int-or-string"] === true;
  const isAnything = at.type === undefined && at["x-kubernetes-preserve-unknown-fields"] === true;
  if (!isAnything && intOrString === (at.type !== undefined))
    faults.push("needs a type, or to be int-or-string, and not both");
  for (const word of Object.keys(at).filter((key) => !known.has(key))) faults.push(`unknown keyword ${word}`);
  if (at.type === "array" && at.items === undefined) faults.push("an array without items");
  if (at.type !== "array" && at.items !== undefined) faults.push("items outside an array");
  if (at.type !== "object" && (at.properties ?? at.additionalProperties) !== undefined)
    faults.push("fields outside an object");
  if (at.properties !== undefined && at.additionalProperties !== undefined)
    faults.push("both properties and additionalProperties");
  for (const name of at.required ?? []) {
    const described = at.properties?.[name] !== undefined;
    if (!described && at["x-kubernetes-preserve-unknown-fields"] !== true)
      faults.push(`requires ${name}, which it would prune`);
  }
  return [...faults, ...listFaults(at), ...defaultFaults(at)];
}

function listFaults(at: OpenApiSchema): string[] {
  const listType = at["x-kubernetes-list-type"];
  const keys = at["x-kubernetes-list-map-keys"];
  if (at.type !== "array") return listType === undefined && keys === undefined ? [] : ["a list type outside an array"];
  if (listType === undefined) return ["an array without a list type"];
  if ((listType === "map") !== (keys !== undefined)) return ["map keys without a map, or a map without keys"];
  if (listType === "set" && !isScalar(at.items)) return ["a set of something other than scalars"];
  return (keys ?? []).flatMap((key) => {
    const field = at.items?.properties?.[key];
    if (field === undefined || !isScalar(field)) return [`map key ${key} is no scalar field of its items`];
    const given = (at.items?.required?.includes(key) ?? false) || field.default !== undefined;
    return given ? [] : [`map key ${key} is neither required nor defaulted`];
  });
}

function defaultFaults(at: OpenApiSchema): string[] {
  if (at.default === undefined) return [];
  const fits = at.type === "integer" ? Number.isInteger(at.default) : typeof at.default === at.type;
  const allowed = at.enum === undefined || at.enum.some((value) => value === at.default);
  return fits && allowed ? [] : [`default ${JSON.stringify(at.default)} is not a value of the field`];
}

function isScalar(schema: OpenApiSchema | undefined): boolean {
  return schema?.type !== undefined && !["object", "array"].includes(schema.type);
}
