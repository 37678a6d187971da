import { clusterRegistration } from "../api/cluster-registration.ts";
import { workloadPlacement } from "../api/workload-placement.ts";
import type { ReconciledKind } from "../model/key.ts";
import type { ResourceType } from "../model/kube-object.ts";

/** The types of the reconciled kinds, the way URLs name them. */
export const reconciledTypes: Readonly<Record<ReconciledKind, ResourceType>> = {
  ClusterRegistration: typeOf(clusterRegistration),
  WorkloadPlacement: typeOf(workloadPlacement),
};

function typeOf({ group, version, plural }: ResourceType): ResourceType {
  return { group, version, plural };
}
