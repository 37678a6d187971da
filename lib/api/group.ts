/** The API group of our own kinds. */
export const group = "tmc.kcp.io";

/** The one version of our own kinds. */
export const version = "v1alpha1";

/** The APIExport that carries our kinds; named for the group, as kcp's own exports are. */
export const exportName = group;

/** The workspace that holds the APIExport unless an operator chose another. */
export const exportWorkspace = "root:tmc";

/** What the APIBinding is called in a tenant's workspace unless the tenant chose another name. */
export const bindingName = "tmc-binding";

/** The mark on every object that `tmc bootstrap` and `tmc bind` make; nothing without it is ever removed by them. */
export const managedByLabel = "app.kubernetes.io/managed-by";
export const managedByTmc = { [managedByLabel]: "tmc" } as const;

/** Tells whether an object carries our mark. */
export function isManagedByTmc({
  metadata,
}: Readonly<{ metadata: { labels?: Readonly<Record<string, string>> } }>): boolean {
  return metadata.labels?.[managedByLabel] === managedByTmc[managedByLabel];
}
