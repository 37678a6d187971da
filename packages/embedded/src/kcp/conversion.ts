import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { listAt, objectAt, textAt, textsAt, valueAt } from "../fields.ts";
import { cloneJson } from "../frozen-json.ts";
import { type Fields, isEqual, isList, isObject } from "../machinery/json-value.ts";

type Mutable = Record<string, unknown>;
type Side = Readonly<{ group: string; resource: string; identityHash: string }>;

const annotationPrefix = "apis.v1alpha2.kcp.io/";

/** Writes an APIExport of v1alpha1 as v1alpha2, the version that is stored. */
export function exportToStored(object: KubeObject): KubeObject {
  const result = upgraded(object);
  const spec: Mutable = { ...objectAt(object, "spec") };
  const annotations = { ...object.metadata.annotations };
  const claims = listAt(spec, "permissionClaims");
  const names = spec.latestResourceSchemas;
  delete spec.latestResourceSchemas;

  const further = takeJson(annotations, "resource-schemas");
  if (isList(names) || further.length > 0) {
    spec.resources = [...textsAt(object, "spec", "latestResourceSchemas").map(resourceOfSchema), ...further];
  }
  const precise = takeJson(annotations, "permission-claims");
  if (claims.length > 0) {
    annotations[`${annotationPrefix}v1alpha1-permission-claims`] = JSON.stringify(claims.map(plainClaim));
    spec.permissionClaims = claims.map((claim) => {
      const known = precise.find((other) => isSame(sideOf(other), sideOf(claim)));
      const verbs = textsAt(known, "verbs");
      const defaultSelector = valueAt(known, "defaultSelector");
      return {
        ...sideOf(claim),
        verbs: verbs.length === 0 ? ["*"] : verbs,
        ...(defaultSelector === undefined ? {} : { defaultSelector }),
      };
    });
  }
  result.spec = spec;
  return withAnnotations(result, annotations);
}

/** Writes a stored APIExport as v1alpha1; what that version cannot say goes into annotations. */
export function exportFromStored(object: KubeObject): KubeObject {
  const result = downgraded(object);
  const spec: Mutable = { ...objectAt(object, "spec") };
  const annotations = { ...object.metadata.annotations };
  const resources = listAt(spec, "resources");
  delete spec.resources;

  const inCrds = resources.filter((resource) => valueAt(resource, "storage", "crd") !== undefined);
  const others = resources.filter((resource) => valueAt(resource, "storage", "crd") === undefined);
  if (inCrds.length > 0) spec.latestResourceSchemas = inCrds.map((resource) => textAt(resource, "schema"));
  putJson(annotations, "resource-schemas", others);

  const claims = listAt(spec, "permissionClaims");
  putJson(annotations, "permission-claims", claims.filter(isPrecise).map(preciseClaim));
  const original = takeJson(annotations, "v1alpha1-permission-claims");
  if (claims.length > 0) spec.permissionClaims = claims.map((claim) => restored(plainSide(claim), original));
  result.spec = spec;
  // Whatever went through the conversion has a status, if an empty one.
  result.status ??= {};
  return withAnnotations(result, annotations);
}

/** Writes an APIBinding of v1alpha1 as v1alpha2, the version that is stored. */
export function bindingToStored(object: KubeObject): KubeObject {
  const result = upgraded(object);
  const annotations = { ...object.metadata.annotations };
  const spec: Mutable = { ...objectAt(object, "spec") };
  const claims = listAt(spec, "permissionClaims");
  putJson(annotations, "v1alpha1-permission-claims", claims.filter(hasResourceSelector).map(plainClaim));
  const precise = takeJson(annotations, "acceptable-permission-claims");
  if (claims.length > 0) {
    spec.permissionClaims = claims.map((claim) => ({
      ...scoped(claim, precise),
      state: valueAt(claim, "state"),
    }));
  }
  result.spec = spec;

  const preciseExport = takeJson(annotations, "status-export-permission-claims");
  const preciseApplied = takeJson(annotations, "status-applied-permission-claims");
  if (isObject(object.status)) {
    const status: Mutable = { ...object.status };
    const exported = listAt(status, "exportPermissionClaims");
    if (exported.length > 0) {
      status.exportPermissionClaims = exported.map((claim) => {
        const { selector: _, ...rest } = scoped(claim, preciseExport);
        return rest;
      });
    }
    const applied = listAt(status, "appliedPermissionClaims");
    if (applied.length > 0) status.appliedPermissionClaims = applied.map((claim) => scoped(claim, preciseApplied));
    result.status = status;
  }
  return withAnnotations(result, annotations);
}

/** Writes a stored APIBinding as v1alpha1; what that version cannot say goes into annotations. */
export function bindingFromStored(object: KubeObject): KubeObject {
  const result = downgraded(object);
  const annotations = { ...object.metadata.annotations };
  const spec: Mutable = { ...objectAt(object, "spec") };
  const claims = listAt(spec, "permissionClaims");
  putJson(
    annotations,
    "acceptable-permission-claims",
    claims.filter(isPreciseScoped).map((claim) => ({
      ...preciseClaim(claim),
      selector: valueAt(claim, "selector"),
      state: valueAt(claim, "state"),
    })),
  );
  const original = takeJson(annotations, "v1alpha1-permission-claims");
  if (claims.length > 0) {
    spec.permissionClaims = claims.map((claim) => ({
      ...restored(all(claim), original),
      state: valueAt(claim, "state"),
    }));
  }
  result.spec = spec;

  if (isObject(object.status)) {
    const status: Mutable = { ...object.status };
    const exported = listAt(status, "exportPermissionClaims");
    const applied = listAt(status, "appliedPermissionClaims");
    putJson(annotations, "status-export-permission-claims", exported.filter(isPrecise).map(preciseClaim));
    putJson(
      annotations,
      "status-applied-permission-claims",
      applied
        .filter(isPreciseScoped)
        .map((claim) => ({ ...preciseClaim(claim), selector: valueAt(claim, "selector") })),
    );
    if (exported.length > 0) status.exportPermissionClaims = exported.map(plainSide);
    if (applied.length > 0) status.appliedPermissionClaims = applied.map(all);
    result.status = status;
  } else result.status = {};
  return withAnnotations(result, annotations);
}

function upgraded(object: KubeObject): KubeObject {
  return { ...cloneJson(object), apiVersion: "apis.kcp.io/v1alpha2" };
}

function downgraded(object: KubeObject): KubeObject {
  return { ...cloneJson(object), apiVersion: "apis.kcp.io/v1alpha1" };
}

function withAnnotations(object: KubeObject, annotations: Record<string, string>): KubeObject {
  const { annotations: _, ...metadata } = object.metadata;
  return {
    ...object,
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
  };
}

function takeJson(annotations: Record<string, string>, name: string): readonly unknown[] {
  const key = annotationPrefix + name;
  const text = annotations[key];
  delete annotations[key];
  if (text === undefined) return [];
  try {
    const parsed: unknown = JSON.parse(text);
    return isList(parsed) ? parsed : [];
  } catch {
    // Admission refuses what cannot be read before it is stored; what is left is as good as absent.
    return [];
  }
}

function putJson(annotations: Record<string, string>, name: string, values: readonly unknown[]): void {
  if (values.length > 0) annotations[annotationPrefix + name] = JSON.stringify(values);
}

/** `v1.deployments.apps` names the resource `deployments` of the group `apps`; `core` stands for no group. */
function resourceOfSchema(schema: string): Fields {
  const [, name = "", ...group] = schema.split(".");
  const joined = group.join(".");
  return { group: joined === "core" ? "" : joined, name, schema, storage: { crd: {} } };
}

const sideOf = (claim: unknown): Side => ({
  group: textAt(claim, "group"),
  resource: textAt(claim, "resource"),
  identityHash: textAt(claim, "identityHash"),
});

const isSame = (a: Side, b: Side): boolean => isEqual(a, b);

/** A claim as v1alpha1 says it, without what is empty. */
function plainSide(claim: unknown): Fields {
  const { group, resource, identityHash } = sideOf(claim);
  return {
    ...(group === "" ? {} : { group }),
    resource,
    ...(identityHash === "" ? {} : { identityHash }),
  };
}

const all = (claim: unknown): Fields =>
  valueAt(claim, "selector", "matchAll") === true ? { all: true, ...plainSide(claim) } : plainSide(claim);

function plainClaim(claim: unknown): Fields {
  const { group, resource, identityHash } = sideOf(claim);
  const selector = listAt(claim, "resourceSelector");
  const state = valueAt(claim, "state");
  return {
    ...(group === "" ? {} : { group }),
    resource,
    ...(valueAt(claim, "all") === true ? { all: true } : {}),
    ...(selector.length === 0 ? {} : { resourceSelector: selector }),
    ...(identityHash === "" ? {} : { identityHash }),
    ...(state === undefined ? {} : { state }),
  };
}

function preciseClaim(claim: unknown): Fields {
  const { group, resource, identityHash } = sideOf(claim);
  const defaultSelector = valueAt(claim, "defaultSelector");
  return {
    ...(group === "" ? {} : { group }),
    resource,
    verbs: textsAt(claim, "verbs"),
    ...(identityHash === "" ? {} : { identityHash }),
    ...(defaultSelector === undefined ? {} : { defaultSelector }),
  };
}

/** v1alpha1 has no verbs: it means all of them, and cannot say anything else. */
const isPrecise = (claim: unknown): boolean => !isEqual(textsAt(claim, "verbs"), ["*"]);
const isPreciseScoped = (claim: unknown): boolean =>
  isPrecise(claim) || valueAt(claim, "selector", "matchAll") !== true;
const hasResourceSelector = (claim: unknown): boolean => listAt(claim, "resourceSelector").length > 0;

function scoped(claim: unknown, precise: readonly unknown[]): Mutable {
  const known = precise.find((other) => isSame(sideOf(other), sideOf(claim)));
  const verbs = textsAt(known, "verbs");
  const selector = valueAt(known, "selector");
  return {
    ...sideOf(claim),
    verbs: verbs.length === 0 ? ["*"] : verbs,
    selector: isObject(selector) ? selector : { matchAll: true },
  };
}

/** Gives a claim back its `all` and `resourceSelector` from when it was written in v1alpha1. */
function restored(claim: Fields, original: readonly unknown[]): Fields {
  const known = original.find((other) => isSame(sideOf(other), sideOf(claim)));
  if (known === undefined) return claim;
  const { all: _, ...rest } = claim;
  const selector = listAt(known, "resourceSelector");
  return {
    ...rest,
    ...(valueAt(known, "all") === true ? { all: true } : {}),
    ...(selector.length === 0 ? {} : { resourceSelector: selector }),
  };
}
