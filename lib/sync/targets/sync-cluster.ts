import { isQuantity, parseQuantity, quantityToNumber } from "@tmc/kube/quantity.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import { findCondition } from "../../model/condition.ts";
import { labelsWithDerivedKeys } from "../../model/location-keys.ts";
import type { TargetCluster } from "../sync-objects.ts";

/** The taint by which somebody sends a cluster's work away; `tmc cluster drain` puts it there. */
export const drainTaint = "tmc.kcp.io/drain";

/** By the registration as it was read, which nobody changes: every look at every workload asks for all of them. */
const known = new WeakMap<ClusterRegistration, TargetCluster>();

/** Takes from a registration what sync needs of it. */
export function targetClusterOf(registration: ClusterRegistration): TargetCluster {
  const before = known.get(registration);
  if (before !== undefined) return before;
  const cluster = taken(registration);
  known.set(registration, cluster);
  return cluster;
}

function taken({ metadata, spec, status }: ClusterRegistration): TargetCluster {
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
