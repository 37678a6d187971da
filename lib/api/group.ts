/** API group of TMC's kinds. */
export const group = "tmc.kcp.io";

/** The only version of TMC's kinds. */
export const version = "v1alpha1";

/** Name of the APIExport. It equals the group, as for kcp's own exports. */
export const exportName = group;

/** Default workspace of the APIExport. */
export const exportWorkspace = "root:tmc";

/** Default name of the APIBinding in a tenant's workspace. */
export const bindingName = "tmc-binding";

/** Label on every object that `tmc bootstrap` and `tmc bind` create. `tmc uninstall` and `tmc unbind` delete no object without it. */
export const managedByLabel = "app.kubernetes.io/managed-by";
export const managedByTmc = { [managedByLabel]: "tmc" } as const;

/** Returns whether an object has TMC's managed-by label. */
export function isManagedByTmc({
  metadata,
}: Readonly<{ metadata: { labels?: Readonly<Record<string, string>> } }>): boolean {
  return metadata.labels?.[managedByLabel] === managedByTmc[managedByLabel];
}
