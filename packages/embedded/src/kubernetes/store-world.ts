import { isDeepStrictEqual } from "node:util";
import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Catalog, ResourceDefinition } from "../definitions/definition.ts";
import { ApiFailure } from "../machinery/api-errors.ts";
import type { User } from "../server/http.ts";
import { generatedUid } from "../storage/object-names.ts";
import type { ObjectTarget, Operations, ResourceTarget } from "../storage/operations.ts";
import type { Store, StoreKey } from "../storage/store.ts";
import { createEmbeddedEventRecorder, type EventStore } from "./event-recorder.ts";
import { type Kinds, type Resource, servedAt } from "./kinds.ts";
import { createOwnerIndex } from "./owner-index.ts";
import type { World } from "./world.ts";

/** The identity of the cluster's own controllers. */
export const clusterUser: User = { name: "system:apiserver", groups: ["system:masters", "system:authenticated"] };

const indexed: readonly Resource[] = ["pods", "replicasets", "controllerrevisions", "jobs", "endpointslices"];

export type StoreWorld = World & Readonly<{ storages: ReadonlyMap<string, Resource>; stop(): void }>;

/** Creates the controllers' view of the cluster: reads come from the store, writes go through the API operations. */
export function createStoreWorld(
  options: Readonly<{ store: Store; operations: Operations; catalog: Catalog; clock: Clock; random: () => number }>,
): StoreWorld {
  const { store, operations, catalog, clock, random } = options;
  const definitions = new Map<Resource, ResourceDefinition>();
  const storages = new Map<string, Resource>();
  for (const [plural, { group, version }] of Object.entries(servedAt)) {
    const definition = catalog.find(group, version, plural);
    if (definition === undefined || !isResource(plural)) continue;
    definitions.set(plural, definition);
    storages.set(definition.storage, plural);
  }
  const definitionOf = (resource: Resource): ResourceDefinition => {
    const definition = definitions.get(resource);
    if (definition === undefined) throw new Error(`embedded cluster: no definition of ${resource}`);
    return definition;
  };
  const storageOf = (resource: Resource): string => definitionOf(resource).storage;
  const index = createOwnerIndex(store, new Set(indexed.map(storageOf)));
  const target = (resource: Resource, namespace: string | undefined): ResourceTarget => ({
    definition: definitionOf(resource),
    logicalCluster: "",
    namespace,
  });
  const objectTarget = (resource: Resource, { metadata }: KubeObject): ObjectTarget => ({
    ...target(resource, metadata.namespace),
    name: metadata.name ?? "",
  });
  const keyOf = (resource: Resource, { metadata }: KubeObject): StoreKey => ({
    storage: storageOf(resource),
    logicalCluster: "",
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
  });
  const write = (subresource?: string) => ({
    user: clusterUser,
    fieldManager: "kube-controller-manager",
    ...(subresource === undefined ? {} : { subresource }),
  });
  // The definition's schema has validated the object, so it has the shape of its kind.
  const typed = <R extends Resource>(_: R, object: KubeObject): Kinds[R] => object as Kinds[R];
  const typedList = <R extends Resource>(_: R, objects: readonly KubeObject[]): readonly Kinds[R][] =>
    objects as readonly Kinds[R][];

  const recordEvent = createEmbeddedEventRecorder(
    createEventStore({ store, clock, random, events: storageOf("events"), namespaces: storageOf("namespaces") }),
  );

  return {
    storages,
    stop: () => index.stop(),
    now: () => clock.now(),
    get: (resource, namespace, name) => {
      const object = store.get({ storage: storageOf(resource), logicalCluster: "", namespace, name });
      return object === undefined ? undefined : typed(resource, object);
    },
    list: (resource, namespace) =>
      typedList(
        resource,
        store.list(storageOf(resource), { logicalCluster: "", ...(namespace === undefined ? {} : { namespace }) }),
      ),
    owned: (resource, uid) => typedList(resource, index.ownedBy(storageOf(resource), uid)),
    orphans: (resource, namespace) => typedList(resource, index.orphansIn(storageOf(resource), namespace)),
    create: (resource, draft) => {
      const definition = definitionOf(resource);
      const { group, version, kind } = definition;
      const object = { ...draft, apiVersion: group === "" ? version : `${group}/${version}`, kind };
      const where = target(resource, draft.metadata.namespace);
      return typed(resource, operations.create(where, object, write()));
    },
    update: (resource, object) => typed(resource, operations.update(objectTarget(resource, object), object, write())),
    writeStatus: (resource, object, status, annotations = object.metadata.annotations) => {
      const before = [object.status ?? {}, object.metadata.annotations ?? {}];
      if (isDeepStrictEqual(withoutUndefined(before), withoutUndefined([status ?? {}, annotations ?? {}])))
        return object;
      const metadata = { ...object.metadata, ...(annotations === undefined ? {} : { annotations }) };
      const changed: KubeObject = { ...object, metadata, status };
      // There are many pods and only the kubelet writes their status, so it is stored directly.
      if (resource === "pods") return typed(resource, store.put(keyOf(resource, object), changed));
      const where = objectTarget(resource, object);
      return typed(resource, operations.update(where, changed, write("status")));
    },
    bind: (pod, nodeName, status) => {
      // What the binding subresource does; nothing else sets a pod's node.
      store.put(keyOf("pods", pod), {
        ...pod,
        metadata: { ...pod.metadata },
        spec: { ...pod.spec, nodeName },
        ...(status === undefined ? {} : { status }),
      });
    },
    remove: (resource, object, { now = false } = {}) => {
      try {
        operations.delete(
          objectTarget(resource, object),
          { uid: object.metadata.uid, propagationPolicy: "Background", ...(now ? { gracePeriodSeconds: 0 } : {}) },
          { user: clusterUser },
        );
      } catch (error) {
        if (!(error instanceof ApiFailure) || (error.status.code !== 404 && error.status.code !== 409)) throw error;
      }
    },
    recordEvent,
  };
}

type EventStoreOptions = Readonly<{
  store: Store;
  clock: Clock;
  random: () => number;
  /** Names of storages. */
  events: string;
  namespaces: string;
}>;

/** Keeps events in the store directly: there are many, they are well formed, and no hook changes them. */
function createEventStore({ store, clock, random, events, namespaces }: EventStoreOptions): EventStore {
  const keyOf = (namespace: string, name: string): StoreKey => ({
    storage: events,
    logicalCluster: "",
    namespace,
    name,
  });
  return {
    now: () => clock.now(),
    find: (namespace, name) => store.get(keyOf(namespace, name)),
    put: (event) => {
      const { namespace = "", name = "" } = event.metadata;
      const owner = store.get({ storage: namespaces, logicalCluster: "", namespace: "", name: namespace });
      if (owner === undefined || owner.metadata.deletionTimestamp !== undefined) return;
      const uid = event.metadata.uid ?? generatedUid(random);
      store.put(keyOf(namespace, name), { ...event, metadata: { ...event.metadata, uid } });
    },
    remove: (namespace, name) => {
      store.delete(keyOf(namespace, name));
    },
  };
}

const isResource = (plural: string): plural is Resource => Object.hasOwn(servedAt, plural);

/** Removes undefined fields, which do not exist on the wire. */
const withoutUndefined = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
