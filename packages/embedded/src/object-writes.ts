import type { KubeObject, ManagedFieldsEntry, ObjectMeta } from "@tmc/kube/kube-object.ts";
import {
  alreadyExists,
  conflict,
  forbiddenObject,
  invalidObject,
  modifiedMessage,
  objectNotFound,
  unforeseen,
} from "./api-errors.ts";
import type { ResourceDefinition } from "./definition.ts";
import { setManagedFields, trackedFields } from "./field-ownership.ts";
import { cloneJson } from "./frozen-json.ts";
import { withDefaults } from "./machinery/defaults.ts";
import { type FieldError, invalid } from "./machinery/field-error.ts";
import { type Fields, isEqual, isList, isObject } from "./machinery/json-value.ts";
import { validateObject, validateStatus } from "./machinery/validate.ts";
import { decoded, matchName, matchNamespace } from "./object-decoding.ts";
import { createdMetadataErrors, finalizerWarnings, updatedMetadataErrors } from "./object-metadata.ts";
import { generatedName, generatedUid } from "./object-names.ts";
import type { ObjectTarget, Target, WriteContext } from "./operations.ts";
import {
  countsAnnotations,
  existingObject,
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
import { apiVersionOf, asStored, asVersion } from "./selection.ts";
import type { StoreKey } from "./store.ts";

/** As often as a real server tries to find a free generated name. */
const nameAttempts = 8;

/** Creates an object: everything between the decoded body and the store. */
export function createObject(
  core: OperationsCore,
  target: Target & { name?: string },
  input: KubeObject,
  context: UpdateContext,
): KubeObject {
  const { definition, cluster } = target;
  const hooks = hookContext(core, target, context);
  const object = decoded(definition, input, context);
  wipeSystemFields(object.metadata);
  matchNamespace(target, object.metadata);
  if (definition.review !== undefined) {
    const reviewed = cloneJson(definition.review(object, hooks));
    setManagedFields(reviewed, trackedFields(definition, undefined, object, context, timestamp(hooks.now)));
    return reviewed;
  }

  admitToNamespace(core, target, object);
  const generateName = object.metadata.generateName ?? "";
  const generates = generateName !== "" && (object.metadata.name ?? "") === "";
  for (let attempt = 1; ; attempt += 1) {
    if (generates) object.metadata.name = generatedName(generateName, core.random);
    const name = object.metadata.name ?? "";
    const candidate = prepared(core, definition, object, context, hooks);
    refuse(definition, name, [...createdMetadataErrors(definition, candidate), ...schemaErrors(definition, candidate)]);

    const key = storeKey({ definition, cluster, namespace: target.namespace, name });
    const taken = core.store.get(key);
    if (taken !== undefined) {
      if (generates && attempt < nameAttempts) continue;
      throw alreadyExists(definition, name, taken.metadata.deletionTimestamp !== undefined);
    }
    warnOfFinalizers(definition, candidate, undefined, context);
    if (context.dryRun === true) return inOrder(candidate);
    const made = core.store.put(key, inOrder(asStored(definition, candidate)));
    core.unwritten?.add(made);
    return asVersion(definition, made);
  }
}

/** The object as it would be stored, before validation. */
function prepared(
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
  if (isNamespaces(definition)) nameNamespace(object);
  const tracked = context.applied ?? trackedFields(definition, undefined, object, context, now);
  // Built-in types always have a status; custom ones have none until someone writes it.
  if (resetsStatus && definition.flavour === "builtin") object.status = {};
  else if (resetsStatus) delete object.status;
  if (isNamespaces(definition)) beginNamespace(object);
  definition.hooks?.prepareCreate?.(object, hooks);
  setManagedFields(object, tracked);
  return object;
}

/** The object with its defaults, to be changed freely: a new one only where there was something to fill in. */
function defaulted({ schema }: ResourceDefinition, object: KubeObject): KubeObject {
  const filled = withDefaults(schema, object);
  return filled === object ? object : cloneJson(filled);
}

function beginNamespace(object: KubeObject): void {
  const spec = isObject(object.spec) ? object.spec : {};
  const finalizers = isList(spec.finalizers) ? spec.finalizers : [];
  object.spec = { ...spec, finalizers: finalizers.includes("kubernetes") ? finalizers : [...finalizers, "kubernetes"] };
  object.status = { phase: "Active" };
}

function nameNamespace({ metadata }: KubeObject): void {
  metadata.labels = { ...metadata.labels, "kubernetes.io/metadata.name": metadata.name ?? "" };
}

/** What a write is told besides the object. */
export type UpdateContext = WriteContext &
  Readonly<{
    subresource?: string | undefined;
    /** Who owns which field, where server-side apply has found it out already. */
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
  return commitUpdate(core, target, asVersion(definition, existing), object, context);
}

/** Carries a changed object through the rules of updates into the store; patches come here too. */
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
  let object = isStatus ? statusChange(definition, input, existing) : cloneJson(input);
  object.apiVersion = apiVersionOf(definition);
  object.kind = definition.kind;
  carryOver(object.metadata, existing.metadata);

  if (!isStatus && definition.status) restoreStatus(object, existing);
  if (isNamespaces(definition)) nameNamespace(object);
  object = defaulted(definition, object);
  definition.hooks?.setDefaults?.(object);
  const tracked = context.applied ?? trackedFields(definition, existing, object, context, now);
  if (isNamespaces(definition) && context.subresource !== "finalize") object.spec = cloneJson(existing.spec ?? {});
  if (isStatus) definition.hooks?.prepareStatus?.(object, existing, hooks);
  else definition.hooks?.prepareUpdate?.(object, existing, hooks);
  setManagedFields(object, tracked);

  const errors = updatedMetadataErrors(definition, object, existing);
  if (isStatus) {
    errors.push(...validateStatus(definition.schema, object, existing));
    if (definition.flavour !== "builtin") errors.push(...scaleErrors(definition, object, "status"));
  }
  if (!isStatus) errors.push(...schemaErrors(definition, object, existing));
  refuse(definition, name, errors);

  const { generation } = existing.metadata;
  if (generation !== undefined && !isStatus && wantsSomethingElse(definition, object, existing)) {
    object.metadata.generation = generation + 1;
  }
  object.metadata.resourceVersion = existing.metadata.resourceVersion ?? "";
  if (isUnchanged(object, existing) && core.unwritten?.has(existing) !== true) return existing;
  warnOfFinalizers(definition, object, existing, context);
  if (isFinished(definition, object, existing)) {
    if (context.dryRun !== true) core.store.delete(storeKey(target));
    return inOrder(object);
  }
  if (context.dryRun === true) return inOrder(object);
  return stored(core, definition, storeKey(target), object);
}

function stored(core: OperationsCore, definition: ResourceDefinition, key: StoreKey, object: KubeObject): KubeObject {
  return asVersion(definition, core.store.put(key, inOrder(asStored(definition, object))));
}

/** What the schema says; metadata of built-in types has rules of its own. */
function schemaErrors(definition: ResourceDefinition, object: KubeObject, old?: KubeObject): FieldError[] {
  if (definition.flavour === "builtin") {
    // Built-in types take a key twice in a list; a real server at most warns of it.
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

function admitToNamespace(core: OperationsCore, { definition, cluster, namespace }: Target, object: KubeObject): void {
  if (!definition.namespaced || namespace === undefined) return;
  const namespaces = core.catalogOf(cluster).find("", "v1", "namespaces");
  if (namespaces === undefined) return;
  const home = core.store.get(storeKey({ definition: namespaces, cluster, name: namespace }));
  if (home === undefined) throw objectNotFound(namespaces, namespace);
  if (home.metadata.deletionTimestamp === undefined) return;
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
  const { group, plural, flavour } = definition;
  const path = [flavour === "builtin" ? "" : group, plural, definition.namespaced ? namespace : "", name];
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
  const given = metadata.resourceVersion ?? "";
  if (given !== "" && !/^\d+$/.test(given)) {
    throw unforeseen(`strconv.ParseUint: parsing "${given}": invalid syntax`);
  }
  if (given === "" || Number(given) === 0) {
    if (!needsResourceVersion(definition)) return;
    const errors = [invalid("metadata.resourceVersion", 0, "must be specified for an update")];
    throw invalidObject({ group, kind: plural }, name, errors);
  }
  if (given !== existing.metadata.resourceVersion) throw conflict(group, plural, name, modifiedMessage);
}

/** An update can neither move a birthday nor take back a deletion; what it leaves out stays. */
function carryOver(metadata: ObjectMeta, old: ObjectMeta): void {
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

function statusChange({ flavour }: ResourceDefinition, input: KubeObject, existing: KubeObject): KubeObject {
  // Custom types take nothing else from a status write, built-in ones all metadata but the labels.
  const metadata = flavour === "builtin" ? input.metadata : existing.metadata;
  const changed = cloneJson({ ...existing, metadata, status: input.status });
  setOrDelete(changed.metadata, "labels", cloneJson(existing.metadata.labels));
  return changed;
}

function restoreStatus(object: KubeObject, existing: KubeObject): void {
  if (existing.status === undefined) delete object.status;
  else object.status = cloneJson(existing.status);
}

function warnOfFinalizers(
  { flavour }: ResourceDefinition,
  { metadata }: KubeObject,
  existing: KubeObject | undefined,
  { warn }: WriteContext,
): void {
  if (flavour === "builtin" || warn === undefined) return;
  for (const warning of finalizerWarnings(metadata.finalizers, existing?.metadata.finalizers)) warn(warning);
}

function refuse(definition: ResourceDefinition, name: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject(definition, name, errors);
}

/** Whether more differs than metadata and status: the generation counts what is wanted, not what is. */
function wantsSomethingElse(definition: ResourceDefinition, object: KubeObject, existing: KubeObject): boolean {
  if (countsAnnotations(definition) && !isEqual(object.metadata.annotations, existing.metadata.annotations))
    return true;
  const wanted = ({ metadata: _metadata, status, ...rest }: KubeObject): Fields =>
    definition.status || definition.flavour === "builtin" ? rest : { ...rest, status };
  return !isEqual(wanted(object), wanted(existing));
}

/** Whether a write changes nothing but the times in managedFields. */
function isUnchanged(object: KubeObject, existing: KubeObject): boolean {
  const timeless = ({ metadata: { managedFields, ...metadata }, ...rest }: KubeObject): Fields => ({
    ...rest,
    metadata,
    managedFields: (managedFields ?? []).map(({ time: _time, ...entry }) => entry),
  });
  return isEqual(timeless(object), timeless(existing));
}

/** Whether the last finalizer of an object that is being deleted has gone. */
function isFinished(definition: ResourceDefinition, object: KubeObject, existing: KubeObject): boolean {
  if ((object.metadata.finalizers?.length ?? 0) > 0) return false;
  if (existing.metadata.deletionTimestamp === undefined) return false;
  if ((existing.metadata.deletionGracePeriodSeconds ?? 0) !== 0) return false;
  if (!isNamespaces(definition)) return true;
  const finalizers = isObject(object.spec) ? object.spec.finalizers : undefined;
  return !isList(finalizers) || finalizers.length === 0;
}

/** The fields that say what an object is come first: readers of lists cut them off the text. */
function inOrder({ apiVersion, kind, metadata, ...rest }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata, ...rest };
}

/** Reads the present object, for the verbs that start from it. */
export const presentObject = (core: OperationsCore, target: ObjectTarget): KubeObject =>
  asVersion(target.definition, existingObject(core, target));
