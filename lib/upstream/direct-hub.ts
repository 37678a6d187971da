import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { MergePatch } from "@tmc/kube/merge-patch.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey, ReconciledKind } from "../model/key.ts";
import { createHubRequests, finalizersPatch, type HubWrite, statusPatch, writeAcceptedStatus } from "./hub-requests.ts";
import type { ObjectCache } from "./object-cache.ts";

export type DirectHubOptions = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  /** Fed by the relay; answers reads and lists. */
  cache: ObjectCache;
  /** Called before every write. */
  onWrite?: ((write: HubWrite) => void) | undefined;
}>;

/**
 * Creates the hub for workspaces that are reached directly, or for a plain cluster with our kinds.
 *
 * Reads are answered from the cache, except for stale keys (after a conflict, or when a list lacked the object). A write is one
 * request, and its answer is in the cache before the next read.
 */
export function createDirectHub({ client, cache, onWrite }: DirectHubOptions): Hub {
  const requests = createHubRequests(client, onWrite);

  const readUncached = async (key: ObjectKey, signal: AbortSignal): Promise<KubeObject | undefined> => {
    const answered = cache.request(key);
    return answered(await requests.get(key, signal));
  };

  const write = async (key: ObjectKey, part: HubWrite["part"], patch: MergePatch, signal: AbortSignal) => {
    const answered = cache.request(key);
    try {
      return answered(await requests.patch(key, part, patch, signal));
    } catch (error) {
      const fault = faultOf(error);
      // The cached object is outdated, or may be: a broken connection leaves open whether the server stored the write.
      if (fault === "conflict" || fault === "not-found" || fault === "unreachable") cache.markStale(key);
      throw error;
    }
  };

  return {
    // The server validates objects against the kind's schema, so callers may name its type.
    read: async <T extends KubeObject>(key: ObjectKey, signal: AbortSignal) =>
      (cache.isStale(key) ? await readUncached(key, signal) : cache.get(key)) as T | undefined,
    confirm: async <T extends KubeObject>(key: ObjectKey, signal: AbortSignal) =>
      (await readUncached(key, signal)) as T | undefined,
    list: async <T extends KubeObject>(kind: ReconciledKind, logicalCluster: string) => {
      if (!cache.isListed(logicalCluster)) {
        throw new ControllerError(
          "unreachable",
          `upstream: list ${kind} in ${logicalCluster || "the cluster"}: not listed yet`,
        );
      }
      return cache.list(kind, logicalCluster) as readonly T[];
    },
    writeStatus: <T extends KubeObject>(key: ObjectKey, seen: T, desired: object, signal: AbortSignal) =>
      writeAcceptedStatus(seen, desired, async (status) => {
        const patch = statusPatch(key, seen, status);
        if (patch === undefined) return seen;
        // Before the first await: the next decision must count this one.
        const release = cache.reserve(key, selectionOf(status));
        try {
          return (await write(key, "status", patch, signal)) as T;
        } finally {
          release();
        }
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

function selectionOf(status: object): readonly string[] {
  const selected: unknown = "selectedClusters" in status ? status.selectedClusters : undefined;
  return Array.isArray(selected) ? selected.filter((name): name is string => typeof name === "string") : [];
}
