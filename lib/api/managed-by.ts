/** The mark on every object that `tmc bootstrap` and `tmc bind` make; nothing without it is ever removed by them. */
export const managedByLabel = "app.kubernetes.io/managed-by";
export const managedByTmc = { [managedByLabel]: "tmc" } as const;

/** Tells whether an object carries our mark. */
export function isManagedByTmc({
  metadata,
}: Readonly<{ metadata: { labels?: Readonly<Record<string, string>> } }>): boolean {
  return metadata.labels?.[managedByLabel] === managedByTmc[managedByLabel];
}
