import { faultOf } from "@tmc/kube/errors.ts";
import { pageSize } from "@tmc/kube/informer/paged-list.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import type { ObjectKey } from "../model/key.ts";
import type { OwnedObject } from "../sync/orphans/decide.ts";
import {
  type OrphanTools,
  type OwnedObjects,
  orphanReconciler,
  type ReconcileOrphans,
} from "../sync/orphans/reconcile.ts";
import { ownerOf, syncedLabel, tenantLabelValue } from "../sync/ownership/owner.ts";
import type { SyncSettings } from "../sync/settings.ts";
import type { ClusterClients } from "./cluster-clients.ts";
import { isNamedNotFound } from "./errors.ts";
import { type ClusterSession, createSessions, type SessionsOptions } from "./session.ts";
import { verifiedOwner } from "./verified-owner.ts";

export type OwnedObjectsOptions = SessionsOptions &
  Readonly<{
    /** The control plane that the objects belong to. */
    hubId: string;
    types: readonly WorkloadType[];
  }>;

/** Objects that a list returns at most; the rest is found after these have been dealt with. */
const maxKept = 500;
/** Pages of one type that are read at most: 50,000 objects. */
const maxPages = 200;

/**
 * Creates the access to the objects of a tenant on a cluster, whichever registration wrote them. Only metadata is read, one
 * page at a time; a type that the cluster does not serve, or does not let TMC list, has none.
 */
export function createOwnedObjects(options: OwnedObjectsOptions): OwnedObjects {
  const { hubId, types } = options;
  const withSession = createSessions(options);

  const listType = async (
    { client }: ClusterSession,
    { registration, type, keep, signal }: ListTypeOptions,
  ): Promise<readonly OwnedObject[]> => {
    const labelSelector = `${syncedLabel}=${tenantLabelValue(hubId, registration.logicalCluster)}`;
    const kept: OwnedObject[] = [];
    let token: string | undefined;
    for (let page = 0; page < maxPages && kept.length < maxKept; page++) {
      const { items, metadata } = await client.metadata.list<KubeObject>(
        { type: type.type },
        { labelSelector, limit: pageSize, continue: token, signal },
      );
      kept.push(...items.flatMap((item) => ownedObjectOf(item, { type, registration, hubId }) ?? []).filter(keep));
      token = metadata.continue;
      if (!token) break;
    }
    return kept;
  };

  return {
    list: (registration, keep, signal) =>
      withSession(registration, signal, async (session) => {
        const all: OwnedObject[] = [];
        for (const type of types) {
          if (all.length >= maxKept) break;
          try {
            all.push(...(await listType(session, { registration, type, keep, signal })));
          } catch (error) {
            const fault = faultOf(error);
            if (fault !== "not-found" && fault !== "forbidden") throw error;
          }
        }
        return all.slice(0, maxKept);
      }),
    remove: (registration, listed, signal) =>
      withSession(registration, signal, async ({ client }) => {
        const address = { type: listed.type.type, namespace: listed.namespace, name: listed.name };
        try {
          const object = await client.metadata.get<KubeObject>(address, { signal });
          const present = ownedObjectOf(object, { type: listed.type, registration, hubId });
          // Replaced by another object, or no longer ours: there is nothing that TMC may delete.
          if (present?.uid !== listed.uid || present.owner.registration !== listed.owner.registration) return;
          const { resourceVersion = "" } = object.metadata;
          await client.delete(address, {
            preconditions: { uid: listed.uid, resourceVersion },
            propagationPolicy: "Foreground",
            signal,
          });
        } catch (error) {
          // Gone, or changed since it was read: the next scan decides again.
          if (!isNamedNotFound(error, listed.name) && faultOf(error) !== "conflict") throw error;
        }
      }),
  };
}

type ListTypeOptions = Readonly<{
  registration: ObjectKey;
  type: WorkloadType;
  keep: (object: OwnedObject) => boolean;
  signal: AbortSignal;
}>;

/** The object, if its label, annotation and namespace say that this control plane wrote it for a workload of the tenant. */
function ownedObjectOf(
  metadataObject: KubeObject,
  { type, registration, hubId }: Readonly<{ type: WorkloadType; registration: ObjectKey; hubId: string }>,
): OwnedObject | undefined {
  const { metadata } = metadataObject;
  // The server names metadata-only objects PartialObjectMetadata.
  const object: KubeObject = { ...metadataObject, apiVersion: type.apiVersion, kind: type.kind };
  const owner = verifiedOwner(object, { ...registration, name: ownerOf(object)?.registration ?? "" });
  if (owner === undefined || owner.hub !== hubId) return undefined;
  const { namespace = "", name = "", uid = "", deletionTimestamp } = metadata;
  return { type, owner, namespace, name, uid, isDeleting: deletionTimestamp !== undefined };
}

export type OrphanReconcilerOptions = Omit<OrphanTools, "ownedObjects"> &
  Readonly<{
    clients: ClusterClients;
    settings: Pick<SyncSettings, "hubId" | "callRate" | "callTimeoutSeconds">;
    workloads: Readonly<{ types: readonly WorkloadType[] }>;
  }>;

/** Creates the reconciler of orphaned copies, which reads and deletes them on their clusters. */
export function createOrphanReconciler({ clients, settings, ...tools }: OrphanReconcilerOptions): ReconcileOrphans {
  const ownedObjects = createOwnedObjects({
    clientFor: clients.clientFor,
    clock: tools.clock,
    rate: settings.callRate,
    callSeconds: settings.callTimeoutSeconds,
    onUnauthorized: clients.unauthorized,
    hubId: settings.hubId,
    types: tools.workloads.types,
  });
  return orphanReconciler({ ...tools, ownedObjects });
}
