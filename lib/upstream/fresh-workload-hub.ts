import { neverAborted, unlessAborted } from "@tmc/kube/deadline.ts";
import { createTrimmer } from "@tmc/kube/informer/trim-object.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { isClaimed, typeId } from "../api/workload-kinds.ts";
import { createBatchLists } from "./batch-lists.ts";
import type { CachedAddress } from "./workload-cache.ts";
import { createWorkloadHub, type FlushableWorkloadHub, type WorkloadHubOptions } from "./workload-hub.ts";
import { createWorkloadRequests } from "./workload-requests.ts";

/** A workload hub without a cache: it keeps nothing from one batch of keys to the next. */
export type FreshWorkloadHub = FlushableWorkloadHub &
  Readonly<{
    /** Drops the lists and namespaces of the last batch: decisions after this call use what is read after it. */
    beginBatch(): void;
  }>;

export type FreshWorkloadHubOptions = WorkloadHubOptions & Readonly<{ types: readonly WorkloadType[] }>;

/** Creates the workload hub of processes without watches: Lambda functions, and workers whose keys come from another process. */
export function createFreshWorkloadHub(options: FreshWorkloadHubOptions): FreshWorkloadHub {
  const { client, types, onWrite } = options;
  const requests = createWorkloadRequests(client, onWrite);
  const trim = createTrimmer();
  const lists = createBatchLists();

  const merge = (address: CachedAddress, object: KubeObject): KubeObject => {
    lists.upsert(listId(address), object);
    return object;
  };
  const read = async (address: CachedAddress, signal: AbortSignal): Promise<KubeObject | undefined> => {
    const object = await requests.get(address, signal);
    return object === undefined ? undefined : merge(address, object);
  };

  /** All workloads that a placement selects read the same few namespaces. */
  const namespaces = new Map<string, Promise<KubeObject | undefined>>();
  const readNamespace = (address: CachedAddress, signal: AbortSignal): Promise<KubeObject | undefined> => {
    const id = `${address.logicalCluster}/${address.name}`;
    // Without the caller's signal: several callers share the request, and each of them may abort.
    const reading = namespaces.get(id) ?? requests.getMetadata(address, neverAborted);
    namespaces.set(id, reading);
    reading.catch(() => {
      if (namespaces.get(id) === reading) namespaces.delete(id); // the next caller retries
    });
    return unlessAborted(reading, signal);
  };

  const hub = createWorkloadHub(
    {
      read,
      readRecord: read,
      readUncached: requests.get,
      getMetadata: (address, signal) =>
        address.namespace === "" ? readNamespace(address, signal) : requests.getMetadata(address, signal),
      list: (type, logicalCluster, signal) => {
        const metadata = isClaimed({ type });
        const { apiVersion = "", kind = "" } = types.find((each) => typeId(each.type) === typeId(type)) ?? {};
        // The server names metadata-only objects PartialObjectMetadata.
        const withKind = (object: KubeObject): KubeObject => trim(metadata ? { ...object, apiVersion, kind } : object);
        const readList = () => requests.list(type, logicalCluster, { metadata, transform: withKind });
        return lists.list(listId({ logicalCluster, type }), readList, signal);
      },
      listUncached: (type, logicalCluster) => requests.list(type, logicalCluster, { metadata: false, transform: trim }),
      invalidate: (type, logicalCluster) => lists.invalidate(listId({ logicalCluster, type })),
      patch: async (address, part, patch, signal) => merge(address, await requests.patch(address, part, patch, signal)),
      create: async (address, object, signal) => merge(address, await requests.create(address, object, signal)),
      remove: requests.remove,
    },
    types,
    options,
  );
  const beginBatch = (): void => {
    lists.clear();
    namespaces.clear();
  };
  return { ...hub, beginBatch };
}

const listId = ({ logicalCluster, type }: Pick<CachedAddress, "logicalCluster" | "type">): string =>
  `${logicalCluster}|${typeId(type)}`;
