import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { apiVersionOf } from "./kind.ts";
import { workloadTypes } from "./workload-types.ts";

/** A type of workload as the hub serves it. */
export type WorkloadType = Readonly<{
  type: ResourceType;
  apiVersion: string;
  kind: string;
  /** Whether TMC may write finalizers and status of its objects: those of types that it offers itself, not of claimed ones. */
  isOffered: boolean;
  /** For a type that an operator has added: what a cluster needs to serve it, and how statuses of it become one. */
  custom?: CustomWorkload | undefined;
}>;

/** What is known of a type that an operator has added. */
export type CustomWorkload = Readonly<{
  definition: TypeDefinition;
  /** Whether its objects have a status of their own. */
  hasStatus: boolean;
  statusRule: TypeStatusRule;
}>;

/** What a cluster has to be given so that it serves a type which is not Kubernetes' own. */
export type TypeDefinition = Readonly<{
  /** `databases.example.com` */
  name: string;
  /** The only version of it. */
  version: string;
  kind: string;
  /** The spec of a CustomResourceDefinition. */
  spec: Readonly<Record<string, unknown>>;
  /** Annotations that it cannot be without. */
  annotations?: Readonly<Record<string, string>> | undefined;
  /** The same text as long as the spec says the same. */
  fingerprint: string;
  /** When it came to be, where that is known: an older one never takes the place of a newer. */
  madeAt?: string | undefined;
}>;

/**
 * `union`: whatever any cluster says; `intersection`: what all of them say; `priority`: the word of the first of the
 * placement's clusters that is heard from; `latest`: the word of the one of which we last heard something new.
 */
export const statusStrategies = ["union", "intersection", "priority", "latest"] as const;
export type StatusStrategy = (typeof statusStrategies)[number];

/** What the operator says of the statuses of a type. */
export type TypeStatusRule = Readonly<{
  strategy: StatusStrategy | undefined;
  /** Fields that count things which each cluster has its own of. */
  sum: ReadonlySet<string>;
}>;

/** The kinds of objects that a workload can refer to. */
export type ReferenceKind = "ConfigMap" | "Secret" | "ServiceAccount" | "PersistentVolumeClaim";

/** The types of workloads that TMC offers itself. */
export const offeredWorkloads: readonly WorkloadType[] = workloadTypes.map((served) => ({
  type: { group: served.group, version: served.version, plural: served.plural },
  apiVersion: apiVersionOf(served),
  kind: served.kind,
  isOffered: true,
}));

/**
 * The types that kcp serves by itself and that tenants let TMC read. They come along with workloads, and are workloads only
 * where a placement names them.
 */
export const claimedWorkloads: readonly WorkloadType[] = [
  claimed("ConfigMap", "configmaps"),
  claimed("Secret", "secrets"),
  claimed("ServiceAccount", "serviceaccounts"),
];

/** Every type that is looked after, with those that an operator adds; none of these takes the place of one of ours. */
export function workloadKindsWith(more: readonly WorkloadType[] = []): readonly WorkloadType[] {
  const all = new Map<string, WorkloadType>();
  for (const each of [...offeredWorkloads, ...claimedWorkloads, ...more]) {
    const id = typeId(each.type);
    if (!all.has(id)) all.set(id, each);
  }
  return [...all.values()];
}

/** Whether a type is one of those that come along: of these nobody keeps more than their metadata. */
export function isClaimed({ type }: Pick<WorkloadType, "type">): boolean {
  return claimedWorkloads.some((each) => typeId(each.type) === typeId(type));
}

/** The types of what workloads refer to. */
export const referenceTypes: Readonly<Record<ReferenceKind, ResourceType>> = {
  ConfigMap: { group: "", version: "v1", plural: "configmaps" },
  Secret: { group: "", version: "v1", plural: "secrets" },
  ServiceAccount: { group: "", version: "v1", plural: "serviceaccounts" },
  PersistentVolumeClaim: { group: "", version: "v1", plural: "persistentvolumeclaims" },
};

/** `deployments.v1.apps`: one text for one type, as keys of workloads begin. */
export type TypeId = `${string}.${string}.${string}`;

/** The text for a type. */
export function typeId({ plural, version, group }: ResourceType): TypeId {
  return `${plural}.${version}.${group}`;
}

function claimed(kind: string, plural: string): WorkloadType {
  return { type: { group: "", version: "v1", plural }, apiVersion: "v1", kind, isOffered: false };
}
