import { compareStrings } from "@tmc/kube/compare.ts";
import type { JsonObject, KubeObject, ManagedFieldsEntry } from "@tmc/kube/kube-object.ts";
import { freezeJson } from "../frozen-json.ts";
import {
  decodeFields,
  difference,
  differenceWithChildren,
  emptySet,
  encodeFields,
  type FieldSet,
  fieldElement,
  fieldSet,
  intersection,
  isEmptySet,
  union,
  unlessEqual,
} from "./field-set.ts";
import { isEqual, isObject } from "./json-value.ts";
import type { Schema } from "./schema.ts";
import { type Comparison, compareValues, emptyObject, shapeOf } from "./typed-value.ts";

/** Who owns fields: one manager with one operation, through one version and subresource. */
export type Owner = Readonly<{
  manager: string;
  operation: "Apply" | "Update";
  apiVersion: string;
  subresource?: string | undefined;
}>;
export type Ownership = Readonly<{ owner: Owner; fields: FieldSet; time?: string | undefined }>;
/** All owners of an object's fields, by their identity. */
export type Owners = ReadonlyMap<string, Ownership>;

/** Whoever applies keeps one entry whatever version it applies in; updates have one per version. */
export function ownerId({ manager, operation, apiVersion, subresource }: Owner): string {
  return JSON.stringify([manager, operation, operation === "Apply" ? "" : apiVersion, subresource ?? ""]);
}

/** Reads an object's managed fields; answers undefined when an entry cannot be understood. */
export function decodeOwners(entries: readonly ManagedFieldsEntry[] | undefined): Owners | undefined {
  const owners = new Map<string, Ownership>();
  for (const entry of entries ?? []) {
    const { manager = "", operation, apiVersion = "", fieldsType, fieldsV1 = {}, subresource, time } = entry;
    const fields = decodedFields(fieldsV1);
    if (operation !== "Apply" && operation !== "Update") return undefined;
    if (apiVersion === "" || fieldsType !== "FieldsV1" || fields === undefined) return undefined;
    const owner: Owner = { manager, operation, apiVersion, subresource };
    owners.set(ownerId(owner), { owner, fields, time });
  }
  return owners;
}

/** Writes managed fields in the server's order: by operation, time, manager, version, subresource. */
export function encodeOwners(owners: Owners): ManagedFieldsEntry[] {
  return [...owners.values()]
    .map(encodeOwnership)
    .toSorted(
      (a, b) =>
        compareTexts(a.operation, b.operation) ||
        secondsOf(a.time) - secondsOf(b.time) ||
        compareTexts(a.manager, b.manager) ||
        compareTexts(a.apiVersion, b.apiVersion) ||
        compareTexts(a.subresource, b.subresource),
    );
}

const compareTexts = (a = "", b = ""): number => compareStrings(a, b);
const secondsOf = (time: string | undefined): number => (time === undefined ? 0 : Math.floor(Date.parse(time) / 1000));

function encodeOwnership({ owner, fields, time }: Ownership): ManagedFieldsEntry {
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
 * Most entries stay as they are from one write to the next: what was read or written once is not done again. Whoever has it
 * shares it, so it is frozen.
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
  // Only what cannot change any more may be remembered by its identity.
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

/** What nobody is said to own: what the server sets, and what makes the object this object. */
const unowned = fieldSet(
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

export const withoutUnowned = (fields: FieldSet): FieldSet => difference(fields, unowned);

/** Fields that a request cannot set, whatever it says: status through the object itself, all else through status. */
export function resetFields(subresource: string | undefined): readonly (readonly string[])[] {
  if (subresource === undefined || subresource === "") return [["status"]];
  return subresource === "status" ? [["spec"], ["metadata"]] : [];
}

/** Leaves the fields that a request cannot set out of what it changed. */
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

/** What a change takes from the owners other than `self`: fields that it set anew or removed. Owners of nothing go. */
export function withoutTaken(owners: Owners, comparison: Comparison, self?: string): Map<string, Ownership> {
  const touched = union(union(comparison.modified, comparison.added), comparison.removed);
  const result = new Map<string, Ownership>();
  for (const [id, ownership] of owners) {
    const isUntouched = id === self || isEmptySet(intersection(ownership.fields, touched));
    const kept = isUntouched ? ownership : { ...ownership, fields: difference(ownership.fields, touched) };
    if (!isEmptySet(kept.fields)) result.set(id, kept);
  }
  return result;
}

/** Which owners other than `self` have fields that a change sets to something else. */
export function takenFrom(owners: Owners, comparison: Comparison, self: string): Map<string, FieldSet> {
  const changed = union(comparison.modified, comparison.added);
  const taken = new Map<string, FieldSet>();
  for (const [id, { fields }] of owners) {
    if (id === self) continue;
    const common = intersection(fields, changed);
    if (!isEmptySet(common)) taken.set(id, common);
  }
  return taken;
}

export function filteredComparison(comparison: Comparison, reset: readonly (readonly string[])[]): Comparison {
  return {
    added: withoutReset(comparison.added, reset),
    modified: withoutReset(comparison.modified, reset),
    removed: withoutReset(comparison.removed, reset),
  };
}

/** As many update managers as an object keeps apart. */
const maxUpdateManagers = 10;

export type TrackedUpdate = Readonly<{
  schema: Schema;
  /** As it was; absent for a creation. */
  old?: KubeObject | undefined;
  /** As it will be stored. Its own managed fields count, so that a client may edit or (with an empty entry) drop them. */
  object: KubeObject;
  manager: string;
  subresource?: string | undefined;
  apiVersion: string;
  now: string;
  /** Paths that this request cannot set. @default status for the object, spec and metadata for its status */
  reset?: readonly (readonly string[])[] | undefined;
}>;

/** Tells who owns which field after a create, an update or a patch other than an apply: the writer has what it changed. */
export function trackUpdate(update: TrackedUpdate): ManagedFieldsEntry[] {
  const { schema, old, object, manager, subresource, apiVersion, now } = update;
  const owners = ownersBefore(update);
  // Nobody has been kept track of: that only begins with a creation or an apply.
  if (owners.size === 0 && old !== undefined) return [];

  const reset = update.reset ?? resetFields(subresource);
  const whole = compareValues(
    shapeOf(schema),
    old === undefined ? emptyObject(schema) : withoutManagedFields(old),
    withoutManagedFields(object),
  );
  const comparison = filteredComparison(whole, reset);
  const result = withoutTaken(owners, comparison);
  const changed = withoutUnowned(union(comparison.modified, comparison.added));
  if (!isEmptySet(changed)) {
    const owner: Owner = {
      manager: manager === "" ? "unknown" : manager,
      operation: "Update",
      apiVersion,
      subresource,
    };
    const id = ownerId(owner);
    const fields = union(changed, result.get(id)?.fields ?? emptySet);
    result.set(id, { owner, fields: unlessEqual(owners.get(id)?.fields, fields), time: now });
  }
  return encodeOwners(withoutAncient(result));
}

function ownersBefore({ old, object, subresource }: TrackedUpdate): Owners {
  const isSubresource = subresource !== undefined && subresource !== "";
  const entries = object.metadata.managedFields;
  if (!isSubresource && entries !== undefined && entries !== null) {
    // Most clients hand back what they were given.
    if (isEqual(entries, old?.metadata.managedFields)) return decodeOwners(old?.metadata.managedFields) ?? new Map();
    if (entries.length === 0 || (entries.length === 1 && isEmptyEntry(entries[0]))) return new Map();
    const own = decodeOwners(entries);
    if (own !== undefined && own.size > 0) return own;
  }
  return decodeOwners(old?.metadata.managedFields) ?? new Map();
}

const isEmptyEntry = (entry: ManagedFieldsEntry | undefined): boolean =>
  isObject(entry) && Object.keys(entry).length === 0;

/** Beyond ten updaters the oldest ones of a version become one, called `ancient-changes`. */
function withoutAncient(owners: ReadonlyMap<string, Ownership>): Owners {
  const updaters = [...owners].filter(([, { owner }]) => owner.operation === "Update");
  if (updaters.length <= maxUpdateManagers) return owners;
  const result = new Map(owners);
  const firstOf = new Map<string, string>();
  let count = updaters.length;
  for (const [id, ownership] of updaters.toSorted(
    ([a, { time: ta }], [b, { time: tb }]) => secondsOf(ta) - secondsOf(tb) || compareTexts(a, b),
  )) {
    if (count <= maxUpdateManagers) break;
    const { apiVersion } = ownership.owner;
    const first = firstOf.get(apiVersion);
    if (first === undefined) {
      firstOf.set(apiVersion, id);
      continue;
    }
    const owner: Owner = { manager: "ancient-changes", operation: "Update", apiVersion };
    const bucket = ownerId(owner);
    const before = result.get(bucket) ?? result.get(first);
    if (!result.has(bucket)) result.delete(first);
    result.delete(id);
    const fields = union(ownership.fields, before?.fields ?? emptySet);
    result.set(bucket, { owner, fields, time: ownership.time });
    count -= 1;
  }
  return result;
}
