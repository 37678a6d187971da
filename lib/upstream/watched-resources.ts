import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { apiVersionOf } from "../api/kind.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { isClaimed, type TypeId, typeId } from "../api/workload-kinds.ts";
import { type WorkloadSync, workloadSync } from "../api/workload-sync.ts";
import type { WorkloadAddress } from "../model/key.ts";

/**
 * A type that is looked at for the sake of workloads: workloads themselves, what comes along with them, TMC's records of
 * them, and the namespaces that all of these are in.
 */
export type WorkloadLane = Readonly<{
  /** `deployments.v1.apps` */
  id: TypeId;
  type: ResourceType;
  apiVersion: string;
  kind: string;
  role: "workload" | "claimed" | "record" | "namespace";
}>;

const { group, version, plural } = workloadSync;

/** TMC's records of workloads. */
export const recordLane: WorkloadLane = laneOf(
  { type: { group, version, plural }, apiVersion: apiVersionOf(workloadSync), kind: workloadSync.kind },
  "record",
);

/** The namespaces of tenants, for their labels. */
export const namespaceLane: WorkloadLane = laneOf(
  { type: { group: "", version: "v1", plural: "namespaces" }, apiVersion: "v1", kind: "Namespace" },
  "namespace",
);

/** Everything that is looked at for the sake of these types of workloads. */
export function workloadLanes(types: readonly WorkloadType[]): readonly WorkloadLane[] {
  return [recordLane, namespaceLane, ...types.map((type) => laneOf(type, isClaimed(type) ? "claimed" : "workload"))];
}

/** Whether nobody needs more of a type's objects than their metadata. */
export function isMetadataOnly({ role }: Pick<WorkloadLane, "role">): boolean {
  return role === "claimed" || role === "namespace";
}

/** The workload that a record is about; undefined for one of a type that is not looked after. */
export function workloadOfRecord(
  { metadata, spec }: Pick<WorkloadSync, "metadata" | "spec">,
  types: readonly WorkloadType[],
): WorkloadAddress | undefined {
  const { apiVersion, kind, name } = spec.workload;
  const found = types.find((each) => each.kind === kind && each.apiVersion === apiVersion);
  return found === undefined ? undefined : { type: found.type, namespace: metadata.namespace ?? "", name };
}

function laneOf(
  { type, apiVersion, kind }: Pick<WorkloadType, "type" | "apiVersion" | "kind">,
  role: WorkloadLane["role"],
): WorkloadLane {
  return { id: typeId(type), type, apiVersion, kind, role };
}
