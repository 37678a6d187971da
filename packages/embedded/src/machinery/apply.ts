import { type Fields, isFields } from "@tmc/kube/json.ts";
import type { KubeObject, Status } from "@tmc/kube/kube-object.ts";
import { ApiFailure } from "./api-errors.ts";
import { applyErrorMessage } from "./apply-error.ts";
import {
  type FieldPath,
  type FieldSet,
  fieldDifference,
  fieldIntersection,
  fieldUnion,
  formatPath,
  hasPath,
  isEmptySet,
  pathsOf,
  unlessEqual,
} from "./field-set.ts";
import { goJson, goQuote } from "./go-text.ts";
import { fieldOf, isEqual } from "./json-value.ts";
import {
  conflictingFields,
  decodeOwners,
  encodeOwners,
  type FieldOwner,
  type FieldOwners,
  type FieldOwnership,
  filteredComparison,
  ownerId,
  resetFields,
  withoutChangedFields,
  withoutManagedFields,
  withoutReset,
  withoutServerOwnedFields,
} from "./managed-fields.ts";
import type { Schema } from "./schema.ts";
import {
  compareValues,
  emptyObject,
  fieldSetOf,
  mergeValues,
  removeFields,
  type Shape,
  shapeOf,
  withNamedParents,
} from "./typed-value.ts";

export type ApplyRequest = Readonly<{
  schema: Schema;
  /** The stored object; absent if the apply creates it. */
  live?: KubeObject | undefined;
  applied: KubeObject;
  manager: string;
  force: boolean;
  subresource?: string | undefined;
  now: string;
  /** Paths that this request cannot set. @default status for the object, spec and metadata for its status */
  reset?: readonly (readonly string[])[] | undefined;
}>;

/** Conflicts with other managers that own fields with other values. */
export type ApplyConflicts = Readonly<{
  message: string;
  causes: NonNullable<NonNullable<Status["details"]>["causes"]>;
}>;

export type ApplyResult =
  | Readonly<{ object: KubeObject; conflicts?: undefined }>
  | Readonly<{ object?: undefined; conflicts: ApplyConflicts }>;

/**
 * Server-side apply: merges an applied configuration into the live object. The manager then owns exactly the applied
 * fields. Fields that it applied before and omits now are removed unless another manager owns them. A field of another
 * manager is a conflict unless the values are equal or the apply is forced. The result has managed fields but no
 * defaults. Throws an `ApiFailure` (400, 500) for a configuration that cannot be applied.
 */
export function serverSideApply(request: ApplyRequest): ApplyResult {
  const { schema, live, applied, manager } = request;
  const shape = shapeOf(schema);
  const { managedFields } = applied.metadata;
  if (managedFields !== undefined && managedFields !== null) {
    throw new ApiFailure(400, "BadRequest", "metadata.managedFields must be nil");
  }
  const errorMessage = applyErrorMessage(shape, applied);
  if (errorMessage !== undefined) throw new ApiFailure(500, "", errorMessage);

  const owners = ownersOf(request);
  const outcome = attempt(request, owners, request.force);
  if (outcome.conflicts.length === 0) return applyResultOf(request, outcome);
  const conflicts = manager === "kubectl" ? withoutLastApplied(shape, live, outcome.conflicts) : outcome.conflicts;
  if (conflicts.length > 0) return { conflicts: describeConflicts(conflicts) };
  // kubectl itself set all conflicting fields with client-side apply.
  return applyResultOf(request, attempt(request, owners, true));
}

/** The 409 for a conflicting apply. */
export function conflictFailure({ message, causes }: ApplyConflicts): ApiFailure {
  return new ApiFailure(409, "Conflict", message, { causes });
}

/** On the first apply, all existing fields of an untracked object get one placeholder owner. */
function ownersOf({ schema, live, applied, now, subresource, reset }: ApplyRequest): FieldOwners {
  const owners = decodeOwners(live?.metadata.managedFields);
  if (owners === undefined) throw new ApiFailure(500, "", "failed to decode managed fields");
  if (owners.size > 0 || live === undefined) return owners;
  const owner: FieldOwner = {
    manager: "before-first-apply",
    operation: "Update",
    apiVersion: applied.apiVersion,
    subresource,
  };
  const { added, modified } = compareValues(shapeOf(schema), emptyObject(schema), withoutManagedFields(live));
  const fields = withoutServerOwnedFields(withoutReset(fieldUnion(added, modified), reset ?? resetFields(subresource)));
  return isEmptySet(fields) ? owners : new Map([[ownerId(owner), { owner, fields, time: now }]]);
}

type Conflict = Readonly<{ owner: FieldOwner; path: FieldPath }>;
type Outcome = Readonly<{
  object: Fields;
  owners: ReadonlyMap<string, FieldOwnership>;
  isChanged: boolean;
  conflicts: readonly Conflict[];
}>;

function attempt(request: ApplyRequest, before: FieldOwners, force: boolean): Outcome {
  const { schema, live, applied, manager, subresource } = request;
  const shape = shapeOf(schema);
  const reset = request.reset ?? resetFields(subresource);
  const owner: FieldOwner = { manager, operation: "Apply", apiVersion: applied.apiVersion, subresource };
  const self = ownerId(owner);
  const last = before.get(self);

  const liveValue = withoutManagedFields(live);
  const fields = withoutReset(fieldSetOf(shape, applied), reset);
  const owners = new Map(before).set(self, { owner, fields, time: last?.time });
  const merged = mergeValues(shape, liveValue, applied);
  const object =
    last === undefined ? merged : withoutAbandonedFields({ shape, merged, owners, last: last.fields, now: fields });

  const comparison = filteredComparison(compareValues(shape, liveValue, object), reset);
  const conflicting = conflictingFields(owners, comparison, self);
  const conflicts = force
    ? []
    : [...conflicting].flatMap(([id, set]) => {
        const other = owners.get(id)?.owner;
        return other === undefined ? [] : pathsOf(set).map((path) => ({ owner: other, path }));
      });
  return {
    object: isFields(object) ? object : {},
    owners: withOwnFieldsStripped(withoutChangedFields(owners, comparison, self), self, last?.fields),
    isChanged: !isEqual(object, liveValue),
    conflicts,
  };
}

function withOwnFieldsStripped(
  owners: Map<string, FieldOwnership>,
  self: string,
  last: FieldSet | undefined,
): Map<string, FieldOwnership> {
  const own = owners.get(self);
  if (own === undefined) return owners;
  const fields = unlessEqual(last, withoutServerOwnedFields(own.fields));
  if (isEmptySet(fields)) owners.delete(self);
  else owners.set(self, { ...own, fields });
  return owners;
}

type AbandonedFields = Readonly<{ shape: Shape; merged: unknown; owners: FieldOwners; last: FieldSet; now: FieldSet }>;

/** Removes fields that the manager applied last time but not this time, unless they have an owner. */
function withoutAbandonedFields({ shape, merged, owners, last, now }: AbandonedFields): unknown {
  if (isEmptySet(fieldDifference(last, now))) return merged;
  const lastSet = withNamedParents(shape, last);
  const without = removeFields(shape, merged, lastSet);
  const mergedSet = withNamedParents(shape, fieldSetOf(shape, merged));
  const withoutSet = withNamedParents(shape, fieldSetOf(shape, without));
  let owned: FieldSet = withoutSet;
  for (const { fields } of owners.values()) owned = fieldUnion(owned, withNamedParents(shape, fields));
  const pruned = removeFields(shape, merged, fieldDifference(mergedSet, owned));
  // Restores fields that were removed only with their parent and never belonged to the manager.
  const prunedSet = withNamedParents(shape, fieldSetOf(shape, pruned));
  return removeFields(shape, merged, fieldIntersection(fieldDifference(mergedSet, prunedSet), lastSet)) ?? {};
}

function applyResultOf({ live, applied, manager, subresource, now }: ApplyRequest, outcome: Outcome): ApplyResult {
  const owners = new Map(outcome.owners);
  const self = ownerId({ manager, operation: "Apply", apiVersion: applied.apiVersion, subresource });
  const own = owners.get(self);
  // An apply without changes keeps its timestamp.
  if (own !== undefined && outcome.isChanged) owners.set(self, { ...own, time: now });
  const object = outcome.isChanged ? outcome.object : withoutManagedFields(live);
  const metadata = Object.entries(isFields(object.metadata) ? object.metadata : {}).filter(
    ([, value]) => value !== null,
  );
  const entries = encodeOwners(owners);
  const result = {
    ...object,
    apiVersion: applied.apiVersion,
    kind: applied.kind,
    metadata: { ...Object.fromEntries(metadata), ...(entries.length === 0 ? {} : { managedFields: entries }) },
  };
  return { object: manager === "kubectl" ? withLastApplied(result, applied) : result };
}

function describeConflicts(conflicts: readonly Conflict[]): ApplyConflicts {
  const causes = conflicts.map(({ owner, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${formatOwner(owner)}`,
    field: formatPath(path),
  }));
  const [first] = causes;
  if (causes.length === 1 && first !== undefined) {
    return { message: `Apply failed with 1 conflict: ${first.message}: ${first.field}`, causes };
  }
  const groups = Map.groupBy(conflicts, ({ owner }) => ownerId(owner));
  const lines = [...groups.values()]
    .toSorted((a, b) => (sortKey(a[0]?.owner) < sortKey(b[0]?.owner) ? -1 : 1))
    .flatMap((group) => [
      `conflicts with ${group[0] === undefined ? "" : formatOwner(group[0].owner)}:`,
      ...group.map(({ path }) => `- ${formatPath(path)}`),
    ]);
  return { message: `Apply failed with ${causes.length} conflicts: ${lines.join("\n")}`, causes };
}

/** The server sorts managers by their JSON identity, with fields in this order. */
const sortKey = (owner: FieldOwner | undefined): string =>
  owner === undefined
    ? ""
    : JSON.stringify({
        manager: owner.manager,
        operation: owner.operation,
        ...(owner.operation === "Apply" ? {} : { apiVersion: owner.apiVersion }),
        ...(owner.subresource === undefined ? {} : { subresource: owner.subresource }),
      });

function formatOwner({ manager, operation, apiVersion, subresource }: FieldOwner): string {
  const through = subresource === undefined || subresource === "" ? "" : ` with subresource ${goQuote(subresource)}`;
  return `${goQuote(manager)}${through}${operation === "Update" ? ` using ${apiVersion}` : ""}`;
}

const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

function lastAppliedOf(object: Fields): string | undefined {
  const metadata = fieldOf(object, "metadata");
  const annotations = isFields(metadata) ? metadata.annotations : undefined;
  const text = isFields(annotations) ? fieldOf(annotations, lastAppliedAnnotation) : undefined;
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** Drops conflicts about fields that kubectl set with client-side apply and that have not changed since. */
function withoutLastApplied(
  shape: Shape,
  live: KubeObject | undefined,
  conflicts: readonly Conflict[],
): readonly Conflict[] {
  const text = live === undefined ? undefined : lastAppliedOf(live);
  if (live === undefined || text === undefined) return conflicts;
  let last: unknown;
  try {
    last = JSON.parse(text);
  } catch {
    return conflicts;
  }
  if (!isFields(last) || last.apiVersion !== live.apiVersion) return conflicts;
  const { added, modified, removed } = compareValues(shape, last, live);
  const allowed = fieldDifference(fieldSetOf(shape, last), fieldUnion(fieldUnion(added, modified), removed));
  return conflicts.filter(({ path }) => !hasPath(allowed, path));
}

/** Updates kubectl's last-applied annotation, for users who alternate between client-side and server-side apply. */
function withLastApplied(object: KubeObject, applied: KubeObject): KubeObject {
  if (lastAppliedOf(object) === undefined) return object;
  const { [lastAppliedAnnotation]: _, ...annotations } = applied.metadata.annotations ?? {};
  const recorded: Fields = {
    ...applied,
    metadata: {
      ...applied.metadata,
      ...(applied.metadata.annotations === undefined ? {} : { annotations }),
    },
  };
  const text = `${goJson(recorded)}\n`;
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [lastAppliedAnnotation]: text } },
  };
}
