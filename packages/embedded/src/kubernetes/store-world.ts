import { isDeepStrictEqual } from "node:util";
import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { ApiFailure } from "../api-failure.ts";
import type { Catalog, ResourceDefinition } from "../definition.ts";
import type { User } from "../http.ts";
import { generatedUid } from "../object-names.ts";
import type { ObjectTarget, Operations, Target } from "../operations.ts";
import type { Store, StoreKey } from "../store.ts";
import { createEventRecorder } from "./event-recorder.ts";
import { type Kinds, type Resource, servedAt } from "./kinds.ts";
import { createOwnerIndex } from "./owner-index.ts";
import type { World } from "./world.ts";

/** The cluster itself, as the user its own controllers act for. */
export const clusterUser: User = { name: "system:apiserver", groups: ["system:masters", "system:authenticated"] };

const indexed: readonly Resource[] = ["pods", "replicasets", "controllerrevisions", "jobs", "endpointslices"];

export type StoreWorld = World & Readonly<{ storages: ReadonlyMap<string, Resource>; stop(): void }>;

/** Gives the cluster's controllers their world: reads straight from the store, writes through the API's own operations. */
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
  const target = (resource: Resource, namespace: string | undefined): Target => ({
    definition: definitionOf(resource),
    cluster: "",
    namespace,
  });
  const objectTarget = (resource: Resource, { metadata }: KubeObject): ObjectTarget => ({
    ...target(resource, metadata.namespace),
    name: metadata.name ?? "",
  });
  const keyOf = (resource: Resource, { metadata }: KubeObject): StoreKey => ({
    storage: storageOf(resource),
    cluster: "",
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
  });
  const write = (subresource?: string) => ({
    user: clusterUser,
    fieldManager: "kube-controller-manager",
    ...(subresource === undefined ? {} : { subresource }),
  });
  // The definition's schema has let the object in, so that it has the shape its kind says.
  const typed = <R extends Resource>(_: R, object: KubeObject): Kinds[R] => object as Kinds[R];
  const typedList = <R extends Resource>(_: R, objects: readonly KubeObject[]): readonly Kinds[R][] =>
    objects as readonly Kinds[R][];

  const eventKey = (namespace: string, name: string): StoreKey => ({
    storage: storageOf("events"),
    cluster: "",
    namespace,
    name,
  });
  const recordEvent = createEventRecorder({
    now: () => clock.now(),
    find: (namespace, name) => store.get(eventKey(namespace, name)),
    // Straight into the store: there are many, they are well formed, and nobody fills anything into them.
    put: (event) => {
      const { namespace = "", name = "" } = event.metadata;
      const home = store.get({ storage: storageOf("namespaces"), cluster: "", namespace: "", name: namespace });
      if (home === undefined || home.metadata.deletionTimestamp !== undefined) return;
      const uid = event.metadata.uid ?? generatedUid(random);
      store.put(eventKey(namespace, name), { ...event, metadata: { ...event.metadata, uid } });
    },
    remove: (namespace, name) => {
      store.delete(eventKey(namespace, name));
    },
  });

  return {
    storages,
    stop: () => index.stop(),
    now: () => clock.now(),
    get: (resource, namespace, name) => {
      const object = store.get({ storage: storageOf(resource), cluster: "", namespace, name });
      return object === undefined ? undefined : typed(resource, object);
    },
    list: (resource, namespace) =>
      typedList(
        resource,
        store.list(storageOf(resource), { cluster: "", ...(namespace === undefined ? {} : { namespace }) }),
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
      if (isDeepStrictEqual(plain(before), plain([status ?? {}, annotations ?? {}]))) return object;
      const metadata = { ...object.metadata, ...(annotations === undefined ? {} : { annotations }) };
      const changed: KubeObject = { ...object, metadata, status };
      // Pods are many and what is said of them is ours alone: their status goes straight into the store.
      if (resource === "pods") return typed(resource, store.put(keyOf(resource, object), changed));
      const where = objectTarget(resource, object);
      return typed(resource, operations.update(where, changed, write("status")));
    },
    bind: (pod, nodeName, status) => {
      // What the binding subresource does: the only way a pod's node is ever set.
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
    note: (regarding, event) => recordEvent(regarding, event),
  };
}

const isResource = (plural: string): plural is Resource => Object.hasOwn(servedAt, plural);

/** Without the fields that are undefined: they are not there on the wire. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
