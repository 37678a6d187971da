/** The kinds that are reconciled. */
export const reconciledKinds = ["ClusterRegistration", "WorkloadPlacement"] as const;
export type ReconciledKind = (typeof reconciledKinds)[number];

/** Which object, never what happened to it. Both kinds so far are cluster-scoped. */
export type ObjectKey = Readonly<{
  /** The logical cluster's name, never its path; empty on a plain Kubernetes hub. */
  cluster: string;
  kind: ReconciledKind;
  name: string;
}>;

/** `1k2x…|ClusterRegistration/east`: one text for one key. */
export function formatKey({ cluster, kind, name }: ObjectKey): string {
  return `${cluster}|${kind}/${name}`;
}

/** Reads what `formatKey` wrote; undefined for anything else. */
export function parseKey(text: string): ObjectKey | undefined {
  const match = /^([a-z0-9-]*)\|([A-Za-z]+)\/([^/|]+)$/.exec(text);
  const [, cluster, kindText, name] = match ?? [];
  const kind = reconciledKinds.find((known) => known === kindText);
  if (cluster === undefined || kind === undefined || name === undefined) return undefined;
  return { cluster, kind, name };
}
