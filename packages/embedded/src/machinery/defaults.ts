import { type Fields, isFields } from "@tmc/kube/json.ts";
import { isList, setOwnField } from "./json-value.ts";
import type { Schema } from "./schema.ts";

/**
 * Sets the defaults of the schema. Nulls that the schema does not allow are dropped, as the server does with every
 * object it reads; with `keep` they remain and fail validation, as they do in the result of an apply. Unchanged parts
 * are shared with the input, and defaults with the schema: neither may be changed afterwards.
 */
export function withDefaults<T>(schema: Schema, object: T, nulls: "drop" | "keep" = "drop"): T {
  // Defaulting maps objects to objects and lists to lists.
  return defaulted(schema, object, nulls) as T;
}

type Nulls = "drop" | "keep";

function defaulted(schema: Schema | undefined, value: unknown, nulls: Nulls): unknown {
  if (schema === undefined) return value;
  if (isList(value)) return defaultedList(schema, value, nulls);
  return isFields(value) ? defaultedObject(schema, value, nulls) : value;
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
      // A null that is not allowed means absent: it is replaced by the default or removed.
      if (property.default === undefined && nulls === "drop") {
        changed = true;
        continue;
      }
      filled = property.default ?? null;
    }
    filled = defaulted(property, filled, nulls);
    changed ||= filled !== inner;
    setOwnField(result, name, filled);
  }
  for (const [name, property] of defaultsOf(schema)) {
    if (Object.hasOwn(value, name)) continue;
    changed = true;
    setOwnField(result, name, defaulted(property, property.default, nulls));
  }
  return changed ? result : value;
}

const knownDefaults = new WeakMap<Schema, readonly (readonly [string, Schema])[]>();

/** Cached: large schemas have few defaults. */
function defaultsOf(schema: Schema): readonly (readonly [string, Schema])[] {
  const known = knownDefaults.get(schema);
  if (known !== undefined) return known;
  const found = Object.entries(schema.properties ?? {}).filter(([, property]) => property.default !== undefined);
  knownDefaults.set(schema, found);
  return found;
}
