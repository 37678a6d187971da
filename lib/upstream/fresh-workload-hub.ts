import { neverAborted, unlessAborted } from "@tmc/kube/deadline.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createSlimmer } from "@tmc/kube/slim-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { isClaimed, typeId } from "../api/workload-kinds.ts";
import { createBatchLists } from "./batch-lists.ts";
import type { SeenAddress } from "./workload-cache.ts";
import { type TellingWorkloadHub, type WorkloadHubParts, workloadHubOf } from "./workload-hub.ts";
import { createWorkloadRequests } from "./workload-requests.ts";

/** A hub of workloads that keeps nothing from one batch of work to the next. */
export type FreshWorkloadHub = TellingWorkloadHub &
  Readonly<{
    /** Forgets the lists and namespaces that were read: what is decided from now on is decided on what is read from now on. */
    beginBatch(): void;
  }>;

export type FreshWorkloadHubOptions = WorkloadHubParts & Readonly<{ types: readonly WorkloadType[] }>;

/** Creates the hub of workloads of processes that watch nothing: functions, and workers that are told by another's relay. */
export function createFreshWorkloadHub(options: FreshWorkloadHubOptions): FreshWorkloadHub {
  const { client, types, onWrite } = options;
  const requests = createWorkloadRequests(client, onWrite);
  const slim = createSlimmer();
  const lists = createBatchLists();

  const note = (address: SeenAddress, object: KubeObject): KubeObject => {
    lists.note(listId(address), object);
    return object;
  };
  const read = async (address: SeenAddress, signal: AbortSignal): Promise<KubeObject | undefined> => {
    const object = await requests.get(address, signal);
    return object === undefined ? undefined : note(address, object);
  };

  /** Whole selections ask for the same few namespaces. */
  const namespaces = new Map<string, Promise<KubeObject | undefined>>();
  const readNamespace = (address: SeenAddress, signal: AbortSignal): Promise<KubeObject | undefined> => {
    const id = `${address.logicalCluster}/${address.name}`;
    // Nobody's signal: who waits for it are several, and each of them may leave.
    const reading = namespaces.get(id) ?? requests.getMetadata(address, neverAborted);
    namespaces.set(id, reading);
    reading.catch(() => {
      if (namespaces.get(id) === reading) namespaces.delete(id); // whoever asks next tries again
    });
    return unlessAborted(reading, signal);
  };

  const hub = workloadHubOf(
    {
      read,
      readRecord: read,
      readFresh: requests.get,
      getMetadata: (address, signal) =>
        address.namespace === "" ? readNamespace(address, signal) : requests.getMetadata(address, signal),
      list: (type, logicalCluster, signal) => {
        const metadata = isClaimed({ type });
        const { apiVersion = "", kind = "" } = types.find((each) => typeId(each.type) === typeId(type)) ?? {};
        // What answers requests for metadata alone calls it by another name.
        const named = (object: KubeObject): KubeObject => slim(metadata ? { ...object, apiVersion, kind } : object);
        const readList = () => requests.list(type, logicalCluster, { metadata, slim: named });
        return lists.list(listId({ logicalCluster, type }), readList, signal);
      },
      renew: (type, logicalCluster) => lists.renew(listId({ logicalCluster, type })),
      patch: async (address, part, patch, signal) => note(address, await requests.patch(address, part, patch, signal)),
      create: async (address, object, signal) => note(address, await requests.create(address, object, signal)),
      remove: requests.remove,
    },
    types,
    options,
  );
  const beginBatch = (): void => {
    lists.begin();
    namespaces.clear();
  };
  return { ...hub, beginBatch };
}

const listId = ({ logicalCluster, type }: Pick<SeenAddress, "logicalCluster" | "type">): string =>
  `${logicalCluster}|${typeId(type)}`;
