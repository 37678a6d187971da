import { bindingName, exportName, exportWorkspace } from "./group.ts";
import type { ServedKind } from "./kind.ts";
import { resourceSchemaName } from "./resource-schema.ts";

/** Versions of kcp's `apis.kcp.io` group in which APIExports and APIBindings can be written. */
export const exportVersions = ["v1alpha2", "v1alpha1"] as const;
export type ExportVersion = (typeof exportVersions)[number];

const read = ["get", "list", "watch"] as const;

/**
 * The permission claims of the export: what TMC needs in a tenant's workspace besides the exported types.
 *
 * kcp grants only verbs that are listed literally in both the export and the binding, and does not expand `*`. Both are
 * therefore generated from this list.
 */
export const permissionClaims = [
  { group: "", resource: "namespaces", verbs: read },
  { group: "", resource: "configmaps", verbs: read },
  { group: "", resource: "secrets", verbs: read },
  { group: "", resource: "serviceaccounts", verbs: read },
  { group: "", resource: "events", verbs: [...read, "create", "update", "patch"] },
] as const;

/** A type in an APIExport; `schema` is the name of its APIResourceSchema. */
export type ExportedType = Readonly<{ group: string; plural: string; schema: string }>;

/** Returns the entry of a kind in the APIExport. */
export function exportedType(kind: ServedKind): ExportedType {
  return { group: kind.group, plural: kind.plural, schema: resourceSchemaName(kind) };
}

/**
 * Makes kcp enforce the maximal permission policy from the roles in the export's own workspace.
 *
 * Without the roles of `permissionPolicy` (export-access.ts) this denies every request, so those must be created first.
 */
export const localPermissionPolicy = { maximalPermissionPolicy: { local: {} } } as const;

/** Returns the APIExport for the given kinds, without a maximal permission policy. */
export function apiExport(kinds: readonly ServedKind[], version: ExportVersion = "v1alpha2") {
  return apiExportOfTypes(kinds.map(exportedType), version);
}

/** Returns the APIExport for the given types, without a maximal permission policy. */
export function apiExportOfTypes(types: readonly ExportedType[], version: ExportVersion = "v1alpha2") {
  return {
    apiVersion: `apis.kcp.io/${version}`,
    kind: "APIExport",
    metadata: { name: exportName },
    spec:
      version === "v1alpha2"
        ? {
            resources: types.map(({ plural, group, schema }) => ({
              name: plural,
              group,
              schema,
              storage: { crd: {} },
            })),
            permissionClaims,
          }
        : { latestResourceSchemas: types.map(({ schema }) => schema), permissionClaims: claimsWithoutVerbs() },
  };
}

export type BindingOptions = Readonly<{
  /**
   * The workspace that holds the export.
   *
   * @default "root:tmc"
   */
  path?: string;
  /**
   * The name of the APIBinding.
   *
   * @default "tmc-binding"
   */
  name?: string;
  /** @default "v1alpha2" */
  version?: ExportVersion;
}>;

/**
 * Returns the APIBinding that binds the export in a tenant's workspace and accepts all its permission claims.
 *
 * The version must be that of the export. kcp reads a v1alpha1 claim as the verb `*`, which does not match the literal
 * verbs of a v1alpha2 export, and would grant none of them.
 */
export function apiBinding({ path = exportWorkspace, name = bindingName, version = "v1alpha2" }: BindingOptions = {}) {
  const claims =
    version === "v1alpha2"
      ? permissionClaims.map((claim) => ({ ...claim, selector: { matchAll: true } }))
      : claimsWithoutVerbs();
  return {
    apiVersion: `apis.kcp.io/${version}`,
    kind: "APIBinding",
    metadata: { name },
    spec: {
      reference: { export: { path, name: exportName } },
      permissionClaims: claims.map((claim) => ({ ...claim, state: "Accepted" })),
    },
  };
}

/** The claims in their v1alpha1 form: without verbs, which means all verbs. */
function claimsWithoutVerbs() {
  return permissionClaims.map(({ group, resource }) => ({ group, resource, all: true }));
}
