import { isFields } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import {
  type ApiFailure,
  badRequest,
  conflict,
  invalidObject,
  methodNotAllowed,
  modifiedMessage,
  objectNotFound,
} from "../machinery/api-errors.ts";
import { conflictFailure, serverSideApply } from "../machinery/apply.ts";
import { invalid } from "../machinery/field-error.ts";
import { goJson, goJsonType, goValue } from "../machinery/go-text.ts";
import { jsonPatch } from "../machinery/json-patch.ts";
import { mergePatch } from "../machinery/merge-patch.ts";
import { strategicMerge } from "../machinery/strategic-patch.ts";
import { unsettableFields } from "./field-ownership.ts";
import { cloneJson } from "./frozen-json.ts";
import { decoded, matchName, matchNamespace } from "./object-decoding.ts";
import { commitUpdate, createObject, readObject, type UpdateContext } from "./object-writes.ts";
import type { ObjectTarget, PatchKind } from "./operations.ts";
import { hookContext, type OperationsCore, storeKey, timestamp } from "./operations-core.ts";
import { parentOfScale, scaleOf, withScale } from "./scale.ts";
import { servedApiVersion, toServedVersion } from "./selection.ts";

export type PatchRequest = Readonly<{ kind: PatchKind; body: unknown; force?: boolean | undefined }>;

/** Patches an object, its status or its scale. Server-side apply may create the object. */
export function patchObject(
  core: OperationsCore,
  target: ObjectTarget,
  patch: PatchRequest,
  context: UpdateContext,
): { object: KubeObject; created: boolean } {
  if (patch.kind === "apply") return applyObject(core, target, patch, context);
  const { definition } = target;
  const existing = readObject(core, target);
  if (context.subresource === "scale") {
    const scale = patched(definition, scaleOf(definition, existing), patch);
    checkScale(scale);
    return { object: updateScale(core, target, existing, scale, context), created: false };
  }
  const document = patched(definition, existing, patch);
  checkType(definition, document, target.name);
  const shown = (): string => (patch.kind === "strategic" ? goValue(patch.body) : goJson(document));
  const object = decoded(definition, document, context, (why) => invalidPatchResult(shown(), why));
  matchName(target, object.metadata);
  matchNamespace(target, object.metadata);
  return { object: commitUpdate(core, target, existing, object, context), created: false };
}

/** Sets the replicas and returns the new Scale. */
export function updateScale(
  core: OperationsCore,
  target: ObjectTarget,
  existing: KubeObject,
  scale: KubeObject,
  context: UpdateContext,
): KubeObject {
  const { definition, name } = target;
  matchName(target, scale.metadata);
  const { resourceVersion } = scale.metadata;
  if (
    resourceVersion !== undefined &&
    resourceVersion !== "" &&
    resourceVersion !== existing.metadata.resourceVersion
  ) {
    throw conflict(definition.group, definition.plural, name, modifiedMessage);
  }
  const changed = withScale(definition, existing, scale);
  return scaleOf(definition, commitUpdate(core, target, existing, changed, context));
}

function patched(definition: ResourceDefinition, document: KubeObject, { kind, body }: PatchRequest): KubeObject {
  const result = patchedValue(definition, document, kind, body);
  if (!isFields(result))
    throw invalidPatchResult(goJson(result), "json: cannot unmarshal into Go value of type map[string]interface {}");
  const { metadata } = result;
  // If the metadata is gone, the name check rejects the document later.
  return { apiVersion: "", kind: "", ...result, metadata: isFields(metadata) ? { ...metadata } : {} };
}

function patchedValue(definition: ResourceDefinition, document: KubeObject, kind: PatchKind, body: unknown): unknown {
  switch (kind) {
    case "json":
      return jsonPatch(document, body);
    case "merge":
      return mergePatch(document, body);
    case "strategic": {
      // A Scale has no lists to merge by key.
      if (document.kind === "Scale" && definition.kind !== "Scale") return mergePatch(document, body);
      if (definition.flavor === "custom") throw methodNotAllowed();
      return strategicMerge(definition.schema, document, body, definition.flavor);
    }
    default:
      throw methodNotAllowed();
  }
}

function checkScale(scale: KubeObject): void {
  const replicas = isFields(scale.spec) ? scale.spec.replicas : undefined;
  if (replicas === undefined || replicas === null || typeof replicas === "number") return;
  const field = "Go struct field ScaleSpec.spec.replicas of type int32";
  throw invalidPatchResult(goJson(scale), `json: cannot unmarshal ${goJsonType(replicas)} into ${field}`);
}

/** 422 for a patch whose result is not a valid object of the type. */
function invalidPatchResult(shown: string, why: string): ApiFailure {
  return invalidObject({ group: "", kind: "" }, "", [invalid("patch", shown, why)]);
}

function checkType(definition: ResourceDefinition, document: KubeObject, name: string): void {
  const apiVersion = servedApiVersion(definition);
  const { kind } = definition;
  if (document.apiVersion === apiVersion && document.kind === kind) return;
  if (definition.flavor === "builtin") {
    const scheme = 'in scheme "pkg/runtime/scheme.go:111"';
    throw invalidPatchResult(
      goJson(document),
      `no kind "${document.kind}" is registered for version "${document.apiVersion}" ${scheme}`,
    );
  }
  const { group } = definition;
  if (document.kind !== kind) {
    const errors = [invalid("kind", document.kind, `must be ${kind}`)];
    throw invalidObject({ group, kind: document.kind }, name, errors);
  }
  throw invalidObject({ group, kind }, name, [invalid("apiVersion", document.apiVersion, `must be ${apiVersion}`)]);
}

function applyObject(
  core: OperationsCore,
  target: ObjectTarget,
  { body, force }: PatchRequest,
  context: UpdateContext,
): { object: KubeObject; created: boolean } {
  const { definition, name } = target;
  const isScale = context.subresource === "scale";
  const applied = isScale
    ? appliedScale(definition, body)
    : appliedObject(servedApiVersion(definition), definition.kind, body);
  const stored = core.store.get(storeKey(target));
  if (stored === undefined && context.subresource !== undefined) throw objectNotFound(definition, name);
  const live = stored === undefined ? undefined : toServedVersion(definition, stored);
  const { uid, resourceVersion } = applied.metadata;
  if (live === undefined && uid !== undefined && uid !== "") {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(definition.group, definition.plural, name, why);
  }
  const { object: merged, conflicts } = serverSideApply({
    schema: definition.schema,
    live,
    applied,
    manager: context.fieldManager ?? "",
    force: force === true,
    subresource: context.subresource,
    reset: unsettableFields(definition, context.subresource),
    now: timestamp(hookContext(core, target, context).now),
  });
  if (merged === undefined) {
    throw conflictFailure(conflicts);
  }
  const object = cloneJson(merged);
  // A configuration may omit the name; the URL has it.
  if ((object.metadata.name ?? "") === "") object.metadata.name = name;
  matchName(target, object.metadata);
  matchNamespace(target, object.metadata);
  const applyContext: UpdateContext = { ...context, applied: merged.metadata.managedFields ?? [] };
  if (live === undefined) return { object: createObject(core, target, object, applyContext), created: true };
  object.metadata.resourceVersion =
    resourceVersion === undefined || resourceVersion === "" ? (live.metadata.resourceVersion ?? "") : resourceVersion;
  const updated = commitUpdate(core, target, live, object, applyContext);
  return { object: isScale ? scaleOf(definition, updated) : updated, created: false };
}

function appliedScale(definition: ResourceDefinition, body: unknown): KubeObject {
  return parentOfScale(definition, appliedObject("autoscaling/v1", "Scale", body), servedApiVersion(definition));
}

function appliedObject(expectedVersion: string, expectedKind: string, body: unknown): KubeObject {
  const input = isFields(body) ? body : {};
  const apiVersion = typeof input.apiVersion === "string" ? input.apiVersion : "";
  const kind = typeof input.kind === "string" ? input.kind : "";
  if (apiVersion !== expectedVersion || kind !== expectedKind) {
    const shown = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
    throw badRequest(`invalid object type: ${shown}, Kind=${kind}`);
  }
  const object: KubeObject = {
    ...input,
    apiVersion,
    kind,
    metadata: isFields(input.metadata) ? cloneJson(input.metadata) : {},
  };
  if (object.metadata.managedFields !== undefined) throw badRequest("metadata.managedFields must be nil");
  return object;
}
