import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { formatApiVersion } from "./kind.ts";
import { workloadTypes } from "./workload-types.ts";

/** A workload type that TMC syncs. */
export type WorkloadType = Readonly<{
  type: ResourceType;
  apiVersion: string;
  kind: string;
  /** Whether TMC's export serves the type, so that TMC may write finalizers and status. False for claimed types. */
  isOffered: boolean;
  /** Set for a type that an operator has added. */
  custom?: CustomWorkload | undefined;
}>;

/** A custom type that an operator has added. */
export type CustomWorkload = Readonly<{
  definition: TypeDefinition;
  /** Whether the type has a status subresource. */
  hasStatus: boolean;
  statusRule: TypeStatusRule;
}>;

/** The CustomResourceDefinition to install on a cluster so that it serves a custom type. */
export type TypeDefinition = Readonly<{
  /** `databases.example.com` */
  name: string;
  version: string;
  kind: string;
  /** The spec of a CustomResourceDefinition. */
  spec: Readonly<Record<string, unknown>>;
  /** Annotations that the definition requires. */
  annotations?: Readonly<Record<string, string>> | undefined;
  /** Hash of the spec. */
  fingerprint: string;
  /** When the definition was created, if known. An older definition never replaces a newer one. */
  madeAt?: string | undefined;
}>;

/**
 * How the statuses of a custom resource are combined. `union`: the values of all clusters; `intersection`: the values that
 * all clusters share; `priority`: the status of the placement's first cluster that reports one; `latest`: the status that
 * changed last.
 */
export const statusStrategies = ["union", "intersection", "priority", "latest"] as const;
export type StatusStrategy = (typeof statusStrategies)[number];

/** How the operator configured status aggregation for a type. */
export type TypeStatusRule = Readonly<{
  strategy: StatusStrategy | undefined;
  /** Status fields that are summed over the clusters. */
  sum: ReadonlySet<string>;
}>;

/** The kinds of dependencies that a workload can reference. */
export type ReferenceKind = "ConfigMap" | "Secret" | "ServiceAccount" | "PersistentVolumeClaim";

/** The workload types that TMC's export serves. */
export const offeredWorkloads: readonly WorkloadType[] = workloadTypes.map((served) => ({
  type: { group: served.group, version: served.version, plural: served.plural },
  apiVersion: formatApiVersion(served),
  kind: served.kind,
  isOffered: true,
}));

/**
 * Types that kcp serves itself and that TMC reads through permission claims. They are synced as dependencies of workloads,
 * and as workloads only if a placement lists them in `workloadTypes`.
 */
export const claimedWorkloads: readonly WorkloadType[] = [
  claimedType("ConfigMap", "configmaps"),
  claimedType("Secret", "secrets"),
  claimedType("ServiceAccount", "serviceaccounts"),
];

/** Returns all workload types, including those that an operator adds. An added type never replaces a built-in one. */
export function allWorkloadTypes(customTypes: readonly WorkloadType[] = []): readonly WorkloadType[] {
  const all = new Map<string, WorkloadType>();
  for (const each of [...offeredWorkloads, ...claimedWorkloads, ...customTypes]) {
    const id = typeId(each.type);
    if (!all.has(id)) all.set(id, each);
  }
  return [...all.values()];
}

/** Returns whether a type is claimed. Caches keep only the metadata of claimed types. */
export function isClaimed({ type }: Pick<WorkloadType, "type">): boolean {
  return claimedWorkloads.some((each) => typeId(each.type) === typeId(type));
}

/** The resource types of the dependencies of workloads. */
export const referenceTypes: Readonly<Record<ReferenceKind, ResourceType>> = {
  ConfigMap: { group: "", version: "v1", plural: "configmaps" },
  Secret: { group: "", version: "v1", plural: "secrets" },
  ServiceAccount: { group: "", version: "v1", plural: "serviceaccounts" },
  PersistentVolumeClaim: { group: "", version: "v1", plural: "persistentvolumeclaims" },
};

/** Unique identifier of a type, `deployments.v1.apps`. It is the first part of a workload key. */
export type TypeId = `${string}.${string}.${string}`;

export function typeId({ plural, version, group }: ResourceType): TypeId {
  return `${plural}.${version}.${group}`;
}

function claimedType(kind: string, plural: string): WorkloadType {
  return { type: { group: "", version: "v1", plural }, apiVersion: "v1", kind, isOffered: false };
}
