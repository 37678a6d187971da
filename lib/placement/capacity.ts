import { formatQuantity, type Quantity } from "@tmc/kube/quantity.ts";
import { nothingReserved, type ReservedByCluster, type ReservedResources } from "../model/reserved-resources.ts";
import type { Filter } from "./filters.ts";
import type { ClusterFacts } from "./observed.ts";
import type { ParsedSpec, ResourceRequest } from "./parsed-spec.ts";

/** A placement that lacks clusters because they are full is decided again this often: no change of a cluster says that room was freed. */
export const capacityRecheckSeconds = 60;

/**
 * The filter that rejects clusters whose free resources are less than the placement requests. Free is what the nodes offer minus
 * what the other placements have reserved. It applies to new clusters only: a selected cluster stays selected.
 *
 * It is not one of `filters`, because it depends on the other placements and not only on the cluster.
 */
export function capacityFilter(reserved: ReservedByCluster): Filter {
  const freeOf = ({ resource }: ResourceRequest, { name, allocatable }: ClusterFacts): Quantity | undefined => {
    const has = allocatable[resource]?.quantity;
    if (has === undefined) return undefined;
    const free = has.nanos - (reserved.get(name)?.[resource] ?? 0n);
    return { nanos: free > 0n ? free : 0n, format: has.format };
  };
  const isShort = (request: ResourceRequest, cluster: ClusterFacts): boolean => {
    const free = freeOf(request, cluster);
    return free !== undefined && free.nanos < request.quantity.nanos;
  };
  return {
    reason: "InsufficientCapacity",
    isRelevant: ({ resources }) => resources.length > 0,
    fails: ({ resources }, cluster) =>
      resources.length > 0 &&
      reserved.get(cluster.name) !== undefined &&
      resources.some((each) => isShort(each, cluster)),
    detail: ({ resources }, cluster) => {
      const request = resources.find((each) => isShort(each, cluster));
      const has = request && cluster.allocatable[request.resource]?.quantity;
      const free = request && freeOf(request, cluster);
      if (request === undefined || has === undefined || free === undefined) return {};
      return {
        rule: `resources.${request.resource}`,
        expected: request.text,
        actual: `${formatQuantity(free)} of ${formatQuantity(has)} ${request.resource}`,
      };
    },
    remedy: ({ resources }, cluster) =>
      `${resources
        .filter((each) => isShort(each, cluster))
        .map(({ text }) => text)
        .join(" and ")} free`,
  };
}

/**
 * Returns the rank of a cluster by `spec.scoring`, the lowest first; undefined if the spec has none. As in kube-scheduler, the
 * share of a cluster is the mean of CPU and memory and includes the request itself. A cluster of unknown size ranks last.
 */
export function allocationRank(
  { scoring, resources }: ParsedSpec,
  reserved: ReservedByCluster | undefined,
): ((cluster: ClusterFacts) => number) | undefined {
  if (scoring === undefined) return undefined;
  const own = new Map(resources.map(({ resource, quantity }) => [resource, quantity.nanos]));
  return ({ name, allocatable }) => {
    const others: ReservedResources = reserved?.get(name) ?? nothingReserved;
    let sum = 0;
    for (const resource of ["cpu", "memory"] as const) {
      const has = allocatable[resource];
      if (has === undefined || has.units <= 0) return Infinity;
      sum += Number(others[resource] + (own.get(resource) ?? 0n)) / 1e9 / has.units;
    }
    return scoring === "LeastAllocated" ? sum / 2 : -sum / 2;
  };
}
