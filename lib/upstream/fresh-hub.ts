import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { MergePatch } from "@tmc/kube/merge-patch.ts";
import { pageByPage } from "@tmc/kube/paged-list.ts";
import { createSlimmer } from "@tmc/kube/slim-object.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey, ReconciledKind } from "../model/key.ts";
import { createBatchLists } from "./batch-lists.ts";
import { createHubRequests, finalizersPatch, type HubWrite, statusPatch, troubleOfHub } from "./hub-requests.ts";
import { clientOf } from "./logical-cluster.ts";
import { reconciledTypes } from "./reconciled-types.ts";

/** A hub that keeps nothing from one batch of work to the next. */
export interface FreshHub extends Hub {
  /** Forgets the lists that were read: whatever is decided from now on is decided on a list that begins from now on. */
  beginBatch(): void;
}

export type FreshHubOptions = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  /** Told of every write before it is made. */
  onWrite?: ((write: HubWrite) => void) | undefined;
}>;

/**
 * Creates the hub of processes that watch nothing: functions, and workers that are told by another's relay.
 *
 * An object is read from the server each time. The list of a kind is read once for all that work on the same batch, however
 * many ask at once, and whatever is read or written meanwhile takes its place in it: nobody sees a list that is behind
 * his own write.
 */
export function createFreshHub({ client, onWrite }: FreshHubOptions): FreshHub {
  const requests = createHubRequests(client, onWrite);
  const slim = createSlimmer();
  const lists = createBatchLists();

  const note = ({ logicalCluster, kind }: ObjectKey, object: KubeObject): KubeObject => {
    lists.note(listId(kind, logicalCluster), object);
    return object;
  };
  const readList = async (kind: ReconciledKind, logicalCluster: string): Promise<readonly KubeObject[]> => {
    try {
      return (await pageByPage(clientOf(client, logicalCluster), slim).listAll({ type: reconciledTypes[kind] })).items;
    } catch (error) {
      throw troubleOfHub(error);
    }
  };

  const write = async (key: ObjectKey, part: HubWrite["part"], patch: MergePatch, signal: AbortSignal) =>
    note(key, await requests.patch(key, part, patch, signal));

  const readNow = async <T extends KubeObject>(key: ObjectKey, signal: AbortSignal) => {
    const object = await requests.get(key, signal);
    return object === undefined ? undefined : (note(key, object) as T);
  };

  return {
    beginBatch: lists.begin,
    // The type that callers name is what the kind's schema gives: nothing else gets into a server.
    read: readNow,
    confirm: readNow,
    list: async <T extends KubeObject>(kind: ReconciledKind, logicalCluster: string, signal: AbortSignal) =>
      (await lists.list(listId(kind, logicalCluster), () => readList(kind, logicalCluster), signal)) as readonly T[],
    writeStatus: async <T extends KubeObject>(key: ObjectKey, seen: T, status: object, signal: AbortSignal) => {
      const patch = statusPatch(key, seen, status);
      return patch === undefined ? seen : ((await write(key, "status", patch, signal)) as T);
    },
    writeFinalizers: async <T extends KubeObject>(
      key: ObjectKey,
      seen: T,
      finalizers: readonly string[],
      signal: AbortSignal,
    ) => (await write(key, "finalizers", finalizersPatch(key, seen, finalizers), signal)) as T,
    readSecret: requests.readSecret,
  };
}

const listId = (kind: ReconciledKind, logicalCluster: string): string => `${logicalCluster}|${kind}`;
