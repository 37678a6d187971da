import { bindingName, exportName, exportWorkspace } from "./group.ts";
import type { ServedKind } from "./kind.ts";
import { resourceSchemaName } from "./resource-schema.ts";

/** The versions of kcp's own API in which an export or a binding can be written. */
export const exportVersions = ["v1alpha2", "v1alpha1"] as const;
export type ExportVersion = (typeof exportVersions)[number];

const read = ["get", "list", "watch"] as const;

/**
 * What TMC asks of a tenant besides the exported types.
 *
 * kcp grants the verbs that stand literally in both the export and the binding, and does not expand `*`; so both are
 * made from this one list.
 */
export const permissionClaims = [
  { group: "", resource: "namespaces", verbs: read },
  { group: "", resource: "configmaps", verbs: read },
  { group: "", resource: "secrets", verbs: read },
  { group: "", resource: "serviceaccounts", verbs: read },
  { group: "", resource: "events", verbs: [...read, "create", "update", "patch"] },
] as const;

/** A type as an APIExport carries it. */
export type ExportedType = Readonly<{ group: string; plural: string; schema: string }>;

/** A kind as an APIExport carries it. */
export function exportedType(kind: ServedKind): ExportedType {
  return { group: kind.group, plural: kind.plural, schema: resourceSchemaName(kind) };
}

/**
 * The policy by which the provider says what tenants may do at most. It counts for nothing, and closes the export to all,
 * without the roles of `permissionPolicy` (export-access.ts) beside the export: those go in first.
 */
export const localPolicy = { maximalPermissionPolicy: { local: {} } } as const;

/** The APIExport that offers the given kinds to tenants, without a policy. */
export function apiExport(kinds: readonly ServedKind[], version: ExportVersion = "v1alpha2") {
  return exportOf(kinds.map(exportedType), version);
}

/** The APIExport that offers the given types to tenants, without a policy. */
export function exportOf(types: readonly ExportedType[], version: ExportVersion = "v1alpha2") {
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
        : { latestResourceSchemas: types.map(({ schema }) => schema), permissionClaims: claimsOfAll() },
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
 * The APIBinding by which a tenant takes up the export, with every claim accepted.
 *
 * The version must be that of the export: kcp reads a claim of v1alpha1 as the verb `*`, which has nothing in common
 * with the verbs that an export of v1alpha2 asks for, and then grants none of them.
 */
export function apiBinding({ path = exportWorkspace, name = bindingName, version = "v1alpha2" }: BindingOptions = {}) {
  const claims =
    version === "v1alpha2"
      ? permissionClaims.map((claim) => ({ ...claim, selector: { matchAll: true } }))
      : claimsOfAll();
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

/** The claims as v1alpha1 has them: without verbs, which there means all of them. */
function claimsOfAll() {
  return permissionClaims.map(({ group, resource }) => ({ group, resource, all: true }));
}
