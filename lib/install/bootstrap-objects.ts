import { apiExportOfTypes, type ExportedType, exportedType, localPermissionPolicy } from "../api/api-export.ts";
import { permissionPolicy, serviceAccess, tenantAccess, workspaceType } from "../api/export-access.ts";
import { managedByTmc } from "../api/group.ts";
import { offeredKinds, offeredKindsWith } from "../api/kinds.ts";
import { clusterRolesWith } from "../api/rbac.ts";
import { apiResourceSchema } from "../api/resource-schema.ts";

import type { CustomType } from "../upstream/custom-types.ts";
import { type ManagedObject, managedObject } from "./managed-object.ts";

export type DesiredExport = Readonly<{
  /** Types that the operator adds. */
  custom?: readonly CustomType[] | undefined;
  /** Types that are in the export but not requested in this run. They stay in the export. */
  retained?: readonly ExportedType[] | undefined;
  /** Whether the server warns about client-side apply. @default true */
  warnings?: boolean | undefined;
}>;

export type DesiredProvider = DesiredExport &
  Readonly<{
    /** The workspace of the export. */
    path: string;
    /** Group of users who may bind the export. */
    tenants: string;
  }>;

const qualifiedName = ({ group, plural }: Pick<ExportedType, "group" | "plural">): string => `${plural}.${group}`;

/** Returns all types of the export: built-in, custom and retained ones. A custom type cannot replace a built-in one. */
export function exportedTypes({ custom = [], retained = [], warnings }: DesiredExport): readonly ExportedType[] {
  const byName = new Map<string, ExportedType>();
  for (const type of [
    ...retained,
    ...custom.map((item) => item.type),
    ...offeredKindsWith({ warnings }).map(exportedType),
  ]) {
    byName.set(qualifiedName(type), type);
  }
  const ours = offeredKinds.map((kind) => qualifiedName(kind));
  const isOurs = (type: ExportedType): boolean => ours.includes(qualifiedName(type));
  return [...byName.values()].toSorted((a, b) => Number(isOurs(b)) - Number(isOurs(a)));
}

/** Returns the APIExport and the objects that it needs, which come first: its schemas and the roles of its permission policy. */
export function exportObjects(desired: DesiredExport = {}): readonly ManagedObject[] {
  const types = exportedTypes(desired);
  const apiExport = apiExportOfTypes(types);
  return [
    ...schemasOf(desired),
    ...permissionPolicy(types),
    {
      ...apiExport,
      metadata: { ...apiExport.metadata, labels: managedByTmc },
      spec: { ...apiExport.spec, ...localPermissionPolicy },
    },
  ].map(managedObject);
}

function schemasOf({ custom = [], warnings }: DesiredExport): readonly object[] {
  const named = new Set(exportedTypes({ custom, warnings }).map(({ schema }) => schema));
  return [...offeredKindsWith({ warnings }).map(apiResourceSchema), ...custom.map(({ schema }) => schema)]
    .filter(({ metadata }) => named.has(metadata.name))
    .map((schema) => ({ ...schema, metadata: { ...schema.metadata, labels: managedByTmc } }));
}

/** kcp requires this rule for access to a workspace. */
const workspaceAccessRule = { nonResourceURLs: ["/"], verbs: ["access"] };

/** Returns the ClusterRoles for users of a workspace; each includes access to the workspace. */
export function userRoles(types: readonly Pick<ExportedType, "group" | "plural">[]): readonly ManagedObject[] {
  const ours = new Set(offeredKinds.map(qualifiedName));
  return clusterRolesWith(types.filter((type) => !ours.has(qualifiedName(type)))).map(({ metadata, rules, ...role }) =>
    managedObject({ ...role, metadata: { ...metadata, labels: managedByTmc }, rules: [workspaceAccessRule, ...rules] }),
  );
}

/** Returns all objects of the provider workspace, in creation order. */
export function providerObjects(desired: DesiredProvider): readonly ManagedObject[] {
  return [
    ...exportObjects(desired),
    ...userRoles(exportedTypes(desired)),
    ...[...tenantAccess(desired.tenants), ...serviceAccess(), workspaceType(desired.path)].map(managedObject),
  ];
}
