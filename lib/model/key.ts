import type { ResourceType } from "@tmc/kube/kube-object.ts";

/** Our kinds that are reconciled. */
export const reconciledKinds = ["ClusterRegistration", "WorkloadPlacement"] as const;
export type ReconciledKind = (typeof reconciledKinds)[number];

/** Which object of our kinds, never what happened to it. Both are cluster-scoped. */
export type ObjectKey = Readonly<{
  /** The logical cluster's name, never its path; empty on a plain Kubernetes hub. */
  logicalCluster: string;
  kind: ReconciledKind;
  name: string;
}>;

/** Which workload; its type, namespace and name are in one text, so that every key has the same form on its way. */
export type WorkloadKey = Readonly<{
  logicalCluster: string;
  kind: "Workload";
  /** `deployments.v1.apps/shop/web` */
  name: string;
}>;

/** Whatever can be worked on. */
export type WorkKey = ObjectKey | WorkloadKey;
export const workKinds = [...reconciledKinds, "Workload"] as const;

/** A workload within its logical cluster. */
export type WorkloadAddress = Readonly<{ type: ResourceType; namespace: string; name: string }>;

/** The key of a workload. */
export function workloadKey(logicalCluster: string, { type, namespace, name }: WorkloadAddress): WorkloadKey {
  const { plural, version, group } = type;
  return { logicalCluster, kind: "Workload", name: `${plural}.${version}.${group}/${namespace}/${name}` };
}

/** Reads what `workloadKey` wrote; undefined for anything else. */
export function workloadAddress({ name: text }: Pick<WorkloadKey, "name">): WorkloadAddress | undefined {
  const match = /^([a-z0-9-]+)\.([a-z0-9]+)\.([a-z0-9.-]*)\/([a-z0-9-]+)\/([^/|]+)$/.exec(text);
  const [, plural, version, group, namespace, name] = match ?? [];
  if (plural === undefined || version === undefined || group === undefined) return undefined;
  if (namespace === undefined || name === undefined) return undefined;
  return { type: { group, version, plural }, namespace, name };
}

/** `1k2x…|ClusterRegistration/east`, `1k2x…|Workload/deployments.v1.apps/shop/web`: one text for one key. */
export function formatKey({ logicalCluster, kind, name }: WorkKey): string {
  return `${logicalCluster}|${kind}/${name}`;
}

/** Reads what `formatKey` wrote; undefined for anything else. */
export function parseKey(text: string): WorkKey | undefined {
  const match = /^([a-z0-9-]*)\|([A-Za-z]+)\/([^|]+)$/.exec(text);
  const [, logicalCluster, kindText, name] = match ?? [];
  const kind = workKinds.find((known) => known === kindText);
  if (logicalCluster === undefined || kind === undefined || name === undefined) return undefined;
  if (kind === "Workload") return workloadAddress({ name }) === undefined ? undefined : { logicalCluster, kind, name };
  return name.includes("/") ? undefined : { logicalCluster, kind, name };
}
