import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatTarget } from "@tmc/kube/paths.ts";
import { typeId } from "../api/workload-kinds.ts";
import { isMetadataOnly, watchedResources } from "./watched-resources.ts";
import type { CachedAddress, WorkloadCache } from "./workload-cache.ts";
import { createWorkloadHub, type FlushableWorkloadHub, type WorkloadHubOptions } from "./workload-hub.ts";
import { createWorkloadRequests, isDeletionComplete } from "./workload-requests.ts";

export type CachedWorkloadHubOptions = WorkloadHubOptions &
  Readonly<{
    /** Fed by the relay; answers reads and lists. */
    cache: WorkloadCache;
  }>;

/**
 * Creates the workload hub of a process whose relay watches workloads.
 *
 * A cached object is returned without a request unless it is stale. An object that is not cached is read from the server before
 * it counts as gone. The only exception are sync records after their first list: a missing one counts as not there, because
 * creating it would fail if it existed. A write is one request, and its answer is in the cache before the next read.
 */
export function createCachedWorkloadHub(options: CachedWorkloadHubOptions): FlushableWorkloadHub {
  const { client, cache, onWrite } = options;
  const requests = createWorkloadRequests(client, onWrite);

  const readUncached = async (
    address: CachedAddress,
    get: (address: CachedAddress, signal: AbortSignal) => Promise<KubeObject | undefined>,
    signal: AbortSignal,
  ): Promise<KubeObject | undefined> => {
    const answered = cache.request(address);
    return answered(await get(address, signal));
  };
  const wholeTypes = new Set(
    watchedResources(cache.types).flatMap((resource) => (isMetadataOnly(resource) ? [] : [resource.id])),
  );
  const isWhole = ({ type }: CachedAddress): boolean => wholeTypes.has(typeId(type));
  const known = (address: CachedAddress): KubeObject | undefined =>
    cache.isStale(address) ? undefined : cache.get(address);
  const markStaleAfter = (address: CachedAddress, error: unknown): void => {
    const fault = faultOf(error);
    // The cached object is outdated, or may be: a broken connection leaves open whether the server stored the write.
    if (fault === "conflict" || fault === "not-found" || fault === "unreachable" || fault === "exists") {
      cache.markStale(address);
    }
  };

  return createWorkloadHub(
    {
      read: async (address, signal) => known(address) ?? readUncached(address, requests.get, signal),
      // A type that is cached completely is never answered with metadata only.
      getMetadata: async (address, signal) =>
        known(address) ?? readUncached(address, isWhole(address) ? requests.get : requests.getMetadata, signal),
      readRecord: async (address, signal) => {
        const { logicalCluster, type } = address;
        if (cache.isListed(logicalCluster, type) && !cache.isStale(address)) return cache.get(address);
        return readUncached(address, requests.get, signal);
      },
      readUncached: requests.get,
      list: async (type, logicalCluster) => {
        if (cache.isListed(logicalCluster, type)) return cache.list(type, logicalCluster);
        const scope = logicalCluster || "the cluster";
        throw new ControllerError(
          "unreachable",
          `upstream: list ${formatTarget({ type })} in ${scope}: not listed yet`,
        );
      },
      listUncached: (type, logicalCluster) =>
        requests.list(type, logicalCluster, { metadata: false, transform: (object) => object }),
      patch: async (address, part, patch, signal) => {
        const answered = cache.request(address);
        try {
          const answer = await requests.patch(address, part, patch, signal);
          const object = answered(answer) ?? answer;
          if (isDeletionComplete(answer)) cache.remove(address, answer.metadata.resourceVersion);
          return object;
        } catch (error) {
          markStaleAfter(address, error);
          throw error;
        }
      },
      create: async (address, object, signal) => {
        const answered = cache.request(address);
        try {
          const created = await requests.create(address, object, signal);
          return answered(created) ?? created;
        } catch (error) {
          markStaleAfter(address, error);
          throw error;
        }
      },
      remove: async (address, seen, signal) => {
        // The object may be gone, or still wait for a finalizer: only the server knows.
        cache.markStale(address);
        await requests.remove(address, seen, signal);
      },
    },
    cache.types,
    options,
  );
}
