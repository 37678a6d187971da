import type { Json, JsonObject } from "@tmc/kube/kube-object.ts";

// A status is written by whoever looks after the type: nobody has checked it. What is not of the form that is asked for
// counts as not there.

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The field of an object, if it has that field itself; null counts as not there. */
export function fieldAt(object: JsonObject | undefined, field: string): Json | undefined {
  return object !== undefined && Object.hasOwn(object, field) ? (object[field] ?? undefined) : undefined;
}

export function numberAt(object: JsonObject | undefined, field: string): number | undefined {
  const value = fieldAt(object, field);
  return typeof value === "number" ? value : undefined;
}

export function textAt(object: JsonObject | undefined, field: string): string | undefined {
  const value = fieldAt(object, field);
  return typeof value === "string" ? value : undefined;
}

export function objectAt(object: JsonObject | undefined, field: string): JsonObject | undefined {
  const value = fieldAt(object, field);
  return isJsonObject(value) ? value : undefined;
}

export function listAt(object: JsonObject | undefined, field: string): readonly Json[] {
  const value = fieldAt(object, field);
  return Array.isArray(value) ? value : [];
}

/** The value with the fields of all its objects in one order, so that equal values have equal bytes. */
export function inOneOrder(value: Json): Json {
  if (Array.isArray(value)) return value.map(inOneOrder);
  return isJsonObject(value) ? objectInOneOrder(value) : value;
}

export function objectInOneOrder(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([field, value]) => [field, inOneOrder(value)]),
  );
}

/** One text for one value, whatever the order of its fields. */
export function textOf(value: Json): string {
  return JSON.stringify(inOneOrder(value));
}
