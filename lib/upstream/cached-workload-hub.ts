import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { formatTarget } from "@tmc/kube/paths.ts";
import { typeId } from "../api/workload-kinds.ts";
import { isMetadataOnly, workloadLanes } from "./watched-resources.ts";
import type { SeenAddress, WorkloadCache } from "./workload-cache.ts";
import { type TellingWorkloadHub, type WorkloadHubParts, workloadHubOf } from "./workload-hub.ts";
import { createWorkloadRequests, isOver } from "./workload-requests.ts";

export type CachedWorkloadHubOptions = WorkloadHubParts &
  Readonly<{
    /** What the relay has seen; reads and lists are answered from it. */
    cache: WorkloadCache;
  }>;

/**
 * Creates the hub of workloads of a process whose relay watches them.
 *
 * What the cache has is answered without a request, unless it is in doubt. What the cache does not have is asked for before it
 * counts as gone; only a record that was not seen is none, because creating it would say otherwise. A write is one request,
 * and what it answers is in the cache before anyone reads again.
 */
export function createCachedWorkloadHub(options: CachedWorkloadHubOptions): TellingWorkloadHub {
  const { client, cache, onWrite } = options;
  const requests = createWorkloadRequests(client, onWrite);

  const ask = async (
    address: SeenAddress,
    get: (address: SeenAddress, signal: AbortSignal) => Promise<KubeObject | undefined>,
    signal: AbortSignal,
  ): Promise<KubeObject | undefined> => {
    const before = cache.get(address)?.metadata.resourceVersion;
    const object = await get(address, signal);
    if (object === undefined) {
      // The one that was in doubt is gone. One that the watch has brought while we asked is another.
      cache.takeGone(address, before);
      return cache.get(address);
    }
    cache.trust(address);
    return cache.takeAnswer(address, object);
  };
  const wholeTypes = new Set(workloadLanes(cache.types).flatMap((lane) => (isMetadataOnly(lane) ? [] : [lane.id])));
  const isWhole = ({ type }: SeenAddress): boolean => wholeTypes.has(typeId(type));
  const known = (address: SeenAddress): KubeObject | undefined =>
    cache.isDoubted(address) ? undefined : cache.get(address);
  const doubtAfter = (address: SeenAddress, error: unknown): void => {
    const fault = faultOf(error);
    // Whatever the cache said was not so, or may be so no longer: a cut connection tells nothing about the write.
    if (fault === "conflict" || fault === "not-found" || fault === "unreachable" || fault === "exists") {
      cache.doubt(address);
    }
  };

  return workloadHubOf(
    {
      read: async (address, signal) => known(address) ?? ask(address, requests.get, signal),
      // What the cache keeps whole is not given half.
      getMetadata: async (address, signal) =>
        known(address) ?? ask(address, isWhole(address) ? requests.get : requests.getMetadata, signal),
      readRecord: async (address, signal) => {
        const { logicalCluster, type } = address;
        if (cache.isListed(logicalCluster, type) && !cache.isDoubted(address)) return cache.get(address);
        return ask(address, requests.get, signal);
      },
      readFresh: requests.get,
      list: async (type, logicalCluster) => {
        if (cache.isListed(logicalCluster, type)) return cache.list(type, logicalCluster);
        const where = logicalCluster || "the cluster";
        throw new ControllerError("unreachable", `hub: list ${formatTarget({ type })} in ${where}: not listed yet`);
      },
      patch: async (address, part, patch, signal) => {
        try {
          const answer = await requests.patch(address, part, patch, signal);
          const object = cache.takeAnswer(address, answer);
          if (isOver(answer)) cache.takeGone(address, answer.metadata.resourceVersion);
          return object;
        } catch (error) {
          doubtAfter(address, error);
          throw error;
        }
      },
      create: async (address, object, signal) => {
        const admit = cache.admit(address);
        try {
          const created = await requests.create(address, object, signal);
          admit(created);
          return cache.takeAnswer(address, created);
        } catch (error) {
          admit();
          doubtAfter(address, error);
          throw error;
        }
      },
      remove: async (address, seen, signal) => {
        // Whether it has gone, or waits for somebody's finalizer, the server says.
        cache.doubt(address);
        await requests.remove(address, seen, signal);
      },
    },
    cache.types,
    options,
  );
}
