import { compareStrings } from "@tmc/kube/compare.ts";
import { isFields } from "@tmc/kube/json.ts";
import type { JsonObject, KubeObject, ManagedFieldsEntry } from "@tmc/kube/kube-object.ts";
import { freezeJson } from "../storage/frozen-json.ts";
import {
  decodeFields,
  differenceWithChildren,
  emptySet,
  encodeFields,
  type FieldSet,
  fieldDifference,
  fieldElement,
  fieldIntersection,
  fieldSet,
  fieldUnion,
  isEmptySet,
  unlessEqual,
} from "./field-set.ts";
import { isEqual } from "./json-value.ts";
import type { Schema } from "./schema.ts";
import { type Comparison, compareValues, emptyObject, shapeOf } from "./typed-value.ts";

/** Identity of an owner of fields: a manager with one operation, API version and subresource. */
export type FieldOwner = Readonly<{
  manager: string;
  operation: "Apply" | "Update";
  apiVersion: string;
  subresource?: string | undefined;
}>;
export type FieldOwnership = Readonly<{ owner: FieldOwner; fields: FieldSet; time?: string | undefined }>;
/** All owners of an object's fields, by identity. */
export type FieldOwners = ReadonlyMap<string, FieldOwnership>;

/** An applier has one entry for all versions; updates have one entry per version. */
export function ownerId({ manager, operation, apiVersion, subresource }: FieldOwner): string {
  return JSON.stringify([manager, operation, operation === "Apply" ? "" : apiVersion, subresource ?? ""]);
}

/** Decodes an object's managed fields; returns undefined if an entry is malformed. */
export function decodeOwners(entries: readonly ManagedFieldsEntry[] | undefined): FieldOwners | undefined {
  const owners = new Map<string, FieldOwnership>();
  for (const entry of entries ?? []) {
    const { manager = "", operation, apiVersion = "", fieldsType, fieldsV1 = {}, subresource, time } = entry;
    const fields = decodedFields(fieldsV1);
    if (operation !== "Apply" && operation !== "Update") return undefined;
    if (apiVersion === "" || fieldsType !== "FieldsV1" || fields === undefined) return undefined;
    const owner: FieldOwner = { manager, operation, apiVersion, subresource };
    owners.set(ownerId(owner), { owner, fields, time });
  }
  return owners;
}

/** Encodes managed fields in the server's order: operation, time, manager, version, subresource. */
export function encodeOwners(owners: FieldOwners): ManagedFieldsEntry[] {
  return [...owners.values()]
    .map(encodeOwnership)
    .toSorted(
      (a, b) =>
        compareOptionalStrings(a.operation, b.operation) ||
        secondsOf(a.time) - secondsOf(b.time) ||
        compareOptionalStrings(a.manager, b.manager) ||
        compareOptionalStrings(a.apiVersion, b.apiVersion) ||
        compareOptionalStrings(a.subresource, b.subresource),
    );
}

const compareOptionalStrings = (a = "", b = ""): number => compareStrings(a, b);
const secondsOf = (time: string | undefined): number => (time === undefined ? 0 : Math.floor(Date.parse(time) / 1000));

function encodeOwnership({ owner, fields, time }: FieldOwnership): ManagedFieldsEntry {
  const { manager, operation, apiVersion, subresource } = owner;
  return {
    ...(manager === "" ? {} : { manager }),
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: "FieldsV1",
    fieldsV1: encodedFields(fields),
    ...(subresource === undefined || subresource === "" ? {} : { subresource }),
  };
}

const encodings = new WeakMap<FieldSet, JsonObject>();
const decodings = new WeakMap<JsonObject, FieldSet>();

/**
 * Encodings are cached by identity, because most entries stay the same from one write to the next. They are shared and
 * therefore frozen.
 */
function encodedFields(fields: FieldSet): JsonObject {
  const known = encodings.get(fields);
  if (known !== undefined) return known;
  const encoded = freezeJson(encodeFields(fields));
  encodings.set(fields, encoded);
  decodings.set(encoded, fields);
  return encoded;
}

function decodedFields(encoded: JsonObject): FieldSet | undefined {
  // Only frozen values may be cached by identity.
  const isKept = Object.isFrozen(encoded);
  const known = isKept ? decodings.get(encoded) : undefined;
  if (known !== undefined) return known;
  const fields = decodeFields(encoded);
  if (fields !== undefined && isKept) {
    decodings.set(encoded, fields);
    encodings.set(fields, encoded);
  }
  return fields;
}

const path = (...names: readonly string[]): string[] => names.map(fieldElement);

/** Fields without an owner: those that the server sets, and those that identify the object. */
const serverFields = fieldSet(
  path("apiVersion"),
  path("kind"),
  path("metadata"),
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "generation",
    "managedFields",
    "resourceVersion",
  ].map((name) => path("metadata", name)),
);

export const withoutServerOwnedFields = (fields: FieldSet): FieldSet => fieldDifference(fields, serverFields);

/**
 * Fields that a request cannot set: status through the object itself, everything else through the status subresource.
 */
export function resetFields(subresource: string | undefined): readonly (readonly string[])[] {
  if (subresource === undefined || subresource === "") return [["status"]];
  return subresource === "status" ? [["spec"], ["metadata"]] : [];
}

/** Removes the fields that a request cannot set. */
export function withoutReset(fields: FieldSet, reset: readonly (readonly string[])[]): FieldSet {
  return reset.length === 0
    ? fields
    : differenceWithChildren(fields, fieldSet(...reset.map((names) => path(...names))));
}

export function withoutManagedFields(object: KubeObject | undefined): Readonly<Record<string, unknown>> {
  if (object === undefined) return {};
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Removes changed and removed fields from all owners except `self`; drops owners without fields. */
export function withoutChangedFields(
  owners: FieldOwners,
  comparison: Comparison,
  self?: string,
): Map<string, FieldOwnership> {
  const touched = fieldUnion(fieldUnion(comparison.modified, comparison.added), comparison.removed);
  const result = new Map<string, FieldOwnership>();
  for (const [id, ownership] of owners) {
    const isUntouched = id === self || isEmptySet(fieldIntersection(ownership.fields, touched));
    const kept = isUntouched ? ownership : { ...ownership, fields: fieldDifference(ownership.fields, touched) };
    if (!isEmptySet(kept.fields)) result.set(id, kept);
  }
  return result;
}

/** Returns the fields of other owners that a change sets to another value. */
export function conflictingFields(owners: FieldOwners, comparison: Comparison, self: string): Map<string, FieldSet> {
  const changed = fieldUnion(comparison.modified, comparison.added);
  const conflicts = new Map<string, FieldSet>();
  for (const [id, { fields }] of owners) {
    if (id === self) continue;
    const common = fieldIntersection(fields, changed);
    if (!isEmptySet(common)) conflicts.set(id, common);
  }
  return conflicts;
}

export function filteredComparison(comparison: Comparison, reset: readonly (readonly string[])[]): Comparison {
  return {
    added: withoutReset(comparison.added, reset),
    modified: withoutReset(comparison.modified, reset),
    removed: withoutReset(comparison.removed, reset),
  };
}

/** Update managers that an object keeps apart at most. */
const maxUpdateManagers = 10;

export type TrackedUpdate = Readonly<{
  schema: Schema;
  /** The previous object; absent for a create. */
  old?: KubeObject | undefined;
  /** The object to store. Its managed fields count: a client may edit them, or clear them with an empty entry. */
  object: KubeObject;
  manager: string;
  subresource?: string | undefined;
  apiVersion: string;
  now: string;
  /** Paths that this request cannot set. @default status for the object, spec and metadata for its status */
  reset?: readonly (readonly string[])[] | undefined;
}>;

/**
 * Computes the managed fields after a create, an update, or a patch other than apply: the writer owns the fields it
 * changed.
 */
export function trackUpdate(update: TrackedUpdate): ManagedFieldsEntry[] {
  const { schema, old, object, manager, subresource, apiVersion, now } = update;
  const owners = ownersBefore(update);
  // The object is not tracked; tracking starts with a create or an apply.
  if (owners.size === 0 && old !== undefined) return [];

  const reset = update.reset ?? resetFields(subresource);
  const whole = compareValues(
    shapeOf(schema),
    old === undefined ? emptyObject(schema) : withoutManagedFields(old),
    withoutManagedFields(object),
  );
  const comparison = filteredComparison(whole, reset);
  const result = withoutChangedFields(owners, comparison);
  const changed = withoutServerOwnedFields(fieldUnion(comparison.modified, comparison.added));
  if (!isEmptySet(changed)) {
    const owner: FieldOwner = {
      manager: manager === "" ? "unknown" : manager,
      operation: "Update",
      apiVersion,
      subresource,
    };
    const id = ownerId(owner);
    const fields = fieldUnion(changed, result.get(id)?.fields ?? emptySet);
    result.set(id, { owner, fields: unlessEqual(owners.get(id)?.fields, fields), time: now });
  }
  return encodeOwners(withMergedOldUpdaters(result));
}

function ownersBefore({ old, object, subresource }: TrackedUpdate): FieldOwners {
  const isSubresource = subresource !== undefined && subresource !== "";
  const entries = object.metadata.managedFields;
  if (!isSubresource && entries !== undefined && entries !== null) {
    // Most clients send back the managed fields they read.
    if (isEqual(entries, old?.metadata.managedFields)) return decodeOwners(old?.metadata.managedFields) ?? new Map();
    if (entries.length === 0 || (entries.length === 1 && isEmptyEntry(entries[0]))) return new Map();
    const own = decodeOwners(entries);
    if (own !== undefined && own.size > 0) return own;
  }
  return decodeOwners(old?.metadata.managedFields) ?? new Map();
}

const isEmptyEntry = (entry: ManagedFieldsEntry | undefined): boolean =>
  isFields(entry) && Object.keys(entry).length === 0;

/** Merges the oldest update entries of a version into `ancient-changes` when there are more than ten. */
function withMergedOldUpdaters(owners: ReadonlyMap<string, FieldOwnership>): FieldOwners {
  const updaters = [...owners].filter(([, { owner }]) => owner.operation === "Update");
  if (updaters.length <= maxUpdateManagers) return owners;
  const result = new Map(owners);
  const firstOf = new Map<string, string>();
  let count = updaters.length;
  for (const [id, ownership] of updaters.toSorted(
    ([a, { time: ta }], [b, { time: tb }]) => secondsOf(ta) - secondsOf(tb) || compareOptionalStrings(a, b),
  )) {
    if (count <= maxUpdateManagers) break;
    const { apiVersion } = ownership.owner;
    const first = firstOf.get(apiVersion);
    if (first === undefined) {
      firstOf.set(apiVersion, id);
      continue;
    }
    const owner: FieldOwner = { manager: "ancient-changes", operation: "Update", apiVersion };
    const bucket = ownerId(owner);
    const before = result.get(bucket) ?? result.get(first);
    if (!result.has(bucket)) result.delete(first);
    result.delete(id);
    const fields = fieldUnion(ownership.fields, before?.fields ?? emptySet);
    result.set(bucket, { owner, fields, time: ownership.time });
    count -= 1;
  }
  return result;
}
