import { type ExportedType, exportedType, exportOf, localPolicy } from "../api/api-export.ts";
import { permissionPolicy, serviceAccess, tenantAccess, workspaceType } from "../api/export-access.ts";
import { managedByTmc } from "../api/group.ts";
import { offeredKinds } from "../api/kinds.ts";
import { clusterRolesWith } from "../api/rbac.ts";
import { apiResourceSchema } from "../api/resource-schema.ts";

import type { CustomType } from "../upstream/custom-types.ts";
import { type ManagedObject, managedObject } from "./managed-object.ts";

export type ExportWish = Readonly<{
  /** Types that the operator adds to ours. */
  custom?: readonly CustomType[] | undefined;
  /** Types that stand in the export and that nobody has named this time: they stay. */
  kept?: readonly ExportedType[] | undefined;
}>;

export type ProviderWish = ExportWish &
  Readonly<{
    /** The workspace that holds the export. */
    path: string;
    /** The group of users who may become tenants. */
    tenants: string;
  }>;

const nameOf = ({ group, plural }: Pick<ExportedType, "group" | "plural">): string => `${plural}.${group}`;

/** Every type of the export: ours, the operator's, and those that stay. The operator cannot put one in place of ours. */
export function exportedTypes({ custom = [], kept = [] }: ExportWish): readonly ExportedType[] {
  const byName = new Map<string, ExportedType>();
  for (const type of [...kept, ...custom.map((item) => item.type), ...offeredKinds.map(exportedType)]) {
    byName.set(nameOf(type), type);
  }
  const ours = offeredKinds.map((kind) => nameOf(kind));
  const isOurs = (type: ExportedType): boolean => ours.includes(nameOf(type));
  return [...byName.values()].toSorted((a, b) => Number(isOurs(b)) - Number(isOurs(a)));
}

/** The export with what it cannot be without: its schemas before it, and the roles of its policy. */
export function exportObjects(wish: ExportWish = {}): readonly ManagedObject[] {
  const types = exportedTypes(wish);
  const made = exportOf(types);
  return [
    ...schemasOf(wish),
    ...permissionPolicy(types),
    { ...made, metadata: { ...made.metadata, labels: managedByTmc }, spec: { ...made.spec, ...localPolicy } },
  ].map(managedObject);
}

function schemasOf({ custom = [] }: ExportWish): readonly object[] {
  const named = new Set(exportedTypes({ custom }).map(({ schema }) => schema));
  return [...offeredKinds.map(apiResourceSchema), ...custom.map(({ schema }) => schema)]
    .filter(({ metadata }) => named.has(metadata.name))
    .map((schema) => ({ ...schema, metadata: { ...schema.metadata, labels: managedByTmc } }));
}

/** What kcp asks of everyone who comes into a workspace. */
const mayEnter = { nonResourceURLs: ["/"], verbs: ["access"] };

/** The roles for people, as they are put into a workspace: who has one may come in. */
export function peopleRoles(types: readonly Pick<ExportedType, "group" | "plural">[]): readonly ManagedObject[] {
  const ours = new Set(offeredKinds.map(nameOf));
  return clusterRolesWith(types.filter((type) => !ours.has(nameOf(type)))).map(({ metadata, rules, ...role }) =>
    managedObject({ ...role, metadata: { ...metadata, labels: managedByTmc }, rules: [mayEnter, ...rules] }),
  );
}

/** Everything that the provider workspace holds, in the order in which it is made. */
export function providerObjects(wish: ProviderWish): readonly ManagedObject[] {
  return [
    ...exportObjects(wish),
    ...peopleRoles(exportedTypes(wish)),
    ...[...tenantAccess(wish.tenants), ...serviceAccess(), workspaceType(wish.path)].map(managedObject),
  ];
}
