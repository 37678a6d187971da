import type { KubeObject, Status } from "@tmc/kube/kube-object.ts";
import { conflict, forbiddenObject, invalidOptions } from "./api-errors.ts";
import type { ResourceDefinition } from "./definition.ts";
import { cloneJson } from "./frozen-json.ts";
import { invalid } from "./machinery/field-error.ts";
import { isEqual, isList, isObject } from "./machinery/json-value.ts";
import type { DeleteRequest, ObjectTarget, WriteContext } from "./operations.ts";
import {
  existingObject,
  hookContext,
  isNamespaces,
  isPods,
  isReturnedOnDelete,
  type OperationsCore,
  storeKey,
  timestamp,
} from "./operations-core.ts";
import { asVersion } from "./selection.ts";

const immortalNamespaces = new Set(["default", "kube-system", "kube-public"]);
const defaultGraceSeconds = 30;

/**
 * Deletes an object, or begins to: with finalizers or time to end it stays, marked, and is answered as it is then.
 */
export function deleteObject(
  core: OperationsCore,
  target: ObjectTarget,
  options: DeleteRequest,
  context: WriteContext,
): KubeObject | Status {
  const { definition, name } = target;
  const stored = existingObject(core, target);
  if (isNamespaces(definition) && immortalNamespaces.has(name)) {
    throw forbiddenObject(definition, name, "this namespace may not be deleted");
  }
  checkPreconditions(definition, stored, options);
  const existing = cloneJson(stored);
  definition.hooks?.prepareDelete?.(existing, hookContext(core, target, context));
  const now = core.clock.now();
  const keep = (object: KubeObject): KubeObject => {
    if (isEqual(object, stored)) return asVersion(definition, stored);
    return asVersion(definition, context.dryRun === true ? object : core.store.put(storeKey(target), object));
  };

  if (isNamespaces(definition)) {
    if (existing.metadata.deletionTimestamp === undefined) return keep(terminating(existing, options, now));
    if (namespaceFinalizers(existing).length > 0) return asVersion(definition, existing);
  }

  const marked = cloneJson(existing);
  setFinalizers(marked, deletionFinalizers(definition, existing, options));
  const pending = (marked.metadata.finalizers?.length ?? 0) > 0;

  if (isPods(definition)) {
    const graceful = grace(existing, options, now);
    if (graceful === "pending") return asVersion(definition, existing);
    if (graceful !== undefined) {
      marked.metadata.deletionTimestamp = graceful.deletionTimestamp;
      marked.metadata.deletionGracePeriodSeconds = graceful.seconds;
      if (existing.metadata.deletionTimestamp === undefined) countUp(marked);
      const kept = keep(marked);
      // Zero seconds of grace: seen as being deleted, and gone.
      if (graceful.seconds > 0 || pending) return kept;
      return remove(core, target, context, kept);
    }
  }
  if (!pending) return remove(core, target, context, marked);

  if (marked.metadata.deletionTimestamp === undefined) countUp(marked);
  const { deletionTimestamp } = marked.metadata;
  if (deletionTimestamp === undefined || Date.parse(deletionTimestamp) > now) {
    marked.metadata.deletionTimestamp = timestamp(now);
  }
  marked.metadata.deletionGracePeriodSeconds = 0;
  return keep(marked);
}

function remove(
  core: OperationsCore,
  target: ObjectTarget,
  context: WriteContext,
  last: KubeObject,
): KubeObject | Status {
  const { definition, name } = target;
  const removed = context.dryRun === true ? last : core.store.delete(storeKey(target));
  if (isReturnedOnDelete(definition)) return asVersion(definition, removed ?? last);
  const { group, plural } = definition;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name,
      ...(group === "" ? {} : { group }),
      kind: plural,
      ...(last.metadata.uid === undefined ? {} : { uid: last.metadata.uid }),
    },
  };
}

function checkPreconditions(definition: ResourceDefinition, { metadata }: KubeObject, options: DeleteRequest): void {
  const { group, kind, plural } = definition;
  const name = metadata.name ?? "";
  const { uid, resourceVersion } = options;
  if (isNamespaces(definition)) {
    const failed = (field: string, wanted: string, found = ""): string =>
      `Precondition failed: ${field} in precondition: ${wanted}, ${field} in object meta: ${found}`;
    if (uid !== undefined && uid !== metadata.uid)
      throw conflict(group, plural, name, failed("UID", uid, metadata.uid));
    if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
      throw conflict(group, plural, name, failed("ResourceVersion", resourceVersion, metadata.resourceVersion));
    }
    return;
  }
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid ?? ""}). The object might have been deleted and then recreated`;
    throw conflict(group, kind, name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion ?? ""}). The object might have been modified`;
    throw conflict(group, kind, name, why);
  }
}

/** These two leave their dependents behind unless told otherwise, as their first clients expected. */
const orphansByDefault = ({ flavour, group, plural }: ResourceDefinition): boolean =>
  flavour === "builtin" &&
  ((group === "batch" && plural === "jobs") || (group === "" && plural === "replicationcontrollers"));

function deletionFinalizers(
  definition: ResourceDefinition,
  { metadata }: KubeObject,
  { propagationPolicy }: DeleteRequest,
): string[] {
  const { group, plural } = definition;
  const present = metadata.finalizers ?? [];
  // Events cannot own anything.
  if (plural === "events" && (group === "" || group === "events.k8s.io")) return present;
  const policy =
    propagationPolicy ??
    (present.includes("orphan")
      ? "Orphan"
      : present.includes("foregroundDeletion")
        ? "Foreground"
        : orphansByDefault(definition)
          ? "Orphan"
          : undefined);
  const others = present.filter((name) => name !== "orphan" && name !== "foregroundDeletion");
  const wanted = policy === "Orphan" ? ["orphan"] : policy === "Foreground" ? ["foregroundDeletion"] : [];
  const changed = [...others, ...wanted];
  return isEqual(changed.toSorted(), present.toSorted()) ? present : changed;
}

function setFinalizers({ metadata }: KubeObject, finalizers: string[]): void {
  if (finalizers.length === 0) delete metadata.finalizers;
  else metadata.finalizers = finalizers;
}

/** A deletion changes what is wanted, so that it counts as a generation. */
function countUp({ metadata }: KubeObject): void {
  if (metadata.generation !== undefined && metadata.generation > 0) metadata.generation += 1;
}

function terminating(existing: KubeObject, options: DeleteRequest, now: number): KubeObject {
  const marked = cloneJson(existing);
  marked.metadata.deletionTimestamp = timestamp(now);
  const status = isObject(existing.status) ? existing.status : {};
  marked.status = { ...status, phase: "Terminating" };
  const others = (existing.metadata.finalizers ?? []).filter(
    (name) => name !== "orphan" && name !== "foregroundDeletion",
  );
  const { propagationPolicy } = options;
  setFinalizers(marked, [
    ...others,
    ...(propagationPolicy === "Orphan" ? ["orphan"] : []),
    ...(propagationPolicy === "Foreground" ? ["foregroundDeletion"] : []),
  ]);
  return marked;
}

function namespaceFinalizers({ spec }: KubeObject): readonly unknown[] {
  const finalizers = isObject(spec) ? spec.finalizers : undefined;
  return isList(finalizers) ? finalizers : [];
}

type Grace = Readonly<{ seconds: number; deletionTimestamp: string }>;

/** How long a pod may take to end; undefined when its time is up already. */
function grace(
  { metadata, spec, status }: KubeObject,
  options: DeleteRequest,
  now: number,
): Grace | "pending" | undefined {
  const asked = options.gracePeriodSeconds;
  if (asked !== undefined && !Number.isInteger(asked)) {
    throw invalidOptions("DeleteOptions", [invalid("gracePeriodSeconds", asked, "must be an integer")]);
  }
  const wanted = asked !== undefined && asked < 0 ? 1 : asked;
  if (metadata.deletionTimestamp !== undefined) {
    const left = metadata.deletionGracePeriodSeconds ?? 0;
    if (left === 0) return undefined;
    if (wanted === undefined || wanted >= left) return "pending";
    const begun = Date.parse(metadata.deletionTimestamp) - left * 1000;
    const until = begun + wanted * 1000;
    if (until >= now) return { seconds: wanted, deletionTimestamp: timestamp(until) };
    return { seconds: wanted === 0 ? 0 : 1, deletionTimestamp: timestamp(now) };
  }
  const phase = isObject(status) ? status.phase : undefined;
  const given = isObject(spec) ? spec.terminationGracePeriodSeconds : undefined;
  const isAssigned = isObject(spec) && typeof spec.nodeName === "string" && spec.nodeName !== "";
  const ended = phase === "Failed" || phase === "Succeeded";
  const ordinary = wanted ?? (typeof given === "number" ? given : defaultGraceSeconds);
  const seconds = isAssigned && !ended ? ordinary : 0;
  return { seconds, deletionTimestamp: timestamp(now + seconds * 1000) };
}
