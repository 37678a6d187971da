import { type Fields, isFields, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { listAt, recordAt, textsAt } from "../machinery/fields.ts";
import { isEqual, isList } from "../machinery/json-value.ts";
import { cloneJson } from "../storage/frozen-json.ts";

type Mutable = Record<string, unknown>;
type ClaimKey = Readonly<{ group: string; resource: string; identityHash: string }>;

const annotationPrefix = "apis.v1alpha2.kcp.io/";

/** Converts an APIExport from v1alpha1 to v1alpha2, the stored version. */
export function exportToStored(object: KubeObject): KubeObject {
  const result = upgraded(object);
  const spec: Mutable = { ...recordAt(object, "spec") };
  const annotations = { ...object.metadata.annotations };
  const claims = listAt(spec, "permissionClaims");
  const names = spec.latestResourceSchemas;
  delete spec.latestResourceSchemas;

  const further = removeJsonAnnotation(annotations, "resource-schemas");
  if (isList(names) || further.length > 0) {
    spec.resources = [...textsAt(object, "spec", "latestResourceSchemas").map(resourceOfSchema), ...further];
  }
  const precise = removeJsonAnnotation(annotations, "permission-claims");
  if (claims.length > 0) {
    annotations[`${annotationPrefix}v1alpha1-permission-claims`] = JSON.stringify(claims.map(v1alpha1Claim));
    spec.permissionClaims = claims.map((claim) => {
      const known = precise.find((other) => isSameClaimKey(claimKeyOf(other), claimKeyOf(claim)));
      const verbs = textsAt(known, "verbs");
      const defaultSelector = valueAt(known, "defaultSelector");
      return {
        ...claimKeyOf(claim),
        verbs: verbs.length === 0 ? ["*"] : verbs,
        ...(defaultSelector === undefined ? {} : { defaultSelector }),
      };
    });
  }
  result.spec = spec;
  return withAnnotations(result, annotations);
}

/** Converts a stored APIExport to v1alpha1; fields without a counterpart become annotations. */
export function exportFromStored(object: KubeObject): KubeObject {
  const result = downgraded(object);
  const spec: Mutable = { ...recordAt(object, "spec") };
  const annotations = { ...object.metadata.annotations };
  const resources = listAt(spec, "resources");
  delete spec.resources;

  const inCrds = resources.filter((resource) => valueAt(resource, "storage", "crd") !== undefined);
  const others = resources.filter((resource) => valueAt(resource, "storage", "crd") === undefined);
  if (inCrds.length > 0) spec.latestResourceSchemas = inCrds.map((resource) => textAt(resource, "schema"));
  setJsonAnnotation(annotations, "resource-schemas", others);

  const claims = listAt(spec, "permissionClaims");
  setJsonAnnotation(annotations, "permission-claims", claims.filter(needsV1alpha2).map(v1alpha2Claim));
  const original = removeJsonAnnotation(annotations, "v1alpha1-permission-claims");
  if (claims.length > 0)
    spec.permissionClaims = claims.map((claim) => restoreV1alpha1Fields(v1alpha1ClaimKey(claim), original));
  result.spec = spec;
  // Converted objects always have a status.
  result.status ??= {};
  return withAnnotations(result, annotations);
}

/** Converts an APIBinding from v1alpha1 to v1alpha2, the stored version. */
export function bindingToStored(object: KubeObject): KubeObject {
  const result = upgraded(object);
  const annotations = { ...object.metadata.annotations };
  const spec: Mutable = { ...recordAt(object, "spec") };
  const claims = listAt(spec, "permissionClaims");
  setJsonAnnotation(annotations, "v1alpha1-permission-claims", claims.filter(hasResourceSelector).map(v1alpha1Claim));
  const precise = removeJsonAnnotation(annotations, "acceptable-permission-claims");
  if (claims.length > 0) {
    spec.permissionClaims = claims.map((claim) => ({
      ...toScopedClaim(claim, precise),
      state: valueAt(claim, "state"),
    }));
  }
  result.spec = spec;

  const preciseExport = removeJsonAnnotation(annotations, "status-export-permission-claims");
  const preciseApplied = removeJsonAnnotation(annotations, "status-applied-permission-claims");
  if (isFields(object.status)) {
    const status: Mutable = { ...object.status };
    const exported = listAt(status, "exportPermissionClaims");
    if (exported.length > 0) {
      status.exportPermissionClaims = exported.map((claim) => {
        const { selector: _, ...rest } = toScopedClaim(claim, preciseExport);
        return rest;
      });
    }
    const applied = listAt(status, "appliedPermissionClaims");
    if (applied.length > 0)
      status.appliedPermissionClaims = applied.map((claim) => toScopedClaim(claim, preciseApplied));
    result.status = status;
  }
  return withAnnotations(result, annotations);
}

/** Converts a stored APIBinding to v1alpha1; fields without a counterpart become annotations. */
export function bindingFromStored(object: KubeObject): KubeObject {
  const result = downgraded(object);
  const annotations = { ...object.metadata.annotations };
  const spec: Mutable = { ...recordAt(object, "spec") };
  const claims = listAt(spec, "permissionClaims");
  setJsonAnnotation(
    annotations,
    "acceptable-permission-claims",
    claims.filter(scopeNeedsV1alpha2).map((claim) => ({
      ...v1alpha2Claim(claim),
      selector: valueAt(claim, "selector"),
      state: valueAt(claim, "state"),
    })),
  );
  const original = removeJsonAnnotation(annotations, "v1alpha1-permission-claims");
  if (claims.length > 0) {
    spec.permissionClaims = claims.map((claim) => ({
      ...restoreV1alpha1Fields(withMatchAll(claim), original),
      state: valueAt(claim, "state"),
    }));
  }
  result.spec = spec;

  if (isFields(object.status)) {
    const status: Mutable = { ...object.status };
    const exported = listAt(status, "exportPermissionClaims");
    const applied = listAt(status, "appliedPermissionClaims");
    setJsonAnnotation(
      annotations,
      "status-export-permission-claims",
      exported.filter(needsV1alpha2).map(v1alpha2Claim),
    );
    setJsonAnnotation(
      annotations,
      "status-applied-permission-claims",
      applied
        .filter(scopeNeedsV1alpha2)
        .map((claim) => ({ ...v1alpha2Claim(claim), selector: valueAt(claim, "selector") })),
    );
    if (exported.length > 0) status.exportPermissionClaims = exported.map(v1alpha1ClaimKey);
    if (applied.length > 0) status.appliedPermissionClaims = applied.map(withMatchAll);
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

function removeJsonAnnotation(annotations: Record<string, string>, name: string): readonly unknown[] {
  const key = annotationPrefix + name;
  const text = annotations[key];
  delete annotations[key];
  if (text === undefined) return [];
  try {
    const parsed: unknown = JSON.parse(text);
    return isList(parsed) ? parsed : [];
  } catch {
    // Admission rejects malformed annotations; anything else is treated as absent.
    return [];
  }
}

function setJsonAnnotation(annotations: Record<string, string>, name: string, values: readonly unknown[]): void {
  if (values.length > 0) annotations[annotationPrefix + name] = JSON.stringify(values);
}

/**
 * The schema `v1.deployments.apps` describes the resource `deployments` of the group `apps`; `core` is the empty group.
 */
function resourceOfSchema(schema: string): Fields {
  const [, name = "", ...group] = schema.split(".");
  const joined = group.join(".");
  return { group: joined === "core" ? "" : joined, name, schema, storage: { crd: {} } };
}

const claimKeyOf = (claim: unknown): ClaimKey => ({
  group: textAt(claim, "group"),
  resource: textAt(claim, "resource"),
  identityHash: textAt(claim, "identityHash"),
});

const isSameClaimKey = (a: ClaimKey, b: ClaimKey): boolean => isEqual(a, b);

/** The key fields of a v1alpha1 claim, without empty ones. */
function v1alpha1ClaimKey(claim: unknown): Fields {
  const { group, resource, identityHash } = claimKeyOf(claim);
  return {
    ...(group === "" ? {} : { group }),
    resource,
    ...(identityHash === "" ? {} : { identityHash }),
  };
}

const withMatchAll = (claim: unknown): Fields =>
  valueAt(claim, "selector", "matchAll") === true ? { all: true, ...v1alpha1ClaimKey(claim) } : v1alpha1ClaimKey(claim);

function v1alpha1Claim(claim: unknown): Fields {
  const { group, resource, identityHash } = claimKeyOf(claim);
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

function v1alpha2Claim(claim: unknown): Fields {
  const { group, resource, identityHash } = claimKeyOf(claim);
  const defaultSelector = valueAt(claim, "defaultSelector");
  return {
    ...(group === "" ? {} : { group }),
    resource,
    verbs: textsAt(claim, "verbs"),
    ...(identityHash === "" ? {} : { identityHash }),
    ...(defaultSelector === undefined ? {} : { defaultSelector }),
  };
}

/** v1alpha1 has no verbs; a claim there always means all of them. */
const needsV1alpha2 = (claim: unknown): boolean => !isEqual(textsAt(claim, "verbs"), ["*"]);
const scopeNeedsV1alpha2 = (claim: unknown): boolean =>
  needsV1alpha2(claim) || valueAt(claim, "selector", "matchAll") !== true;
const hasResourceSelector = (claim: unknown): boolean => listAt(claim, "resourceSelector").length > 0;

function toScopedClaim(claim: unknown, precise: readonly unknown[]): Mutable {
  const known = precise.find((other) => isSameClaimKey(claimKeyOf(other), claimKeyOf(claim)));
  const verbs = textsAt(known, "verbs");
  const selector = valueAt(known, "selector");
  return {
    ...claimKeyOf(claim),
    verbs: verbs.length === 0 ? ["*"] : verbs,
    selector: isFields(selector) ? selector : { matchAll: true },
  };
}

/** Restores `all` and `resourceSelector` of a claim that was written as v1alpha1. */
function restoreV1alpha1Fields(claim: Fields, original: readonly unknown[]): Fields {
  const known = original.find((other) => isSameClaimKey(claimKeyOf(other), claimKeyOf(claim)));
  if (known === undefined) return claim;
  const { all: _, ...rest } = claim;
  const selector = listAt(known, "resourceSelector");
  return {
    ...rest,
    ...(valueAt(known, "all") === true ? { all: true } : {}),
    ...(selector.length === 0 ? {} : { resourceSelector: selector }),
  };
}
