import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { clusterRegistration } from "../api/cluster-registration.ts";
import { formatApiVersion } from "../api/kind.ts";
import { isClaimed, type TypeId, typeId, type WorkloadType } from "../api/workload-kinds.ts";
import { workloadPlacement } from "../api/workload-placement.ts";
import { type WorkloadSync, workloadSync } from "../api/workload-sync.ts";
import type { ReconciledKind, WorkloadAddress } from "../model/key.ts";

/**
 * A resource that TMC watches upstream in order to sync workloads: workloads themselves, their dependencies, their sync records,
 * and the namespaces of all of these.
 */
export type WatchedResource = Readonly<{
  /** `deployments.v1.apps` */
  id: TypeId;
  type: ResourceType;
  apiVersion: string;
  kind: string;
  role: "workload" | "claimed" | "record" | "namespace";
}>;

const { group, version, plural } = workloadSync;

/** The sync records. */
export const recordResource: WatchedResource = watchedResourceOf(
  { type: { group, version, plural }, apiVersion: formatApiVersion(workloadSync), kind: workloadSync.kind },
  "record",
);

/** The namespaces of tenants; placements select by their labels. */
export const namespaceResource: WatchedResource = watchedResourceOf(
  { type: { group: "", version: "v1", plural: "namespaces" }, apiVersion: "v1", kind: "Namespace" },
  "namespace",
);

/** All resources to watch for these workload types. */
export function watchedResources(types: readonly WorkloadType[]): readonly WatchedResource[] {
  return [
    recordResource,
    namespaceResource,
    ...types.map((type) => watchedResourceOf(type, isClaimed(type) ? "claimed" : "workload")),
  ];
}

/** Whether TMC reads only the metadata of a resource. */
export function isMetadataOnly({ role }: Pick<WatchedResource, "role">): boolean {
  return role === "claimed" || role === "namespace";
}

/** The workload of a sync record; undefined if its type is not synced. */
export function workloadAddressOf(
  { metadata, spec }: Pick<WorkloadSync, "metadata" | "spec">,
  types: readonly WorkloadType[],
): WorkloadAddress | undefined {
  const { apiVersion, kind, name } = spec.workload;
  const found = types.find((each) => each.kind === kind && each.apiVersion === apiVersion);
  return found === undefined ? undefined : { type: found.type, namespace: metadata.namespace ?? "", name };
}

function watchedResourceOf(
  { type, apiVersion, kind }: Pick<WorkloadType, "type" | "apiVersion" | "kind">,
  role: WatchedResource["role"],
): WatchedResource {
  return { id: typeId(type), type, apiVersion, kind, role };
}

/** The resource types of the reconciled kinds. */
export const reconciledTypes: Readonly<Record<ReconciledKind, ResourceType>> = {
  ClusterRegistration: typeOf(clusterRegistration),
  WorkloadPlacement: typeOf(workloadPlacement),
};

function typeOf({ group, version, plural }: ResourceType): ResourceType {
  return { group, version, plural };
}
