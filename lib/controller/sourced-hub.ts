import type { KubeClient, ObjectAddress } from "@tmc/kube/client.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { Hub } from "../model/hub.ts";
import { formatKey, type ObjectKey, type ReconciledKind } from "../model/key.ts";
import type { ClusterTeller } from "../relay/cluster-source-watch.ts";
import type { Reading } from "../sources/cluster.ts";
import type { Roster } from "../sources/cluster-index.ts";
import { asForeignObject, isForeign } from "../sources/foreign-object.ts";
import { clusterRegistrations, typesOf } from "../sources/source-kinds.ts";
import { syncTargetPatch } from "../sources/sync-target-status.ts";
import { type HubWrite, troubleOfHub } from "../upstream/hub-requests.ts";
import { clientOf } from "../upstream/logical-cluster.ts";
import type { ObjectCache } from "../upstream/object-cache.ts";

/** A hub in which clusters of other kinds stand beside registrations. */
export interface SourcedHub extends Hub {
  /** Whether each cluster of another kind has been looked at since this process started. */
  isLooked(logicalCluster: string): boolean;
}

/** What is known of the clusters of one logical cluster. */
export type Desk = Readonly<{ roster: Roster; teller: ClusterTeller }>;

export type SourcedHubOptions = Readonly<{
  /** For registrations and for everything else. */
  hub: Hub;
  /** What the relay has seen, clusters of other kinds included. */
  cache: ObjectCache;
  /** A client at the server's root. */
  client: KubeClient;
  deskOf: (logicalCluster: string) => Desk | undefined;
  onWrite?: ((write: HubWrite) => void) | undefined;
  /** Hears that what was found out about a cluster could not be written into its object. */
  onRefused?: ((key: ObjectKey, error: unknown) => void) | undefined;
}>;

type Status = NonNullable<ClusterRegistration["status"]>;
type Held = Readonly<{ reading: Reading; object: KubeObject; address: ObjectAddress }>;

const fieldManager = "tmc";

/**
 * Creates the hub in which clusters of other kinds stand beside registrations and are read and written like them.
 *
 * What TMC finds out about such a cluster is kept in this process: their kinds have no room for it, and a user's object is
 * no notebook. Of it a SyncTarget gets its condition Ready and its heartbeat; control planes get nothing. None gets a
 * finalizer: one that is deleted is gone when its own controllers let it go.
 */
export function createSourcedHub(options: SourcedHubOptions): SourcedHub {
  const { hub, cache, client, deskOf, onWrite = () => {}, onRefused = () => {} } = options;
  const observed = new Map<string, Readonly<{ uid: string | undefined; status: Status }>>();
  /** The same object as long as nothing is new: who makes facts of it makes them once. */
  const made = new Map<string, Readonly<{ of: Reading; status: Status | undefined; object: KubeObject }>>();
  const lists = new Map<string, readonly KubeObject[]>();

  const heldOf = ({ logicalCluster, name }: ObjectKey): Held | undefined => {
    const { roster } = deskOf(logicalCluster) ?? {};
    const reading = roster?.find(name);
    const object = reading && roster?.objectOf(reading.origin);
    if (reading === undefined || object === undefined) return undefined;
    const { source, namespace } = reading.origin;
    const { maybeNamespaced: _, ...type } = typesOf[source][0];
    return { reading, object, address: { type, name, ...(namespace !== "" && { namespace }) } };
  };
  const asSeen = (key: ObjectKey, held: Held): KubeObject => {
    const id = formatKey(key);
    const { uid, status } = observed.get(id) ?? {};
    const own = uid === held.object.metadata.uid ? status : undefined;
    const before = made.get(id);
    if (before?.of === held.reading && before.status === own) return before.object;
    const object = asForeignObject(held.reading, held.object, own);
    made.set(id, { of: held.reading, status: own, object });
    return object;
  };

  /** Asks the server for a cluster that is in doubt, and tells what came of it. */
  const ask = async (key: ObjectKey, { teller }: Desk, signal: AbortSignal): Promise<void> => {
    const held = heldOf(key);
    if (held === undefined) {
      cache.trust(key);
      return;
    }
    const { source } = held.reading.origin;
    if (source === "clusterregistration") {
      const object = await hub.read(key, signal);
      if (object === undefined) teller.deleted(clusterRegistrations, held.object);
      else teller.changed(clusterRegistrations, object);
      return;
    }
    const [type] = typesOf[source];
    try {
      teller.changed(type, await clientOf(client, key.logicalCluster).get<KubeObject>(held.address, { signal }));
    } catch (error) {
      const trouble = troubleOfHub(error, key.name);
      if (faultOf(trouble) !== "not-found") throw trouble;
      teller.deleted(type, held.object);
    }
    cache.trust(key);
  };

  const write = async (key: ObjectKey, seen: KubeObject, held: Held, status: Status, signal: AbortSignal) => {
    const patch = held.reading.origin.source === "synctarget" ? syncTargetPatch(held.object, status) : undefined;
    if (patch === undefined) return;
    onWrite({ key, part: "status" });
    const body = { metadata: { resourceVersion: seen.metadata.resourceVersion }, status: patch };
    try {
      const answer = await clientOf(client, key.logicalCluster).patch<KubeObject>(
        held.address,
        { type: "merge", body },
        { fieldManager, subresource: "status", signal },
      );
      deskOf(key.logicalCluster)?.teller.changed(typesOf[held.reading.origin.source][0], answer);
    } catch (error) {
      // Whoever may not write there still knows how the cluster is.
      if (isClosed(error)) {
        onRefused(key, error);
        return;
      }
      cache.doubt(key);
      throw troubleOfHub(error, key.name);
    }
  };

  const read = async <T extends KubeObject>(
    key: ObjectKey,
    { isFresh, signal }: Readonly<{ isFresh: boolean; signal: AbortSignal }>,
  ): Promise<T | undefined> => {
    const desk = key.kind === "ClusterRegistration" ? deskOf(key.logicalCluster) : undefined;
    if (desk === undefined) return isFresh ? hub.confirm<T>(key, signal) : hub.read<T>(key, signal);
    if (isFresh || cache.isDoubted(key)) await ask(key, desk, signal);
    const object = cache.get(key);
    if (object === undefined) {
      observed.delete(formatKey(key));
      made.delete(formatKey(key));
      return undefined;
    }
    const held = isForeign(object) ? heldOf(key) : undefined;
    // The type that callers name is what a registration has; a cluster of another kind is shown as one.
    return (held === undefined ? object : asSeen(key, held)) as T;
  };

  return {
    ...hub,
    isLooked: (logicalCluster) =>
      cache.list("ClusterRegistration", logicalCluster).every((object) => {
        if (!isForeign(object)) return true;
        const key: ObjectKey = { logicalCluster, kind: "ClusterRegistration", name: object.metadata.name ?? "" };
        return observed.get(formatKey(key))?.uid === object.metadata.uid;
      }),
    read: (key, signal) => read(key, { isFresh: false, signal }),
    confirm: (key, signal) => read(key, { isFresh: true, signal }),
    list: async <T extends KubeObject>(kind: ReconciledKind, logicalCluster: string, signal: AbortSignal) => {
      const objects = await hub.list<T>(kind, logicalCluster, signal);
      if (kind !== "ClusterRegistration" || !objects.some(isForeign)) return objects;
      const shown = objects.map((object) => {
        const key: ObjectKey = { logicalCluster, kind, name: object.metadata.name ?? "" };
        const held = isForeign(object) ? heldOf(key) : undefined;
        return (held === undefined ? object : asSeen(key, held)) as T;
      });
      const before = lists.get(logicalCluster);
      if (before?.length === shown.length && shown.every((object, at) => before[at] === object)) {
        return before as readonly T[];
      }
      lists.set(logicalCluster, shown);
      return shown;
    },
    writeStatus: async <T extends KubeObject>(key: ObjectKey, seen: T, status: object, signal: AbortSignal) => {
      if (!isForeignCluster(key, seen)) return hub.writeStatus(key, seen, status, signal);
      const held = heldOf(key);
      if (held === undefined || held.object.metadata.uid !== seen.metadata.uid) {
        throw new ControllerError("conflict", `hub: write ${formatKey(key)}: another object is the cluster now`);
      }
      await write(key, seen, held, status, signal);
      observed.set(formatKey(key), { uid: seen.metadata.uid, status });
      return asSeen(key, heldOf(key) ?? held) as T;
    },
    writeFinalizers: async <T extends KubeObject>(
      key: ObjectKey,
      seen: T,
      finalizers: readonly string[],
      signal: AbortSignal,
    ) => (isForeignCluster(key, seen) ? seen : hub.writeFinalizers(key, seen, finalizers, signal)),
  };
}

const isForeignCluster = ({ kind }: ObjectKey, seen: KubeObject): boolean =>
  kind === "ClusterRegistration" && isForeign(seen);

/** Whether status cannot be written there at all: not allowed, not in the form that the kind asks for, or it has none. */
function isClosed(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const fault = faultOf(error);
  return fault === "forbidden" || fault === "invalid" || (error.status === 404 && nameIn(error) === undefined);
}

const nameIn = ({ body }: ApiError): string | undefined => body?.details?.name;
