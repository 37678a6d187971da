import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { apiVersionOf } from "../api/kind.ts";
import { workloadTypes } from "../api/workload-types.ts";
import type { WorkloadType } from "./hub.ts";
import type { Reference } from "./references.ts";

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
export const referenceTypes: Readonly<Record<Reference["kind"], ResourceType>> = {
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
