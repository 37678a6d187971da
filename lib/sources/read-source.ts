import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { troubleOfHub } from "../upstream/hub-requests.ts";
import { type Reading, readClusterRegistration } from "./cluster.ts";
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
  type ReadType,
  type SourceKind,
  syncTargets,
} from "./source-kinds.ts";
import { readSyncTarget } from "./sync-target.ts";
import type { ReadingContext } from "./view.ts";

/** What is asked of a source. */
export type SourceRequest = Readonly<{
  place: Place;
  context: ReadingContext;
  /** One name; undefined for all. */
  name?: string | undefined;
}>;

/** Reads the clusters that one source has, those of a name or all; undefined when its kind is not served. */
export type ReadSource = (request: SourceRequest, signal: AbortSignal) => Promise<readonly Reading[] | undefined>;

/** Every source. */
export const readSource: Readonly<Record<SourceKind, ReadSource>> = {
  clusterregistration: async ({ place, context, name }, signal) => {
    const objects = await readObjects(place, { type: clusterRegistrations, name }, signal);
    // Nothing that does not follow our own schema gets into a server.
    return objects?.map((object) => readClusterRegistration(object as ClusterRegistration, context));
  },
  synctarget: async ({ place, context, name }, signal) => {
    const objects = await readObjects(place, { type: syncTargets, name }, signal);
    return objects?.map((object) => readSyncTarget(object, context));
  },
  controlplaneendpoint: async ({ place, context, name }, signal) => {
    const objects = await readObjects(place, { type: controlPlaneEndpoints, name }, signal);
    return objects?.map((object) => readControlPlaneEndpoint(object, context));
  },
  controlplaneregistration: async ({ place, context, name }, signal) => {
    const registrations = await readObjects(place, { type: controlPlaneRegistrations, name }, signal);
    if (registrations === undefined || registrations.length === 0) return registrations === undefined ? undefined : [];
    const { planes, endpoints } = await readReferred(place, registrations, signal);
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

/** The objects that registrations lead to: for one registration those alone, for several all that there are. */
async function readReferred(
  place: Place,
  registrations: readonly KubeObject[],
  signal: AbortSignal,
): Promise<{ planes: ByName; endpoints: ByName }> {
  const [registration, ...others] = registrations;
  if (registration === undefined || others.length > 0) {
    const [planes, endpoints] = await Promise.all([
      readObjects(place, { type: controlPlanes }, signal),
      readObjects(place, { type: controlPlaneEndpoints }, signal),
    ]);
    return { planes: byName(planes), endpoints: byName(endpoints) };
  }
  const planeName = controlPlaneNameOf(registration);
  const planes = planeName === "" ? [] : await readObjects(place, { type: controlPlanes, name: planeName }, signal);
  const endpointName = endpointNameOf({ registration, controlPlane: planes?.[0] });
  const endpoints =
    endpointName === undefined
      ? []
      : await readObjects(place, { type: controlPlaneEndpoints, name: endpointName }, signal);
  return { planes: byName(planes), endpoints: byName(endpoints) };
}

const byName = (objects: readonly KubeObject[] = []): ByName =>
  Map.groupBy(objects, ({ metadata }) => metadata.name ?? "");

/** Where objects are read. */
export type Place = Readonly<{
  /** A client in the logical cluster. */
  client: Pick<KubeClient, "listAll">;
  /** Undefined for all. */
  namespaces: readonly string[] | undefined;
}>;

/** Which objects: all of a type, or those of one name. */
export type Wanted = Readonly<{ type: ReadType; name?: string | undefined }>;

/**
 * Reads objects, in whatever scope the server keeps their type. Undefined when the type is not served: that says nothing
 * about what is stored.
 */
export async function readObjects(
  { client, namespaces }: Place,
  { type: { maybeNamespaced, ...type }, name }: Wanted,
  signal: AbortSignal,
): Promise<readonly KubeObject[] | undefined> {
  const list = async (namespace?: string): Promise<readonly KubeObject[] | undefined> => {
    const fieldSelector = name === undefined ? undefined : `metadata.name=${name}`;
    try {
      const { items } = await client.listAll<KubeObject>({ type, namespace }, { signal, fieldSelector });
      return items;
    } catch (error) {
      if (faultOf(error) === "not-found") return undefined;
      throw troubleOfHub(error);
    }
  };
  if (!maybeNamespaced || namespaces === undefined) return list();
  // One namespace after the other, for that may be all that we are allowed.
  const [first, ...others] = namespaces;
  const objects = first === undefined ? undefined : await list(first);
  if (objects === undefined) {
    // Not in namespaces, or not at all. What turns out to be in one after all is held to the same bounds.
    const everywhere = await list();
    return everywhere?.filter(
      ({ metadata: { namespace } }) => namespace === undefined || namespaces.includes(namespace),
    );
  }
  const rest = await Promise.all(others.map(list));
  return [...objects, ...rest.flatMap((found) => found ?? [])];
}
