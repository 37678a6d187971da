import type { KubeObject, Status } from "@tmc/kube/kube-object.ts";
import { ApiFailure } from "../api-failure.ts";
import { applyProblem } from "./apply-problem.ts";
import {
  difference,
  type FieldPath,
  type FieldSet,
  formatPath,
  hasPath,
  intersection,
  isEmptySet,
  pathsOf,
  union,
  unlessEqual,
} from "./field-set.ts";
import { goJson, goQuote } from "./go-text.ts";
import { type Fields, fieldOf, isEqual, isObject } from "./json-value.ts";
import {
  decodeOwners,
  encodeOwners,
  filteredComparison,
  type Owner,
  type Owners,
  type Ownership,
  ownerId,
  resetFields,
  takenFrom,
  withoutManagedFields,
  withoutReset,
  withoutTaken,
  withoutUnowned,
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
  /** As it is stored; absent when the apply creates it. */
  live?: KubeObject | undefined;
  applied: KubeObject;
  manager: string;
  force: boolean;
  subresource?: string | undefined;
  now: string;
  /** Paths that this request cannot set. @default status for the object, spec and metadata for its status */
  reset?: readonly (readonly string[])[] | undefined;
}>;

/** Why an apply was refused: other managers own fields that it would set to something else. */
export type ApplyConflicts = Readonly<{
  message: string;
  causes: NonNullable<NonNullable<Status["details"]>["causes"]>;
}>;

export type ApplyResult =
  | Readonly<{ object: KubeObject; conflicts?: undefined }>
  | Readonly<{ object?: undefined; conflicts: ApplyConflicts }>;

/**
 * Merges an applied configuration into the live object: the manager then owns exactly what it applied, fields that it
 * applied before and no longer does go unless somebody else has them, and what others own is a conflict unless the values
 * are equal or the apply is forced. The answer has its managed fields, and no defaults yet. Fails (400, 500) with an
 * `ApiFailure` for what cannot be applied at all.
 */
export function serverSideApply(request: ApplyRequest): ApplyResult {
  const { schema, live, applied, manager } = request;
  const shape = shapeOf(schema);
  const { managedFields } = applied.metadata;
  if (managedFields !== undefined && managedFields !== null) {
    throw new ApiFailure(400, "BadRequest", "metadata.managedFields must be nil");
  }
  const problem = applyProblem(shape, applied);
  if (problem !== undefined) throw new ApiFailure(500, "", problem);

  const owners = ownersOf(request);
  const outcome = attempt(request, owners, request.force);
  if (outcome.conflicts.length === 0) return finished(request, outcome);
  const conflicts = manager === "kubectl" ? withoutLastApplied(shape, live, outcome.conflicts) : outcome.conflicts;
  if (conflicts.length > 0) return { conflicts: described(conflicts) };
  // All that conflicts was applied by kubectl itself, before it applied on the server's side.
  return finished(request, attempt(request, owners, true));
}

/** The 409 that a conflicting apply is answered with. */
export function conflictFailure({ message, causes }: ApplyConflicts): ApiFailure {
  return new ApiFailure(409, "Conflict", message, { causes });
}

/** What was there before anybody was kept track of belongs to one stand-in from the first apply on. */
function ownersOf({ schema, live, applied, now, subresource, reset }: ApplyRequest): Owners {
  const owners = decodeOwners(live?.metadata.managedFields);
  if (owners === undefined) throw new ApiFailure(500, "", "failed to decode managed fields");
  if (owners.size > 0 || live === undefined) return owners;
  const owner: Owner = {
    manager: "before-first-apply",
    operation: "Update",
    apiVersion: applied.apiVersion,
    subresource,
  };
  const { added, modified } = compareValues(shapeOf(schema), emptyObject(schema), withoutManagedFields(live));
  const fields = withoutUnowned(withoutReset(union(added, modified), reset ?? resetFields(subresource)));
  return isEmptySet(fields) ? owners : new Map([[ownerId(owner), { owner, fields, time: now }]]);
}

type Conflict = Readonly<{ owner: Owner; path: FieldPath }>;
type Outcome = Readonly<{
  object: Fields;
  owners: ReadonlyMap<string, Ownership>;
  isChanged: boolean;
  conflicts: readonly Conflict[];
}>;

function attempt(request: ApplyRequest, before: Owners, force: boolean): Outcome {
  const { schema, live, applied, manager, subresource } = request;
  const shape = shapeOf(schema);
  const reset = request.reset ?? resetFields(subresource);
  const owner: Owner = { manager, operation: "Apply", apiVersion: applied.apiVersion, subresource };
  const self = ownerId(owner);
  const last = before.get(self);

  const liveValue = withoutManagedFields(live);
  const fields = withoutReset(fieldSetOf(shape, applied), reset);
  const owners = new Map(before).set(self, { owner, fields, time: last?.time });
  const merged = mergeValues(shape, liveValue, applied);
  const object =
    last === undefined ? merged : withoutDropped({ shape, merged, owners, last: last.fields, now: fields });

  const comparison = filteredComparison(compareValues(shape, liveValue, object), reset);
  const taken = takenFrom(owners, comparison, self);
  const conflicts = force
    ? []
    : [...taken].flatMap(([id, set]) => {
        const other = owners.get(id)?.owner;
        return other === undefined ? [] : pathsOf(set).map((path) => ({ owner: other, path }));
      });
  return {
    object: isObject(object) ? object : {},
    owners: withStrippedSelf(withoutTaken(owners, comparison, self), self, last?.fields),
    isChanged: !isEqual(object, liveValue),
    conflicts,
  };
}

function withStrippedSelf(
  owners: Map<string, Ownership>,
  self: string,
  last: FieldSet | undefined,
): Map<string, Ownership> {
  const own = owners.get(self);
  if (own === undefined) return owners;
  const fields = unlessEqual(last, withoutUnowned(own.fields));
  if (isEmptySet(fields)) owners.delete(self);
  else owners.set(self, { ...own, fields });
  return owners;
}

type Dropping = Readonly<{ shape: Shape; merged: unknown; owners: Owners; last: FieldSet; now: FieldSet }>;

/** Removes what the manager applied last time and not this time, except where anybody owns it. */
function withoutDropped({ shape, merged, owners, last, now }: Dropping): unknown {
  if (isEmptySet(difference(last, now))) return merged;
  const lastSet = withNamedParents(shape, last);
  const without = removeFields(shape, merged, lastSet);
  const mergedSet = withNamedParents(shape, fieldSetOf(shape, merged));
  const withoutSet = withNamedParents(shape, fieldSetOf(shape, without));
  let owned: FieldSet = withoutSet;
  for (const { fields } of owners.values()) owned = union(owned, withNamedParents(shape, fields));
  const pruned = removeFields(shape, merged, difference(mergedSet, owned));
  // What went only because something around it did, and was never the manager's, comes back.
  const prunedSet = withNamedParents(shape, fieldSetOf(shape, pruned));
  return removeFields(shape, merged, intersection(difference(mergedSet, prunedSet), lastSet)) ?? {};
}

function finished({ live, applied, manager, subresource, now }: ApplyRequest, outcome: Outcome): ApplyResult {
  const owners = new Map(outcome.owners);
  const self = ownerId({ manager, operation: "Apply", apiVersion: applied.apiVersion, subresource });
  const own = owners.get(self);
  // An apply that changes nothing leaves no trace in time.
  if (own !== undefined && outcome.isChanged) owners.set(self, { ...own, time: now });
  const object = outcome.isChanged ? outcome.object : withoutManagedFields(live);
  const metadata = Object.entries(isObject(object.metadata) ? object.metadata : {}).filter(
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

function described(conflicts: readonly Conflict[]): ApplyConflicts {
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

/** The server sorts managers by their identity as JSON, whose fields come in this order. */
const sortKey = (owner: Owner | undefined): string =>
  owner === undefined
    ? ""
    : JSON.stringify({
        manager: owner.manager,
        operation: owner.operation,
        ...(owner.operation === "Apply" ? {} : { apiVersion: owner.apiVersion }),
        ...(owner.subresource === undefined ? {} : { subresource: owner.subresource }),
      });

function formatOwner({ manager, operation, apiVersion, subresource }: Owner): string {
  const through = subresource === undefined || subresource === "" ? "" : ` with subresource ${goQuote(subresource)}`;
  return `${goQuote(manager)}${through}${operation === "Update" ? ` using ${apiVersion}` : ""}`;
}

const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

function lastAppliedOf(object: Fields): string | undefined {
  const metadata = fieldOf(object, "metadata");
  const annotations = isObject(metadata) ? metadata.annotations : undefined;
  const text = isObject(annotations) ? fieldOf(annotations, lastAppliedAnnotation) : undefined;
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** Leaves out conflicts over fields that kubectl applied on its own side and nobody has changed since. */
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
  if (!isObject(last) || last.apiVersion !== live.apiVersion) return conflicts;
  const { added, modified, removed } = compareValues(shape, last, live);
  const allowed = difference(fieldSetOf(shape, last), union(union(added, modified), removed));
  return conflicts.filter(({ path }) => !hasPath(allowed, path));
}

/** Keeps kubectl's own record in step, for people who go back and forth between the two ways to apply. */
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
