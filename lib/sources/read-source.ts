import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { asUpstreamError } from "../upstream/hub-requests.ts";
import { type ClusterView, readClusterRegistration } from "./cluster.ts";
import {
  controlPlaneNameOf,
  endpointNameOf,
  readControlPlaneEndpoint,
  readControlPlaneRegistration,
} from "./control-plane.ts";
import {
  clusterRegistrations,
  controlPlaneEndpoints,
  controlPlaneRegistrations,
  controlPlanes,
  type SourceKind,
  type SourceType,
  syncTargets,
} from "./source-kinds.ts";
import { readSyncTarget } from "./sync-target.ts";
import type { ReadContext } from "./view.ts";

export type SourceRequest = Readonly<{
  scope: ReadScope;
  context: ReadContext;
  /** Reads only clusters of this name; undefined for all. */
  name?: string | undefined;
}>;

/** Reads the clusters of one source; undefined if the server does not serve its kind. */
export type ReadSource = (request: SourceRequest, signal: AbortSignal) => Promise<readonly ClusterView[] | undefined>;

/** The reader of each source. */
export const readSource: Readonly<Record<SourceKind, ReadSource>> = {
  clusterregistration: async ({ scope, context, name }, signal) => {
    const objects = await readObjects(scope, { type: clusterRegistrations, name }, signal);
    // The server validates ClusterRegistrations against our schema.
    return objects?.map((object) => readClusterRegistration(object as ClusterRegistration, context));
  },
  synctarget: async ({ scope, context, name }, signal) => {
    const objects = await readObjects(scope, { type: syncTargets, name }, signal);
    return objects?.map((object) => readSyncTarget(object, context));
  },
  controlplaneendpoint: async ({ scope, context, name }, signal) => {
    const objects = await readObjects(scope, { type: controlPlaneEndpoints, name }, signal);
    return objects?.map((object) => readControlPlaneEndpoint(object, context));
  },
  controlplaneregistration: async ({ scope, context, name }, signal) => {
    const registrations = await readObjects(scope, { type: controlPlaneRegistrations, name }, signal);
    if (registrations === undefined || registrations.length === 0) return registrations === undefined ? undefined : [];
    const { planes, endpoints } = await readReferenced(scope, registrations, signal);
    return registrations.map((registration) =>
      readControlPlaneRegistration(
        {
          registration,
          controlPlane: planes.get(controlPlaneNameOf(registration))?.[0],
          endpointsOf: (endpoint) => endpoints.get(endpoint) ?? [],
        },
        context,
      ),
    );
  },
};

type ByName = ReadonlyMap<string, readonly KubeObject[]>;

/** Reads the objects that registrations reference: by name for a single registration, otherwise all of them. */
async function readReferenced(
  scope: ReadScope,
  registrations: readonly KubeObject[],
  signal: AbortSignal,
): Promise<{ planes: ByName; endpoints: ByName }> {
  const [registration, ...others] = registrations;
  if (registration === undefined || others.length > 0) {
    const [planes, endpoints] = await Promise.all([
      readObjects(scope, { type: controlPlanes }, signal),
      readObjects(scope, { type: controlPlaneEndpoints }, signal),
    ]);
    return { planes: byName(planes), endpoints: byName(endpoints) };
  }
  const planeName = controlPlaneNameOf(registration);
  const planes = planeName === "" ? [] : await readObjects(scope, { type: controlPlanes, name: planeName }, signal);
  const endpointName = endpointNameOf({ registration, controlPlane: planes?.[0] });
  const endpoints =
    endpointName === undefined
      ? []
      : await readObjects(scope, { type: controlPlaneEndpoints, name: endpointName }, signal);
  return { planes: byName(planes), endpoints: byName(endpoints) };
}

const byName = (objects: readonly KubeObject[] = []): ByName =>
  Map.groupBy(objects, ({ metadata }) => metadata.name ?? "");

export type ReadScope = Readonly<{
  /** A client for the logical cluster. */
  client: Pick<KubeClient, "listAll">;
  /** Undefined for all namespaces. */
  namespaces: readonly string[] | undefined;
}>;

/** All objects of a type, or those of one name. */
export type ObjectQuery = Readonly<{ type: SourceType; name?: string | undefined }>;

/**
 * Reads objects of a type that may be namespaced or cluster-scoped. Undefined if the type is not served, which does not mean
 * that no objects are stored.
 */
export async function readObjects(
  { client, namespaces }: ReadScope,
  { type: { maybeNamespaced, ...type }, name }: ObjectQuery,
  signal: AbortSignal,
): Promise<readonly KubeObject[] | undefined> {
  const list = async (namespace?: string): Promise<readonly KubeObject[] | undefined> => {
    const fieldSelector = name === undefined ? undefined : `metadata.name=${name}`;
    try {
      const { items } = await client.listAll<KubeObject>({ type, namespace }, { signal, fieldSelector });
      return items;
    } catch (error) {
      if (faultOf(error) === "not-found") return undefined;
      throw asUpstreamError(error);
    }
  };
  if (!maybeNamespaced || namespaces === undefined) return list();
  // Listed per namespace, because TMC may have no permission to list all namespaces.
  const [first, ...others] = namespaces;
  const objects = first === undefined ? undefined : await list(first);
  if (objects === undefined) {
    // The type is cluster-scoped or not served. If it is namespaced after all, the scope is applied here.
    const all = await list();
    return all?.filter(({ metadata: { namespace } }) => namespace === undefined || namespaces.includes(namespace));
  }
  const rest = await Promise.all(others.map(list));
  return [...objects, ...rest.flatMap((found) => found ?? [])];
}
