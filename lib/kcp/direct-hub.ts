import { clusterRegistration } from "../api/cluster-registration.ts";
import { workloadPlacement } from "../api/workload-placement.ts";
import type { KubeClient } from "../kube/client.ts";
import { ApiError, faultOf } from "../kube/errors.ts";
import { ControllerError } from "../model/fault.ts";
import type { Hub } from "../model/hub.ts";
import { formatKey, type ObjectKey, type ReconciledKind } from "../model/key.ts";
import type { KubeObject, ResourceType } from "../model/kube-object.ts";
import { clientOf } from "./logical-cluster.ts";
import type { ObjectCache } from "./object-cache.ts";
import { type MergePatch, mergePatchBetween } from "./status-patch.ts";

/** The types of the reconciled kinds, the way URLs name them. */
export const reconciledTypes: Readonly<Record<ReconciledKind, ResourceType>> = {
  ClusterRegistration: typeOf(clusterRegistration),
  WorkloadPlacement: typeOf(workloadPlacement),
};

/** Secrets, the way URLs name them. */
const secretType: ResourceType = { group: "", version: "v1", plural: "secrets" };

/** A write that the hub makes, for counting. */
export type HubWrite = Readonly<{ key: ObjectKey; part: "status" | "finalizers" }>;

export type DirectHubOptions = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  /** What the relay has seen; reads and lists are answered from it. */
  cache: ObjectCache;
  /** Told of every write before it is made. */
  onWrite?: ((write: HubWrite) => void) | undefined;
}>;

const fieldManager = "tmc";

/**
 * Creates the hub over workspaces that are reached directly, or over a plain cluster with our kinds.
 *
 * Reads cost nothing: they are answered from the cache, but for a key that is in doubt, after a conflict or when a list no
 * longer named it. A write is one request, and what it answers is in the cache before anyone reads again.
 */
export function createDirectHub({ client, cache, onWrite = () => {} }: DirectHubOptions): Hub {
  const addressOf = ({ kind, name }: ObjectKey) => ({ type: reconciledTypes[kind], name });

  const readFresh = async (key: ObjectKey, signal: AbortSignal): Promise<KubeObject | undefined> => {
    const before = cache.get(key)?.metadata.resourceVersion;
    try {
      const object = await clientOf(client, key.cluster).get<KubeObject>(addressOf(key), { signal });
      cache.trust(key);
      return cache.takeAnswer(key, object);
    } catch (error) {
      if (!isGone(error, key)) throw error;
      // The one that was in doubt is gone. One that the watch has brought while we asked is another.
      cache.takeGone(key, before);
      return cache.get(key);
    }
  };

  const write = async (key: ObjectKey, part: HubWrite["part"], patch: MergePatch, signal: AbortSignal) => {
    onWrite({ key, part });
    try {
      const options = { fieldManager, signal, ...(part === "status" ? { subresource: part } : {}) };
      const answer = await clientOf(client, key.cluster).patch<KubeObject>(
        addressOf(key),
        { type: "merge", body: patch },
        options,
      );
      return cache.takeAnswer(key, answer);
    } catch (error) {
      const fault = faultOf(error);
      // Whatever the cache said was not so, or may be so no longer: a cut connection tells nothing about the write.
      if (fault === "conflict" || fault === "not-found" || fault === "unreachable") cache.doubt(key);
      throw error;
    }
  };

  const versionOf = (key: ObjectKey, { metadata }: KubeObject): string => {
    if (metadata.resourceVersion !== undefined) return metadata.resourceVersion;
    throw new ControllerError("invalid", `hub: write ${formatKey(key)}: what was seen has no resourceVersion`);
  };

  return {
    // The type that callers name is what the kind's schema gives: nothing else gets into a server, nor from it into the cache.
    read: async <T extends KubeObject>(key: ObjectKey, signal: AbortSignal) =>
      (cache.isDoubted(key) ? await readFresh(key, signal) : cache.get(key)) as T | undefined,
    list: async <T extends KubeObject>(kind: ReconciledKind, cluster: string) => {
      if (!cache.isListed(cluster)) {
        throw new ControllerError("unreachable", `hub: list ${kind} in ${cluster || "the cluster"}: not listed yet`);
      }
      return cache.list(kind, cluster) as readonly T[];
    },
    writeStatus: async <T extends KubeObject>(key: ObjectKey, seen: T, status: object, signal: AbortSignal) => {
      const difference = mergePatchBetween(statusOf(seen), status);
      if (difference === undefined) return seen;
      const resourceVersion = versionOf(key, seen);
      // Before anything is waited for: the next decision must count this one.
      const release = cache.reserve(key, selectionOf(status));
      try {
        return (await write(key, "status", { metadata: { resourceVersion }, status: difference }, signal)) as T;
      } finally {
        release();
      }
    },
    writeFinalizers: async <T extends KubeObject>(
      key: ObjectKey,
      seen: T,
      finalizers: readonly string[],
      signal: AbortSignal,
    ) => {
      const metadata = { resourceVersion: versionOf(key, seen), finalizers };
      return (await write(key, "finalizers", { metadata }, signal)) as T;
    },
    readSecret: async ({ cluster, namespace, name }, signal) => {
      try {
        const secret = await clientOf(client, cluster).get<KubeObject>(
          { type: secretType, namespace, name },
          { signal },
        );
        return { data: textsOf(secret.data), resourceVersion: secret.metadata.resourceVersion ?? "" };
      } catch (error) {
        if (faultOf(error) === "not-found") return undefined;
        throw error;
      }
    },
  };
}

/**
 * Whether the server said that this very object is not there. A 404 that names no object is for a type or a workspace that
 * is not served just now, and says nothing about what is stored.
 */
function isGone(error: unknown, { name }: ObjectKey): boolean {
  if (!(error instanceof ApiError) || error.fault !== "not-found") return false;
  if (error.body?.details?.name === name) return true;
  throw new ControllerError("unreachable", `hub: ${error.message}`, { cause: error });
}

function typeOf({ group, version, plural }: ResourceType): ResourceType {
  return { group, version, plural };
}

function statusOf({ status }: KubeObject): object {
  return typeof status === "object" && status !== null ? status : {};
}

function selectionOf(status: object): readonly string[] {
  const selected: unknown = "selectedClusters" in status ? status.selectedClusters : undefined;
  return Array.isArray(selected) ? selected.filter((name): name is string => typeof name === "string") : [];
}

function textsOf(data: unknown): Readonly<Record<string, string>> {
  if (typeof data !== "object" || data === null) return {};
  const entries: [string, unknown][] = Object.entries(data);
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
