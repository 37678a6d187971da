import type { ResourceType } from "@tmc/kube/kube-object.ts";

export const reconciledKinds = ["ClusterRegistration", "WorkloadPlacement"] as const;
export type ReconciledKind = (typeof reconciledKinds)[number];

/** Identifies an object of our kinds, never what happened to it. Both kinds are cluster-scoped. */
export type ObjectKey = Readonly<{
  /** The name of the logical cluster, never its path; empty if upstream is a plain Kubernetes cluster. */
  logicalCluster: string;
  kind: ReconciledKind;
  name: string;
}>;

/** Identifies a workload. Type, namespace and name are one string, so that all keys have the same form in messages. */
export type WorkloadKey = Readonly<{
  logicalCluster: string;
  kind: "Workload";
  /** `deployments.v1.apps/shop/web` */
  name: string;
}>;

/** The key of a work item. */
export type WorkKey = ObjectKey | WorkloadKey;
export const workKinds = [...reconciledKinds, "Workload"] as const;

/** Identifies a workload within its logical cluster. */
export type WorkloadAddress = Readonly<{ type: ResourceType; namespace: string; name: string }>;

export function workloadKey(logicalCluster: string, { type, namespace, name }: WorkloadAddress): WorkloadKey {
  const { plural, version, group } = type;
  return { logicalCluster, kind: "Workload", name: `${plural}.${version}.${group}/${namespace}/${name}` };
}

/** Inverse of `workloadKey`; undefined for an invalid name. */
export function parseWorkloadKey({ name: text }: Pick<WorkloadKey, "name">): WorkloadAddress | undefined {
  const match = /^([a-z0-9-]+)\.([a-z0-9]+)\.([a-z0-9.-]*)\/([a-z0-9-]+)\/([^/|]+)$/.exec(text);
  const [, plural, version, group, namespace, name] = match ?? [];
  if (plural === undefined || version === undefined || group === undefined) return undefined;
  if (namespace === undefined || name === undefined) return undefined;
  return { type: { group, version, plural }, namespace, name };
}

/** Formats a key: `1k2x…|ClusterRegistration/east`, `1k2x…|Workload/deployments.v1.apps/shop/web`. */
export function formatKey({ logicalCluster, kind, name }: WorkKey): string {
  return `${logicalCluster}|${kind}/${name}`;
}

/** Inverse of `formatKey`; undefined for an invalid text. */
export function parseWorkKey(text: string): WorkKey | undefined {
  const match = /^([a-z0-9-]*)\|([A-Za-z]+)\/([^|]+)$/.exec(text);
  const [, logicalCluster, kindText, name] = match ?? [];
  const kind = workKinds.find((known) => known === kindText);
  if (logicalCluster === undefined || kind === undefined || name === undefined) return undefined;
  if (kind === "Workload") return parseWorkloadKey({ name }) === undefined ? undefined : { logicalCluster, kind, name };
  return name.includes("/") ? undefined : { logicalCluster, kind, name };
}
