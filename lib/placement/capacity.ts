import { formatQuantity, type Quantity } from "@tmc/kube/quantity.ts";
import {
  addResources,
  nothingReserved,
  type ReservedByCluster,
  type ReservedResources,
} from "../model/reserved-resources.ts";
import type { Filter } from "./filters.ts";
import type { ClusterFacts } from "./observed.ts";
import type { ParsedSpec, ResourceRequest } from "./parsed-spec.ts";

/** A placement that lacks clusters because they are full is decided again this often: no change of a cluster says that room was freed. */
export const capacityRecheckSeconds = 60;

/**
 * The filter that rejects clusters whose free resources are less than the placement requests. Free is what the nodes offer minus
 * what the other placements have reserved, and what pods request that TMC did not place. It applies to new clusters only: a selected cluster stays selected.
 *
 * It is not one of `filters`, because it depends on the other placements and not only on the cluster.
 */
export function capacityFilter(reserved: ReservedByCluster): Filter {
  const freeOf = ({ resource }: ResourceRequest, cluster: ClusterFacts): Quantity | undefined =>
    freeResources(cluster, reserved.get(cluster.name), resource);
  const isShort = (request: ResourceRequest, cluster: ClusterFacts): boolean => {
    const free = freeOf(request, cluster);
    return free !== undefined && free.nanos < request.quantity.nanos;
  };
  return {
    reason: "InsufficientCapacity",
    isRelevant: ({ resources }) => resources.length > 0,
    fails: ({ resources }, cluster) =>
      resources.length > 0 &&
      (reserved.get(cluster.name) !== undefined || cluster.otherPods !== undefined) &&
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

type Resource = ResourceRequest["resource"];

/** What is free on a cluster; undefined if its size is not known. */
function freeResources(
  { allocatable, otherPods }: ClusterFacts,
  reserved: ReservedResources | undefined,
  resource: Resource,
): Quantity | undefined {
  const has = allocatable[resource]?.quantity;
  if (has === undefined) return undefined;
  const free = has.nanos - (reserved?.[resource] ?? 0n) - (otherPods?.[resource] ?? 0n);
  return { nanos: free > 0n ? free : 0n, format: has.format };
}

/** How a resource of a cluster is used, for people. */
export type ResourceUse = Readonly<{
  resource: Resource;
  allocatable: string;
  /** By the other placements of the workspace. */
  reserved: string;
  /** By pods that TMC did not place; unset if that is not known. */
  otherPods?: string;
  free: string;
}>;

/** Returns how the resources that a placement requests are used on a cluster; empty if its size is not known. */
export function resourceUse(
  { resources }: ParsedSpec,
  cluster: ClusterFacts,
  reserved: ReservedByCluster | undefined,
): readonly ResourceUse[] {
  return resources.flatMap(({ resource }): readonly ResourceUse[] => {
    const has = cluster.allocatable[resource]?.quantity;
    const sum = reserved?.get(cluster.name);
    const free = freeResources(cluster, sum, resource);
    if (has === undefined || free === undefined) return [];
    const format = (nanos: bigint): string => formatQuantity({ nanos, format: has.format });
    const { otherPods } = cluster;
    return [
      {
        resource,
        allocatable: formatQuantity(has),
        reserved: format(sum?.[resource] ?? 0n),
        ...(otherPods !== undefined && { otherPods: format(otherPods[resource]) }),
        free: formatQuantity(free),
      },
    ];
  });
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
  return ({ name, allocatable, otherPods }) => {
    const others = addResources(reserved?.get(name) ?? nothingReserved, otherPods ?? nothingReserved);
    let sum = 0;
    for (const resource of ["cpu", "memory"] as const) {
      const has = allocatable[resource];
      if (has === undefined || has.units <= 0) return Infinity;
      sum += Number(others[resource] + (own.get(resource) ?? 0n)) / 1e9 / has.units;
    }
    return scoring === "LeastAllocated" ? sum / 2 : -sum / 2;
  };
}
