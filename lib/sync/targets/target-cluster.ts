import { isQuantity, parseQuantity, quantityToNumber } from "@tmc/kube/quantity.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import { findCondition } from "../../model/condition.ts";
import { labelsWithDerivedKeys } from "../../model/location-keys.ts";
import type { TargetCluster } from "../sync-objects.ts";

/** The taint that evicts a cluster's workloads; `tmc cluster drain` sets it. */
export const drainTaint = "tmc.kcp.io/drain";

// Cached registrations are never modified, and every reconcile of every workload needs all of them.
const targetClusters = new WeakMap<ClusterRegistration, TargetCluster>();

/** The facts about a registered cluster that sync uses. */
export function targetClusterOf(registration: ClusterRegistration): TargetCluster {
  const cached = targetClusters.get(registration);
  if (cached !== undefined) return cached;
  const targetCluster = readTargetCluster(registration);
  targetClusters.set(registration, targetCluster);
  return targetCluster;
}

function readTargetCluster({ metadata, spec, status }: ClusterRegistration): TargetCluster {
  const cpu = status?.allocatable?.cpu;
  return {
    name: metadata.name ?? "",
    location: spec.location,
    labels: labelsWithDerivedKeys(metadata.labels ?? {}, spec.location),
    isReady: findCondition(status?.conditions, "Ready")?.status === "True",
    isDeleting: metadata.deletionTimestamp !== undefined,
    isDrained: (spec.taints ?? []).some(({ key, effect }) => key === drainTaint && effect === "NoExecute"),
    lastHeartbeat: status?.lastHeartbeat,
    apis:
      status?.apis === undefined
        ? undefined
        : new Set(
            status.apis.flatMap(({ groupVersion, kinds }) => (kinds ?? []).map((kind) => `${groupVersion} ${kind}`)),
          ),
    milliCpu: isQuantity(cpu) ? Math.round(quantityToNumber(parseQuantity(cpu)) * 1000) : undefined,
  };
}
