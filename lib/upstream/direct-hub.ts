import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { MergePatch } from "@tmc/kube/merge-patch.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey, ReconciledKind } from "../model/key.ts";
import { createHubRequests, finalizersPatch, type HubWrite, statusPatch } from "./hub-requests.ts";
import type { ObjectCache } from "./object-cache.ts";

export type DirectHubOptions = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  /** What the relay has seen; reads and lists are answered from it. */
  cache: ObjectCache;
  /** Told of every write before it is made. */
  onWrite?: ((write: HubWrite) => void) | undefined;
}>;

/**
 * Creates the hub over workspaces that are reached directly, or over a plain cluster with our kinds.
 *
 * Reads cost nothing: they are answered from the cache, but for a key that is in doubt, after a conflict or when a list no
 * longer named it. A write is one request, and what it answers is in the cache before anyone reads again.
 */
export function createDirectHub({ client, cache, onWrite }: DirectHubOptions): Hub {
  const requests = createHubRequests(client, onWrite);

  const readFresh = async (key: ObjectKey, signal: AbortSignal): Promise<KubeObject | undefined> => {
    const before = cache.get(key)?.metadata.resourceVersion;
    const object = await requests.get(key, signal);
    if (object === undefined) {
      // The one that was in doubt is gone. One that the watch has brought while we asked is another.
      cache.takeGone(key, before);
      return cache.get(key);
    }
    cache.trust(key);
    return cache.takeAnswer(key, object);
  };

  const write = async (key: ObjectKey, part: HubWrite["part"], patch: MergePatch, signal: AbortSignal) => {
    try {
      return cache.takeAnswer(key, await requests.patch(key, part, patch, signal));
    } catch (error) {
      const fault = faultOf(error);
      // Whatever the cache said was not so, or may be so no longer: a cut connection tells nothing about the write.
      if (fault === "conflict" || fault === "not-found" || fault === "unreachable") cache.doubt(key);
      throw error;
    }
  };

  return {
    // The type that callers name is what the kind's schema gives: nothing else gets into a server, nor from it into the cache.
    read: async <T extends KubeObject>(key: ObjectKey, signal: AbortSignal) =>
      (cache.isDoubted(key) ? await readFresh(key, signal) : cache.get(key)) as T | undefined,
    confirm: async <T extends KubeObject>(key: ObjectKey, signal: AbortSignal) =>
      (await readFresh(key, signal)) as T | undefined,
    list: async <T extends KubeObject>(kind: ReconciledKind, logicalCluster: string) => {
      if (!cache.isListed(logicalCluster)) {
        throw new ControllerError(
          "unreachable",
          `hub: list ${kind} in ${logicalCluster || "the cluster"}: not listed yet`,
        );
      }
      return cache.list(kind, logicalCluster) as readonly T[];
    },
    writeStatus: async <T extends KubeObject>(key: ObjectKey, seen: T, status: object, signal: AbortSignal) => {
      const patch = statusPatch(key, seen, status);
      if (patch === undefined) return seen;
      // Before anything is waited for: the next decision must count this one.
      const release = cache.reserve(key, selectionOf(status));
      try {
        return (await write(key, "status", patch, signal)) as T;
      } finally {
        release();
      }
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

function selectionOf(status: object): readonly string[] {
  const selected: unknown = "selectedClusters" in status ? status.selectedClusters : undefined;
  return Array.isArray(selected) ? selected.filter((name): name is string => typeof name === "string") : [];
}
