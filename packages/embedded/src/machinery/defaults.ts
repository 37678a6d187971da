import { type Fields, isList, isObject, setField } from "./json-value.ts";
import type { Schema } from "./schema.ts";

/**
 * Fills in what the schema gives defaults for. Nulls where the schema allows none are dropped, as the server does with all
 * that it reads; with `keep` they stay for validation to refuse, as they do in what an apply has merged. Parts that need
 * nothing are shared with the input, and defaults with the schema: neither may be changed afterwards.
 */
export function withDefaults<T>(schema: Schema, object: T, nulls: "drop" | "keep" = "drop"): T {
  // Every rule below answers an object for an object and a list for a list.
  return defaulted(schema, object, nulls) as T;
}

type Nulls = "drop" | "keep";

function defaulted(schema: Schema | undefined, value: unknown, nulls: Nulls): unknown {
  if (schema === undefined) return value;
  if (isList(value)) return defaultedList(schema, value, nulls);
  return isObject(value) ? defaultedObject(schema, value, nulls) : value;
}

function defaultedList(schema: Schema, value: readonly unknown[], nulls: Nulls): unknown {
  const { items } = schema;
  if (items === undefined) return value;
  let changed = false;
  const result = value.map((item) => {
    const filled = defaulted(items, item === null && items.nullable !== true ? (items.default ?? null) : item, nulls);
    changed ||= filled !== item;
    return filled;
  });
  return changed ? result : value;
}

function defaultedObject(schema: Schema, value: Fields, nulls: Nulls): unknown {
  const properties = schema.properties ?? {};
  const further = typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
  const result: Record<string, unknown> = {};
  let changed = false;
  for (const [name, inner] of Object.entries(value)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : further;
    let filled = inner;
    if (inner === null && property !== undefined && property.nullable !== true) {
      // A null that is not allowed stands for nothing: the default takes its place, or the field goes.
      if (property.default === undefined && nulls === "drop") {
        changed = true;
        continue;
      }
      filled = property.default ?? null;
    }
    filled = defaulted(property, filled, nulls);
    changed ||= filled !== inner;
    setField(result, name, filled);
  }
  for (const [name, property] of defaultsOf(schema)) {
    if (Object.hasOwn(value, name)) continue;
    changed = true;
    setField(result, name, defaulted(property, property.default, nulls));
  }
  return changed ? result : value;
}

const knownDefaults = new WeakMap<Schema, readonly (readonly [string, Schema])[]>();

/** Large schemas have few defaults: each object type's are looked up once. */
function defaultsOf(schema: Schema): readonly (readonly [string, Schema])[] {
  const known = knownDefaults.get(schema);
  if (known !== undefined) return known;
  const found = Object.entries(schema.properties ?? {}).filter(([, property]) => property.default !== undefined);
  knownDefaults.set(schema, found);
  return found;
}
