import type { KubeObject } from "@tmc/kube/kube-object.ts";
import {
  badRequest,
  conflict,
  invalidObject,
  methodNotAllowed,
  modifiedMessage,
  objectNotFound,
} from "./api-errors.ts";
import { ApiFailure } from "./api-failure.ts";
import type { ResourceDefinition } from "./definition.ts";
import { unsettable } from "./field-ownership.ts";
import { cloneJson } from "./frozen-json.ts";
import { serverSideApply } from "./machinery/apply.ts";
import { invalid } from "./machinery/field-error.ts";
import { goJson, goValue, typeOfGo } from "./machinery/go-text.ts";
import { jsonPatch } from "./machinery/json-patch.ts";
import { isObject } from "./machinery/json-value.ts";
import { mergePatch } from "./machinery/merge-patch.ts";
import { strategicMerge } from "./machinery/strategic-patch.ts";
import { decoded, matchName, matchNamespace } from "./object-decoding.ts";
import { commitUpdate, createObject, presentObject, type UpdateContext } from "./object-writes.ts";
import type { ObjectTarget, PatchKind } from "./operations.ts";
import { hookContext, type OperationsCore, storeKey, timestamp } from "./operations-core.ts";
import { parentOfScale, scaleOf, withScale } from "./scale.ts";
import { apiVersionOf, asVersion } from "./selection.ts";

export type Patch = Readonly<{ kind: PatchKind; body: unknown; force?: boolean | undefined }>;

/** Patches an object, its status or its scale; a server-side apply also creates. */
export function patchObject(
  core: OperationsCore,
  target: ObjectTarget,
  patch: Patch,
  context: UpdateContext,
): { object: KubeObject; created: boolean } {
  if (patch.kind === "apply") return applyObject(core, target, patch, context);
  const { definition } = target;
  const existing = presentObject(core, target);
  if (context.subresource === "scale") {
    const wanted = patched(definition, scaleOf(definition, existing), patch);
    checkScale(wanted);
    return { object: rescale(core, target, existing, wanted, context), created: false };
  }
  const document = patched(definition, existing, patch);
  checkType(definition, document, target.name);
  const shown = (): string => (patch.kind === "strategic" ? goValue(patch.body) : goJson(document));
  const object = decoded(definition, document, context, (why) => unfitting(shown(), why));
  matchName(target, object.metadata);
  matchNamespace(target, object.metadata);
  return { object: commitUpdate(core, target, existing, object, context), created: false };
}

/** Sets the number of replicas and answers the new Scale. */
export function rescale(
  core: OperationsCore,
  target: ObjectTarget,
  existing: KubeObject,
  wanted: KubeObject,
  context: UpdateContext,
): KubeObject {
  const { definition, name } = target;
  matchName(target, wanted.metadata);
  const { resourceVersion } = wanted.metadata;
  if (
    resourceVersion !== undefined &&
    resourceVersion !== "" &&
    resourceVersion !== existing.metadata.resourceVersion
  ) {
    throw conflict(definition.group, definition.plural, name, modifiedMessage);
  }
  const changed = withScale(definition, existing, wanted);
  return scaleOf(definition, commitUpdate(core, target, existing, changed, context));
}

function patched(definition: ResourceDefinition, document: KubeObject, { kind, body }: Patch): KubeObject {
  const result = patchedValue(definition, document, kind, body);
  if (!isObject(result))
    throw unfitting(goJson(result), "json: cannot unmarshal into Go value of type map[string]interface {}");
  const { metadata } = result;
  // A document that lost its metadata is refused for its name a little later.
  return { apiVersion: "", kind: "", ...result, metadata: isObject(metadata) ? { ...metadata } : {} };
}

function patchedValue(definition: ResourceDefinition, document: KubeObject, kind: PatchKind, body: unknown): unknown {
  switch (kind) {
    case "json":
      return jsonPatch(document, body);
    case "merge":
      return mergePatch(document, body);
    case "strategic": {
      // Nothing in a Scale has to be merged in a way of its own.
      if (document.kind === "Scale" && definition.kind !== "Scale") return mergePatch(document, body);
      if (definition.flavour === "custom") throw methodNotAllowed();
      return strategicMerge(definition.schema, document, body, definition.flavour);
    }
    default:
      throw methodNotAllowed();
  }
}

function checkScale(wanted: KubeObject): void {
  const replicas = isObject(wanted.spec) ? wanted.spec.replicas : undefined;
  if (replicas === undefined || replicas === null || typeof replicas === "number") return;
  const field = "Go struct field ScaleSpec.spec.replicas of type int32";
  throw unfitting(goJson(wanted), `json: cannot unmarshal ${typeOfGo(replicas)} into ${field}`);
}

/** 422 for a patch whose result is no object of the type. */
function unfitting(shown: string, why: string): ApiFailure {
  return invalidObject({ group: "", kind: "" }, "", [invalid("patch", shown, why)]);
}

function checkType(definition: ResourceDefinition, document: KubeObject, name: string): void {
  const apiVersion = apiVersionOf(definition);
  const { kind } = definition;
  if (document.apiVersion === apiVersion && document.kind === kind) return;
  if (definition.flavour === "builtin") {
    const scheme = 'in scheme "pkg/runtime/scheme.go:111"';
    throw unfitting(
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
  { body, force }: Patch,
  context: UpdateContext,
): { object: KubeObject; created: boolean } {
  const { definition, name } = target;
  const isScale = context.subresource === "scale";
  const applied = isScale
    ? appliedScale(definition, body)
    : appliedObject(apiVersionOf(definition), definition.kind, body);
  const stored = core.store.get(storeKey(target));
  if (stored === undefined && context.subresource !== undefined) throw objectNotFound(definition, name);
  const live = stored === undefined ? undefined : asVersion(definition, stored);
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
    reset: unsettable(definition, context.subresource),
    now: timestamp(hookContext(core, target, context).now),
  });
  if (merged === undefined) {
    throw new ApiFailure(409, "Conflict", conflicts.message, { causes: [...conflicts.causes] });
  }
  const object = cloneJson(merged);
  // The URL says which object it is where the configuration does not.
  if ((object.metadata.name ?? "") === "") object.metadata.name = name;
  matchName(target, object.metadata);
  matchNamespace(target, object.metadata);
  const inner: UpdateContext = { ...context, applied: merged.metadata.managedFields ?? [] };
  if (live === undefined) return { object: createObject(core, target, object, inner), created: true };
  object.metadata.resourceVersion =
    resourceVersion === undefined || resourceVersion === "" ? (live.metadata.resourceVersion ?? "") : resourceVersion;
  const updated = commitUpdate(core, target, live, object, inner);
  return { object: isScale ? scaleOf(definition, updated) : updated, created: false };
}

function appliedScale(definition: ResourceDefinition, body: unknown): KubeObject {
  return parentOfScale(definition, appliedObject("autoscaling/v1", "Scale", body), apiVersionOf(definition));
}

function appliedObject(wantedVersion: string, wantedKind: string, body: unknown): KubeObject {
  const input = isObject(body) ? body : {};
  const apiVersion = typeof input.apiVersion === "string" ? input.apiVersion : "";
  const kind = typeof input.kind === "string" ? input.kind : "";
  if (apiVersion !== wantedVersion || kind !== wantedKind) {
    const shown = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
    throw badRequest(`invalid object type: ${shown}, Kind=${kind}`);
  }
  const object: KubeObject = {
    ...input,
    apiVersion,
    kind,
    metadata: isObject(input.metadata) ? cloneJson(input.metadata) : {},
  };
  if (object.metadata.managedFields !== undefined) throw badRequest("metadata.managedFields must be nil");
  return object;
}
