import { type Fields, isFields } from "@tmc/kube/json.ts";
import { duplicate, type FieldError, invalid } from "./field-error.ts";
import { goJson } from "./go-text.ts";
import { fieldOf, isList } from "./json-value.ts";
import type { Schema } from "./schema.ts";

/** Finds duplicate items in lists of type set or map. */
export function duplicateErrors(schema: Schema, value: unknown, path = ""): FieldError[] {
  if (isList(value)) return errorsOfList(schema, value, path);
  return isFields(value) ? errorsOfObject(schema, value, path) : [];
}

function errorsOfObject(schema: Schema, value: Fields, path: string): FieldError[] {
  if (schema.properties === undefined && typeof schema.additionalProperties !== "object") return none;
  const errors: FieldError[] = [];
  for (const [name, inner] of Object.entries(value)) {
    if (typeof inner !== "object" || inner === null) continue;
    if (schema.properties !== undefined && Object.hasOwn(schema.properties, name)) {
      const property = schema.properties[name];
      if (property !== undefined)
        errors.push(...duplicateErrors(property, inner, path === "" ? name : `${path}.${name}`));
    } else if (typeof schema.additionalProperties === "object") {
      errors.push(...duplicateErrors(schema.additionalProperties, inner, `${path}[${name}]`));
    }
  }
  return errors;
}

function errorsOfList(schema: Schema, items: readonly unknown[], path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (schema["x-kubernetes-list-type"] === "set") {
    errors.push(...repeated(items).map((index) => duplicate(`${path}[${index}]`, items[index])));
  }
  if (schema["x-kubernetes-list-type"] === "map") {
    const wrong = items.findIndex((item) => item !== null && !isFields(item));
    if (wrong >= 0) {
      errors.push(invalid(`${path}[${wrong}]`, items[wrong], "must be an object for an array of list-type map"));
    } else {
      const keys = items.map((item) => keyOf(schema, item));
      errors.push(...repeated(keys).map((index) => duplicate(`${path}[${index}]`, keys[index])));
    }
  }
  if (schema.items !== undefined) {
    for (const [index, item] of items.entries()) {
      errors.push(...duplicateErrors(schema.items, item, `${path}[${index}]`));
    }
  }
  return errors;
}

const none: FieldError[] = [];

function keyOf(schema: Schema, item: unknown): Fields {
  if (!isFields(item)) return {};
  const names = (schema["x-kubernetes-list-map-keys"] ?? []).filter((name) => Object.hasOwn(item, name));
  return Object.fromEntries(names.map((name) => [name, fieldOf(item, name)]));
}

/** Indexes at which a value occurs for the second time; a third time is not reported. */
function repeated(values: readonly unknown[]): number[] {
  if (values.length < 2) return [];
  const times = new Map<string, number>();
  return values.flatMap((value, index) => {
    const text = goJson(value);
    const before = times.get(text) ?? 0;
    times.set(text, before + 1);
    return before === 1 ? [index] : [];
  });
}
