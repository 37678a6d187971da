import { type Fields, isFields } from "@tmc/kube/json.ts";
import type { KubeObject, ManagedFieldsEntry, ObjectMeta } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import {
  alreadyExists,
  conflict,
  forbiddenObject,
  invalidObject,
  modifiedMessage,
  objectNotFound,
  unexpectedError,
} from "../machinery/api-errors.ts";
import { withDefaults } from "../machinery/defaults.ts";
import { type FieldError, invalid } from "../machinery/field-error.ts";
import { isEqual, isList } from "../machinery/json-value.ts";
import { validateObject, validateStatus } from "../machinery/validate.ts";
import { setManagedFields, trackedFields } from "./field-ownership.ts";
import { cloneJson } from "./frozen-json.ts";
import { decoded, matchName, matchNamespace } from "./object-decoding.ts";
import { createMetadataErrors, finalizerWarnings, updateMetadataErrors } from "./object-metadata.ts";
import { generatedName, generatedUid } from "./object-names.ts";
import type { ObjectTarget, ResourceTarget, WriteContext } from "./operations.ts";
import {
  existingObject,
  generationCountsAnnotations,
  hookContext,
  isCreatedByUpdate,
  isNamespaces,
  keepsStatusOnCreate,
  needsResourceVersion,
  type OperationsCore,
  storeKey,
  timestamp,
} from "./operations-core.ts";
import { scaleErrors } from "./scale.ts";
import { servedApiVersion, toServedVersion, toStoredVersion } from "./selection.ts";
import type { StoreKey } from "./store.ts";

/** Attempts of a real server to find a free generated name. */
const nameAttempts = 8;

/** Creates an object: everything between the decoded body and the store. */
export function createObject(
  core: OperationsCore,
  target: ResourceTarget & { name?: string },
  input: KubeObject,
  context: UpdateContext,
): KubeObject {
  const { definition, logicalCluster } = target;
  const hooks = hookContext(core, target, context);
  const object = decoded(definition, input, context);
  wipeSystemFields(object.metadata);
  matchNamespace(target, object.metadata);
  if (definition.review !== undefined) {
    const reviewed = cloneJson(definition.review(object, hooks));
    setManagedFields(reviewed, trackedFields(definition, undefined, object, context, timestamp(hooks.now)));
    return reviewed;
  }

  requireActiveNamespace(core, target, object);
  const generateName = object.metadata.generateName ?? "";
  const generates = generateName !== "" && (object.metadata.name ?? "") === "";
  for (let attempt = 1; ; attempt += 1) {
    if (generates) object.metadata.name = generatedName(generateName, core.random);
    const name = object.metadata.name ?? "";
    const candidate = prepareNewObject(core, definition, object, context, hooks);
    throwIfInvalid(definition, name, [
      ...createMetadataErrors(definition, candidate),
      ...schemaErrors(definition, candidate),
    ]);

    const key = storeKey({ definition, logicalCluster, namespace: target.namespace, name });
    const existing = core.store.get(key);
    if (existing !== undefined) {
      if (generates && attempt < nameAttempts) continue;
      throw alreadyExists(definition, name, existing.metadata.deletionTimestamp !== undefined);
    }
    warnOfFinalizers(definition, candidate, undefined, context);
    if (context.dryRun === true) return withIdentityFirst(candidate);
    const created = core.store.put(key, withIdentityFirst(toStoredVersion(definition, candidate)));
    core.neverUpdated?.add(created);
    return toServedVersion(definition, created);
  }
}

/** The object as it will be stored, before validation. */
function prepareNewObject(
  core: OperationsCore,
  definition: ResourceDefinition,
  input: KubeObject,
  context: UpdateContext,
  hooks: ReturnType<typeof hookContext>,
): KubeObject {
  let object = cloneJson(input);
  const now = timestamp(hooks.now);
  object.metadata.uid = generatedUid(core.random);
  object.metadata.creationTimestamp = now;
  if (definition.withoutGeneration === true) delete object.metadata.generation;
  else object.metadata.generation = 1;
  delete object.metadata.resourceVersion;
  const resetsStatus = definition.status && !keepsStatusOnCreate(definition);
  if (resetsStatus) delete object.status;
  object = defaulted(definition, object);
  definition.hooks?.setDefaults?.(object);
  if (isNamespaces(definition)) setNamespaceNameLabel(object);
  const tracked = context.applied ?? trackedFields(definition, undefined, object, context, now);
  // Built-in types always have a status; custom types have none before the first status write.
  if (resetsStatus && definition.flavor === "builtin") object.status = {};
  else if (resetsStatus) delete object.status;
  if (isNamespaces(definition)) initializeNamespace(object);
  definition.hooks?.prepareCreate?.(object, hooks);
  setManagedFields(object, tracked);
  return object;
}

/** Sets schema defaults; the result is mutable. */
function defaulted({ schema }: ResourceDefinition, object: KubeObject): KubeObject {
  const filled = withDefaults(schema, object);
  return filled === object ? object : cloneJson(filled);
}

function initializeNamespace(object: KubeObject): void {
  const spec = isFields(object.spec) ? object.spec : {};
  const finalizers = isList(spec.finalizers) ? spec.finalizers : [];
  object.spec = { ...spec, finalizers: finalizers.includes("kubernetes") ? finalizers : [...finalizers, "kubernetes"] };
  object.status = { phase: "Active" };
}

function setNamespaceNameLabel({ metadata }: KubeObject): void {
  metadata.labels = { ...metadata.labels, "kubernetes.io/metadata.name": metadata.name ?? "" };
}

/** Context of a write. */
export type UpdateContext = WriteContext &
  Readonly<{
    subresource?: string | undefined;
    /** The managed fields, if server-side apply has already computed them. */
    applied?: readonly ManagedFieldsEntry[] | undefined;
  }>;

/** Replaces an object, or its status. */
export function updateObject(
  core: OperationsCore,
  target: ObjectTarget,
  input: KubeObject,
  context: UpdateContext,
): KubeObject {
  const { definition, name } = target;
  const object = decoded(definition, input, context);
  matchName(target, object.metadata);
  matchNamespace(target, object.metadata);
  const existing = core.store.get(storeKey(target));
  if (existing === undefined) {
    if (isCreatedByUpdate(definition) && context.subresource === undefined) {
      return createObject(core, target, object, context);
    }
    throw objectNotFound(definition, name);
  }
  const { uid } = object.metadata;
  if (uid !== undefined && uid !== "" && uid !== existing.metadata.uid) throw uidMismatch(target, uid, existing);
  return commitUpdate(core, target, toServedVersion(definition, existing), object, context);
}

/** Runs the checks and hooks of an update and stores the object; also used for patches. */
export function commitUpdate(
  core: OperationsCore,
  target: ObjectTarget,
  existing: KubeObject,
  input: KubeObject,
  context: UpdateContext,
): KubeObject {
  const { definition, name } = target;
  checkResourceVersion(target, existing, input);
  const hooks = hookContext(core, target, context);
  const now = timestamp(hooks.now);
  const isStatus = context.subresource === "status";
  let object = isStatus ? withNewStatus(definition, input, existing) : cloneJson(input);
  object.apiVersion = servedApiVersion(definition);
  object.kind = definition.kind;
  keepServerFields(object.metadata, existing.metadata);

  if (!isStatus && definition.status) restoreStatus(object, existing);
  if (isNamespaces(definition)) setNamespaceNameLabel(object);
  object = defaulted(definition, object);
  definition.hooks?.setDefaults?.(object);
  const tracked = context.applied ?? trackedFields(definition, existing, object, context, now);
  if (isNamespaces(definition) && context.subresource !== "finalize") object.spec = cloneJson(existing.spec ?? {});
  if (isStatus) definition.hooks?.prepareStatus?.(object, existing, hooks);
  else definition.hooks?.prepareUpdate?.(object, existing, hooks);
  setManagedFields(object, tracked);

  const errors = updateMetadataErrors(definition, object, existing);
  if (isStatus) {
    errors.push(...validateStatus(definition.schema, object, existing));
    if (definition.flavor !== "builtin") errors.push(...scaleErrors(definition, object, "status"));
  }
  if (!isStatus) errors.push(...schemaErrors(definition, object, existing));
  throwIfInvalid(definition, name, errors);

  const { generation } = existing.metadata;
  if (generation !== undefined && !isStatus && changesDesiredState(definition, object, existing)) {
    object.metadata.generation = generation + 1;
  }
  object.metadata.resourceVersion = existing.metadata.resourceVersion ?? "";
  if (isUnchanged(object, existing) && core.neverUpdated?.has(existing) !== true) return existing;
  warnOfFinalizers(definition, object, existing, context);
  if (isDeletionComplete(definition, object, existing)) {
    if (context.dryRun !== true) core.store.delete(storeKey(target));
    return withIdentityFirst(object);
  }
  if (context.dryRun === true) return withIdentityFirst(object);
  return putObject(core, definition, storeKey(target), object);
}

function putObject(
  core: OperationsCore,
  definition: ResourceDefinition,
  key: StoreKey,
  object: KubeObject,
): KubeObject {
  return toServedVersion(definition, core.store.put(key, withIdentityFirst(toStoredVersion(definition, object))));
}

/** Errors of schema validation; metadata of built-in types is validated separately. */
function schemaErrors(definition: ResourceDefinition, object: KubeObject, old?: KubeObject): FieldError[] {
  if (definition.flavor === "builtin") {
    // Built-in types accept duplicate keys in a list; a real server at most warns.
    const errors = validateObject(definition.schema, { ...object, metadata: {} }, old);
    return errors.filter(({ type }) => type !== "Duplicate");
  }
  return [...validateObject(definition.schema, object, old), ...scaleErrors(definition, object, "spec")];
}

function wipeSystemFields(metadata: ObjectMeta): void {
  delete metadata.uid;
  delete metadata.creationTimestamp;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.selfLink;
  delete metadata.resourceVersion;
}

function requireActiveNamespace(
  core: OperationsCore,
  { definition, logicalCluster, namespace }: ResourceTarget,
  object: KubeObject,
): void {
  if (!definition.namespaced || namespace === undefined) return;
  const namespaces = core.catalogOf(logicalCluster).find("", "v1", "namespaces");
  if (namespaces === undefined) return;
  const namespaceObject = core.store.get(storeKey({ definition: namespaces, logicalCluster, name: namespace }));
  if (namespaceObject === undefined) throw objectNotFound(namespaces, namespace);
  if (namespaceObject.metadata.deletionTimestamp === undefined) return;
  const name = object.metadata.name ?? object.metadata.generateName ?? "";
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  throw forbiddenObject(definition, name, why, [
    {
      reason: "NamespaceTerminating",
      message: `namespace ${namespace} is being terminated`,
      field: "metadata.namespace",
    },
  ]);
}

function uidMismatch({ definition, namespace, name }: ObjectTarget, uid: string, existing: KubeObject) {
  const { group, plural, flavor } = definition;
  const path = [flavor === "builtin" ? "" : group, plural, definition.namespaced ? namespace : "", name];
  const key = `/registry/${path.filter((part) => part !== undefined && part !== "").join("/")}`;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${existing.metadata.uid ?? ""}`;
  const message = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`;
  return conflict(group, plural, name, message);
}

function checkResourceVersion(
  { definition, name }: ObjectTarget,
  existing: KubeObject,
  { metadata }: KubeObject,
): void {
  const { group, plural } = definition;
  const requested = metadata.resourceVersion ?? "";
  if (requested !== "" && !/^\d+$/.test(requested)) {
    throw unexpectedError(`strconv.ParseUint: parsing "${requested}": invalid syntax`);
  }
  if (requested === "" || Number(requested) === 0) {
    if (!needsResourceVersion(definition)) return;
    const errors = [invalid("metadata.resourceVersion", 0, "must be specified for an update")];
    throw invalidObject({ group, kind: plural }, name, errors);
  }
  if (requested !== existing.metadata.resourceVersion) throw conflict(group, plural, name, modifiedMessage);
}

/** An update cannot change the creation time or revoke a deletion; omitted fields are kept. */
function keepServerFields(metadata: ObjectMeta, old: ObjectMeta): void {
  setOrDelete(metadata, "generation", old.generation);
  setOrDelete(metadata, "creationTimestamp", old.creationTimestamp);
  if ((metadata.uid ?? "") === "") setOrDelete(metadata, "uid", old.uid);
  if (old.deletionTimestamp !== undefined) metadata.deletionTimestamp = old.deletionTimestamp;
  if (metadata.deletionGracePeriodSeconds === undefined) {
    setOrDelete(metadata, "deletionGracePeriodSeconds", old.deletionGracePeriodSeconds);
  }
  delete metadata.selfLink;
}

function setOrDelete<K extends keyof ObjectMeta>(metadata: ObjectMeta, field: K, value: ObjectMeta[K]): void {
  if (value === undefined) delete metadata[field];
  else metadata[field] = value;
}

function withNewStatus({ flavor }: ResourceDefinition, input: KubeObject, existing: KubeObject): KubeObject {
  // A status write of a custom type changes only the status; one of a built-in type also changes metadata, except
  // labels.
  const metadata = flavor === "builtin" ? input.metadata : existing.metadata;
  const changed = cloneJson({ ...existing, metadata, status: input.status });
  setOrDelete(changed.metadata, "labels", cloneJson(existing.metadata.labels));
  return changed;
}

function restoreStatus(object: KubeObject, existing: KubeObject): void {
  if (existing.status === undefined) delete object.status;
  else object.status = cloneJson(existing.status);
}

function warnOfFinalizers(
  { flavor }: ResourceDefinition,
  { metadata }: KubeObject,
  existing: KubeObject | undefined,
  { warn }: WriteContext,
): void {
  if (flavor === "builtin" || warn === undefined) return;
  for (const warning of finalizerWarnings(metadata.finalizers, existing?.metadata.finalizers)) warn(warning);
}

function throwIfInvalid(definition: ResourceDefinition, name: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject(definition, name, errors);
}

/** Whether more than metadata and status changes, which increments the generation. */
function changesDesiredState(definition: ResourceDefinition, object: KubeObject, existing: KubeObject): boolean {
  if (generationCountsAnnotations(definition) && !isEqual(object.metadata.annotations, existing.metadata.annotations))
    return true;
  const desiredState = ({ metadata: _metadata, status, ...rest }: KubeObject): Fields =>
    definition.status || definition.flavor === "builtin" ? rest : { ...rest, status };
  return !isEqual(desiredState(object), desiredState(existing));
}

/** Whether a write changes nothing except timestamps in managedFields. */
function isUnchanged(object: KubeObject, existing: KubeObject): boolean {
  const timeless = ({ metadata: { managedFields, ...metadata }, ...rest }: KubeObject): Fields => ({
    ...rest,
    metadata,
    managedFields: (managedFields ?? []).map(({ time: _time, ...entry }) => entry),
  });
  return isEqual(timeless(object), timeless(existing));
}

/** Whether a terminating object has lost its last finalizer. */
function isDeletionComplete(definition: ResourceDefinition, object: KubeObject, existing: KubeObject): boolean {
  if ((object.metadata.finalizers?.length ?? 0) > 0) return false;
  if (existing.metadata.deletionTimestamp === undefined) return false;
  if ((existing.metadata.deletionGracePeriodSeconds ?? 0) !== 0) return false;
  if (!isNamespaces(definition)) return true;
  const finalizers = isFields(object.spec) ? object.spec.finalizers : undefined;
  return !isList(finalizers) || finalizers.length === 0;
}

/** apiVersion and kind come first: rendering a list cuts them off the text. */
function withIdentityFirst({ apiVersion, kind, metadata, ...rest }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata, ...rest };
}

export const readObject = (core: OperationsCore, target: ObjectTarget): KubeObject =>
  toServedVersion(target.definition, existingObject(core, target));
