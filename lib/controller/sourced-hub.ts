import type { KubeClient, ObjectAddress } from "@tmc/kube/client.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { Hub } from "../model/hub.ts";
import { formatKey, type ObjectKey, type ReconciledKind } from "../model/key.ts";
import type { ClusterSourceFeed } from "../relay/watch/cluster-source-watch.ts";
import type { ClusterView } from "../sources/cluster.ts";
import type { ClusterIndex } from "../sources/cluster-index.ts";
import { asExternalObject, isExternal } from "../sources/external-object.ts";
import { clusterRegistrations, typesOf } from "../sources/source-kinds.ts";
import { syncTargetPatch } from "../sources/sync-target-status.ts";
import { asUpstreamError, type HubWrite } from "../upstream/hub-requests.ts";
import { clientOf } from "../upstream/logical-cluster.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";

/** A hub that shows clusters of other kinds as if they were registrations. */
export interface SourcedHub extends Hub {
  /** Whether each cluster of another kind has been probed since this process started. */
  areAllProbed(logicalCluster: string): boolean;
}

/** The clusters of one logical cluster: an index of their objects, and the feed that updates it. */
export type WorkspaceClusters = Readonly<{ index: ClusterIndex; feed: ClusterSourceFeed }>;

export type SourcedHubOptions = Readonly<{
  /** Reads and writes registrations and all other kinds. */
  hub: Hub;
  /** The cache of the relay, including clusters of other kinds. */
  cache: ObjectCache;
  /** A client for the root of the upstream server. */
  client: KubeClient;
  clustersOf: (logicalCluster: string) => WorkspaceClusters | undefined;
  onWrite?: ((write: HubWrite) => void) | undefined;
  /** Called if the server permanently rejects the status of a cluster object. */
  onRejected?: ((key: ObjectKey, error: unknown) => void) | undefined;
}>;

type Status = NonNullable<ClusterRegistration["status"]>;
/** A cluster and the object that describes it. */
type IndexedCluster = Readonly<{ view: ClusterView; object: KubeObject; address: ObjectAddress }>;

const fieldManager = "tmc";

/**
 * Creates a hub in which clusters of other kinds are read and written like registrations.
 *
 * The status that TMC observes is kept in memory: these kinds have no fields for it, and TMC does not store its own data in a
 * user's object. Of it, a SyncTarget gets its Ready condition and its heartbeat; control planes get nothing. None gets a
 * finalizer: a deleted object is gone as soon as its own controllers release it.
 */
export function createSourcedHub(options: SourcedHubOptions): SourcedHub {
  const { hub, cache, clustersOf } = options;
  const external = createExternalClusters(clustersOf);
  const { refresh, patchStatus } = createSourceRequests(options, external.find);
  const lists = new Map<string, readonly KubeObject[]>();

  const read = async <T extends KubeObject>(
    key: ObjectKey,
    { isFresh, signal }: Readonly<{ isFresh: boolean; signal: AbortSignal }>,
  ): Promise<T | undefined> => {
    const clusters = key.kind === "ClusterRegistration" ? clustersOf(key.logicalCluster) : undefined;
    if (clusters === undefined) return isFresh ? hub.confirm<T>(key, signal) : hub.read<T>(key, signal);
    if (isFresh || cache.isStale(key)) await refresh(key, clusters, signal);
    const object = cache.get(key);
    if (object === undefined) {
      external.forget(key);
      return undefined;
    }
    const cluster = isExternal(object) ? external.find(key) : undefined;
    // Callers pass the type of a registration; an external object has the same spec and status.
    return (cluster === undefined ? object : external.toObject(key, cluster)) as T;
  };

  return {
    ...hub,
    areAllProbed: (logicalCluster) =>
      cache.list("ClusterRegistration", logicalCluster).every((object) => {
        if (!isExternal(object)) return true;
        const key: ObjectKey = { logicalCluster, kind: "ClusterRegistration", name: object.metadata.name ?? "" };
        return external.probedUid(key) === object.metadata.uid;
      }),
    read: (key, signal) => read(key, { isFresh: false, signal }),
    confirm: (key, signal) => read(key, { isFresh: true, signal }),
    list: async <T extends KubeObject>(kind: ReconciledKind, logicalCluster: string, signal: AbortSignal) => {
      const objects = await hub.list<T>(kind, logicalCluster, signal);
      if (kind !== "ClusterRegistration" || !objects.some(isExternal)) return objects;
      const current = objects.map((object) => {
        const key: ObjectKey = { logicalCluster, kind, name: object.metadata.name ?? "" };
        const cluster = isExternal(object) ? external.find(key) : undefined;
        return (cluster === undefined ? object : external.toObject(key, cluster)) as T;
      });
      // The same array until something changes: callers cache what they derive from it.
      const before = lists.get(logicalCluster);
      if (before?.length === current.length && current.every((object, at) => before[at] === object)) {
        return before as readonly T[];
      }
      lists.set(logicalCluster, current);
      return current;
    },
    writeStatus: async <T extends KubeObject>(key: ObjectKey, observed: T, status: object, signal: AbortSignal) => {
      if (!isExternalCluster(key, observed)) return hub.writeStatus(key, observed, status, signal);
      const cluster = external.find(key);
      if (cluster === undefined || cluster.object.metadata.uid !== observed.metadata.uid) {
        throw new ControllerError("conflict", `hub: write ${formatKey(key)}: another object describes the cluster now`);
      }
      await patchStatus(key, { observed, cluster, status }, signal);
      external.recordStatus(key, { uid: observed.metadata.uid, status });
      return external.toObject(key, external.find(key) ?? cluster) as T;
    },
    writeFinalizers: async <T extends KubeObject>(
      key: ObjectKey,
      observed: T,
      finalizers: readonly string[],
      signal: AbortSignal,
    ) => (isExternalCluster(key, observed) ? observed : hub.writeFinalizers(key, observed, finalizers, signal)),
  };
}

/** The clusters of the index, with the status that this process has observed of them. */
function createExternalClusters(clustersOf: SourcedHubOptions["clustersOf"]) {
  const observed = new Map<string, Readonly<{ uid: string | undefined; status: Status }>>();
  const objects = new Map<string, Readonly<{ view: ClusterView; status: Status | undefined; object: KubeObject }>>();
  return {
    find: ({ logicalCluster, name }: ObjectKey): IndexedCluster | undefined => {
      const { index } = clustersOf(logicalCluster) ?? {};
      const view = index?.find(name);
      const object = view && index?.objectOf(view.origin);
      if (view === undefined || object === undefined) return undefined;
      const { source, namespace } = view.origin;
      const { maybeNamespaced: _, ...type } = typesOf[source][0];
      return { view, object, address: { type, name, ...(namespace !== "" && { namespace }) } };
    },
    /** The same instance until view or status change: callers cache what they derive from it. */
    toObject: (key: ObjectKey, { view, object: source }: IndexedCluster): KubeObject => {
      const id = formatKey(key);
      const recorded = observed.get(id);
      const status = recorded?.uid === source.metadata.uid ? recorded?.status : undefined;
      const before = objects.get(id);
      if (before?.view === view && before.status === status) return before.object;
      const object = asExternalObject(view, source, status);
      objects.set(id, { view, status, object });
      return object;
    },
    probedUid: (key: ObjectKey): string | undefined => observed.get(formatKey(key))?.uid,
    recordStatus: (key: ObjectKey, entry: Readonly<{ uid: string | undefined; status: Status }>): void => {
      observed.set(formatKey(key), entry);
    },
    forget: (key: ObjectKey): void => {
      observed.delete(formatKey(key));
      objects.delete(formatKey(key));
    },
  };
}

type StatusPatch = Readonly<{ observed: KubeObject; cluster: IndexedCluster; status: Status }>;

/** The requests for cluster objects. Their responses go into the feed, as if a watch had delivered them. */
function createSourceRequests(
  { hub, cache, client, clustersOf, onWrite = () => {}, onRejected = () => {} }: SourcedHubOptions,
  find: (key: ObjectKey) => IndexedCluster | undefined,
) {
  return {
    /** Reads a stale cluster from the server. */
    refresh: async (key: ObjectKey, { feed }: WorkspaceClusters, signal: AbortSignal): Promise<void> => {
      const cluster = find(key);
      if (cluster === undefined) {
        cache.markFresh(key);
        return;
      }
      const { source } = cluster.view.origin;
      if (source === "clusterregistration") {
        const object = await hub.read(key, signal);
        if (object === undefined) feed.deleted(clusterRegistrations, cluster.object);
        else feed.changed(clusterRegistrations, object, cluster.object);
        return;
      }
      const [type] = typesOf[source];
      try {
        const object = await clientOf(client, key.logicalCluster).get<KubeObject>(cluster.address, { signal });
        feed.changed(type, object, cluster.object);
      } catch (error) {
        const upstreamError = asUpstreamError(error, key.name);
        if (faultOf(upstreamError) !== "not-found") throw upstreamError;
        feed.deleted(type, cluster.object);
      }
      cache.markFresh(key);
    },
    /** Writes the status of a SyncTarget; does nothing for other kinds, or if nothing changes. */
    patchStatus: async (
      key: ObjectKey,
      { observed, cluster, status }: StatusPatch,
      signal: AbortSignal,
    ): Promise<void> => {
      const { source } = cluster.view.origin;
      const patch = source === "synctarget" ? syncTargetPatch(cluster.object, status) : undefined;
      if (patch === undefined) return;
      onWrite({ key, part: "status" });
      const body = { metadata: { resourceVersion: observed.metadata.resourceVersion }, status: patch };
      try {
        const written = await clientOf(client, key.logicalCluster).patch<KubeObject>(
          cluster.address,
          { type: "merge", body },
          { fieldManager, subresource: "status", signal },
        );
        clustersOf(key.logicalCluster)?.feed.changed(typesOf[source][0], written);
      } catch (error) {
        // The status in memory is valid even if TMC may not write it.
        if (isStatusClosed(error)) {
          onRejected(key, error);
          return;
        }
        cache.markStale(key);
        throw asUpstreamError(error, key.name);
      }
    },
  };
}

const isExternalCluster = ({ kind }: ObjectKey, object: KubeObject): boolean =>
  kind === "ClusterRegistration" && isExternal(object);

/** Whether the status can never be written: TMC has no permission, the schema rejects it, or there is no status subresource. */
function isStatusClosed(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const fault = faultOf(error);
  return fault === "forbidden" || fault === "invalid" || (error.status === 404 && objectNameIn(error) === undefined);
}

const objectNameIn = ({ body }: ApiError): string | undefined => body?.details?.name;
