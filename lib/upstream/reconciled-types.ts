import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { clusterRegistration } from "../api/cluster-registration.ts";
import { workloadPlacement } from "../api/workload-placement.ts";
import type { ReconciledKind } from "../model/key.ts";

/** The resource types of the reconciled kinds. */
export const reconciledTypes: Readonly<Record<ReconciledKind, ResourceType>> = {
  ClusterRegistration: typeOf(clusterRegistration),
  WorkloadPlacement: typeOf(workloadPlacement),
};

function typeOf({ group, version, plural }: ResourceType): ResourceType {
  return { group, version, plural };
}
