import type { KubeClient } from "@tmc/kube/client.ts";
import { listByPages } from "@tmc/kube/informer/paged-list.ts";
import { createTrimmer } from "@tmc/kube/informer/trim-object.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { MergePatch } from "@tmc/kube/merge-patch.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey, ReconciledKind } from "../model/key.ts";
import { createBatchLists } from "./batch-lists.ts";
import {
  asUpstreamError,
  createHubRequests,
  finalizersPatch,
  type HubWrite,
  statusPatch,
  writeAcceptedStatus,
} from "./hub-requests.ts";
import { clientOf } from "./logical-cluster.ts";
import { reconciledTypes } from "./watched-resources.ts";

/** A hub without a cache: it keeps nothing from one batch of keys to the next. */
export interface FreshHub extends Hub {
  /** Drops the lists of the last batch: decisions after this call use lists that are read after it. */
  beginBatch(): void;
}

export type FreshHubOptions = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  /** Called before every write, for metrics. */
  onWrite?: ((write: HubWrite) => void) | undefined;
}>;

/**
 * Creates the hub of processes without watches: Lambda functions, and workers whose keys come from the relay of another process.
 *
 * Every read of an object is a request. The list of a kind is read once per batch (`BatchLists`), and objects that are read or
 * written meanwhile are merged into it, so a reconcile never gets a list that is older than its own write.
 */
export function createFreshHub({ client, onWrite }: FreshHubOptions): FreshHub {
  const requests = createHubRequests(client, onWrite);
  const trim = createTrimmer();
  const lists = createBatchLists();

  const merge = ({ logicalCluster, kind }: ObjectKey, object: KubeObject): KubeObject => {
    lists.upsert(listId(kind, logicalCluster), object);
    return object;
  };
  const readList = async (kind: ReconciledKind, logicalCluster: string): Promise<readonly KubeObject[]> => {
    try {
      const collection = { type: reconciledTypes[kind] };
      return (await listByPages(clientOf(client, logicalCluster), { transform: trim }, collection)).items;
    } catch (error) {
      throw asUpstreamError(error);
    }
  };

  const write = async (key: ObjectKey, part: HubWrite["part"], patch: MergePatch, signal: AbortSignal) =>
    merge(key, await requests.patch(key, part, patch, signal));

  const readUncached = async <T extends KubeObject>(key: ObjectKey, signal: AbortSignal) => {
    const object = await requests.get(key, signal);
    return object === undefined ? undefined : (merge(key, object) as T);
  };

  return {
    beginBatch: lists.clear,
    // The server validates objects against the kind's schema, so callers may name its type.
    read: readUncached,
    confirm: readUncached,
    list: async <T extends KubeObject>(kind: ReconciledKind, logicalCluster: string, signal: AbortSignal) =>
      (await lists.list(listId(kind, logicalCluster), () => readList(kind, logicalCluster), signal)) as readonly T[],
    writeStatus: <T extends KubeObject>(key: ObjectKey, seen: T, desired: object, signal: AbortSignal) =>
      writeAcceptedStatus(seen, desired, async (status) => {
        const patch = statusPatch(key, seen, status);
        return patch === undefined ? seen : ((await write(key, "status", patch, signal)) as T);
      }),
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
