import { isFields } from "@tmc/kube/json.ts";
import type { KubeObject, Status } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import { conflict, forbiddenObject, invalidOptions } from "../machinery/api-errors.ts";
import { invalid } from "../machinery/field-error.ts";
import { isEqual, isList } from "../machinery/json-value.ts";
import { cloneJson } from "./frozen-json.ts";
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
import { toServedVersion } from "./selection.ts";

const protectedNamespaces = new Set(["default", "kube-system", "kube-public"]);
const defaultGraceSeconds = 30;

/**
 * Deletes an object, or marks it for deletion if it has finalizers or a grace period. Returns the object or a Status.
 */
export function deleteObject(
  core: OperationsCore,
  target: ObjectTarget,
  options: DeleteRequest,
  context: WriteContext,
): KubeObject | Status {
  const { definition, name } = target;
  const stored = existingObject(core, target);
  if (isNamespaces(definition) && protectedNamespaces.has(name)) {
    throw forbiddenObject(definition, name, "this namespace may not be deleted");
  }
  checkPreconditions(definition, stored, options);
  const existing = cloneJson(stored);
  definition.hooks?.prepareDelete?.(existing, hookContext(core, target, context));
  const now = core.clock.now();
  const save = (object: KubeObject): KubeObject => {
    if (isEqual(object, stored)) return toServedVersion(definition, stored);
    return toServedVersion(definition, context.dryRun === true ? object : core.store.put(storeKey(target), object));
  };

  if (isNamespaces(definition)) {
    if (existing.metadata.deletionTimestamp === undefined) return save(terminating(existing, options, now));
    if (namespaceFinalizers(existing).length > 0) return toServedVersion(definition, existing);
  }

  const deleting = cloneJson(existing);
  setFinalizers(deleting, deletionFinalizers(definition, existing, options));
  const pending = (deleting.metadata.finalizers?.length ?? 0) > 0;

  if (isPods(definition)) {
    const gracePeriod = gracePeriodOf(existing, options, now);
    if (gracePeriod === "pending") return toServedVersion(definition, existing);
    if (gracePeriod !== undefined) {
      deleting.metadata.deletionTimestamp = gracePeriod.deletionTimestamp;
      deleting.metadata.deletionGracePeriodSeconds = gracePeriod.seconds;
      if (existing.metadata.deletionTimestamp === undefined) incrementGeneration(deleting);
      const kept = save(deleting);
      // With a grace period of 0, watchers first see the pod terminating, then deleted.
      if (gracePeriod.seconds > 0 || pending) return kept;
      return remove(core, target, context, kept);
    }
  }
  if (!pending) return remove(core, target, context, deleting);

  if (deleting.metadata.deletionTimestamp === undefined) incrementGeneration(deleting);
  const { deletionTimestamp } = deleting.metadata;
  if (deletionTimestamp === undefined || Date.parse(deletionTimestamp) > now) {
    deleting.metadata.deletionTimestamp = timestamp(now);
  }
  deleting.metadata.deletionGracePeriodSeconds = 0;
  return save(deleting);
}

function remove(
  core: OperationsCore,
  target: ObjectTarget,
  context: WriteContext,
  last: KubeObject,
): KubeObject | Status {
  const { definition, name } = target;
  const removed = context.dryRun === true ? last : core.store.delete(storeKey(target));
  if (isReturnedOnDelete(definition)) return toServedVersion(definition, removed ?? last);
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
    const failed = (field: string, expected: string, found = ""): string =>
      `Precondition failed: ${field} in precondition: ${expected}, ${field} in object meta: ${found}`;
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

/** For historical reasons these types orphan their dependents by default. */
const orphansByDefault = ({ flavor, group, plural }: ResourceDefinition): boolean =>
  flavor === "builtin" &&
  ((group === "batch" && plural === "jobs") || (group === "" && plural === "replicationcontrollers"));

function deletionFinalizers(
  definition: ResourceDefinition,
  { metadata }: KubeObject,
  { propagationPolicy }: DeleteRequest,
): string[] {
  const { group, plural } = definition;
  const present = metadata.finalizers ?? [];
  // Events have no dependents.
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
  const policyFinalizers = policy === "Orphan" ? ["orphan"] : policy === "Foreground" ? ["foregroundDeletion"] : [];
  const changed = [...others, ...policyFinalizers];
  return isEqual(changed.toSorted(), present.toSorted()) ? present : changed;
}

function setFinalizers({ metadata }: KubeObject, finalizers: string[]): void {
  if (finalizers.length === 0) delete metadata.finalizers;
  else metadata.finalizers = finalizers;
}

/** A deletion changes the desired state and therefore the generation. */
function incrementGeneration({ metadata }: KubeObject): void {
  if (metadata.generation !== undefined && metadata.generation > 0) metadata.generation += 1;
}

function terminating(existing: KubeObject, options: DeleteRequest, now: number): KubeObject {
  const deleting = cloneJson(existing);
  deleting.metadata.deletionTimestamp = timestamp(now);
  const status = isFields(existing.status) ? existing.status : {};
  deleting.status = { ...status, phase: "Terminating" };
  const others = (existing.metadata.finalizers ?? []).filter(
    (name) => name !== "orphan" && name !== "foregroundDeletion",
  );
  const { propagationPolicy } = options;
  setFinalizers(deleting, [
    ...others,
    ...(propagationPolicy === "Orphan" ? ["orphan"] : []),
    ...(propagationPolicy === "Foreground" ? ["foregroundDeletion"] : []),
  ]);
  return deleting;
}

function namespaceFinalizers({ spec }: KubeObject): readonly unknown[] {
  const finalizers = isFields(spec) ? spec.finalizers : undefined;
  return isList(finalizers) ? finalizers : [];
}

type Grace = Readonly<{ seconds: number; deletionTimestamp: string }>;

/** The grace period of a pod's deletion; undefined if it has already passed. */
function gracePeriodOf(
  { metadata, spec, status }: KubeObject,
  options: DeleteRequest,
  now: number,
): Grace | "pending" | undefined {
  const requested = options.gracePeriodSeconds;
  if (requested !== undefined && !Number.isInteger(requested)) {
    throw invalidOptions("DeleteOptions", [invalid("gracePeriodSeconds", requested, "must be an integer")]);
  }
  const requestedSeconds = requested !== undefined && requested < 0 ? 1 : requested;
  if (metadata.deletionTimestamp !== undefined) {
    const remainingSeconds = metadata.deletionGracePeriodSeconds ?? 0;
    if (remainingSeconds === 0) return undefined;
    if (requestedSeconds === undefined || requestedSeconds >= remainingSeconds) return "pending";
    const startedAt = Date.parse(metadata.deletionTimestamp) - remainingSeconds * 1000;
    const until = startedAt + requestedSeconds * 1000;
    if (until >= now) return { seconds: requestedSeconds, deletionTimestamp: timestamp(until) };
    return { seconds: requestedSeconds === 0 ? 0 : 1, deletionTimestamp: timestamp(now) };
  }
  const phase = isFields(status) ? status.phase : undefined;
  const specSeconds = isFields(spec) ? spec.terminationGracePeriodSeconds : undefined;
  const isAssigned = isFields(spec) && typeof spec.nodeName === "string" && spec.nodeName !== "";
  const isFinished = phase === "Failed" || phase === "Succeeded";
  const runningSeconds = requestedSeconds ?? (typeof specSeconds === "number" ? specSeconds : defaultGraceSeconds);
  const seconds = isAssigned && !isFinished ? runningSeconds : 0;
  return { seconds, deletionTimestamp: timestamp(now + seconds * 1000) };
}
