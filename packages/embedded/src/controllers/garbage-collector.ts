import type { KubeObject, OwnerReference } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import { cloneJson } from "../storage/frozen-json.ts";
import type { StorageChange, Store, StoreKey } from "../storage/store.ts";
import { createKeyQueue } from "./key-queue.ts";
import { controllerUser, type RunningController, type ServerControllerOptions } from "./namespaces.ts";

const foreground = "foregroundDeletion";
const orphan = "orphan";
const context = { user: controllerUser, fieldManager: "kube-controller-manager" };

/**
 * Deletes dependents whose owners are gone, and carries out the finalizers of foreground and orphaning deletions. Must be
 * started before the first object is created: it knows only the objects whose changes it has seen.
 */
export function startGarbageCollector(options: ServerControllerOptions): RunningController {
  const { store, operations, clock, catalogOf } = options;
  const graph = createOwnerGraph(store);

  const keys = createKeyQueue(clock, (text) => {
    const key = parseKey(text);
    const object = store.get(key);
    const definition = definitionOf(key);
    if (object === undefined || definition === undefined) return;
    if (object.metadata.deletionTimestamp === undefined) collect(key, definition, object);
    else runDeletionFinalizers(key, definition, object);
  });

  const definitionOf = ({ logicalCluster, storage }: StoreKey): ResourceDefinition | undefined =>
    catalogOf(logicalCluster)
      .definitions()
      .find((definition) => definition.storage === storage);
  const targetOf = (key: StoreKey, definition: ResourceDefinition) => ({
    definition,
    logicalCluster: key.logicalCluster,
    namespace: key.namespace,
    name: key.name,
  });
  /** An owner of a type that is not served cannot be read, so it is never treated as missing. */
  const isServedType = ({ logicalCluster }: StoreKey, { apiVersion, kind }: OwnerReference): boolean =>
    catalogOf(logicalCluster)
      .definitions()
      .some(
        (one) => one.kind === kind && (one.group === "" ? one.version : `${one.group}/${one.version}`) === apiVersion,
      );
  const isForegroundDeletion = ({ metadata }: KubeObject): boolean =>
    metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(foreground) === true;

  const collect = (key: StoreKey, definition: ResourceDefinition, object: KubeObject): void => {
    const owners = object.metadata.ownerReferences ?? [];
    if (owners.length === 0) return;
    const gone = owners.filter((owner) => graph.find(key, owner.uid) === undefined && isServedType(key, owner));
    const waiting = owners.filter(({ uid }) => {
      const owner = graph.find(key, uid);
      return owner !== undefined && isForegroundDeletion(owner);
    });
    if (gone.length === 0 && waiting.length === 0) return;
    const hasOtherOwners = owners.length > gone.length + waiting.length;
    const target = targetOf(key, definition);
    if (hasOtherOwners) {
      const kept = owners.filter((owner) => !gone.includes(owner) && !waiting.includes(owner));
      const changed = cloneJson(object);
      changed.metadata.ownerReferences = kept;
      operations.update(target, changed, context);
      return;
    }
    const uid = object.metadata.uid ?? "";
    // An owner that waits for this object also waits for everything below it.
    const policy = waiting.length > 0 && graph.dependentsOf(key, uid).length > 0 ? "Foreground" : policyOf(object);
    operations.delete(target, { uid, propagationPolicy: policy }, context);
  };

  const runDeletionFinalizers = (key: StoreKey, definition: ResourceDefinition, object: KubeObject): void => {
    const finalizers = object.metadata.finalizers ?? [];
    const dependents = graph.dependentsOf(key, object.metadata.uid ?? "");
    if (finalizers.includes(orphan)) {
      for (const dependent of dependents) removeOwnerReference(dependent, object);
      removeFinalizer(key, definition, orphan);
      return;
    }
    if (!finalizers.includes(foreground)) return;
    for (const dependent of dependents) keys.add(formatKey(dependent));
    const blocking = dependents.filter((dependent) => isBlocking(store.get(dependent), object));
    if (blocking.length === 0) removeFinalizer(key, definition, foreground);
  };

  const removeOwnerReference = (key: StoreKey, owner: KubeObject): void => {
    const object = store.get(key);
    const definition = definitionOf(key);
    if (object === undefined || definition === undefined) return;
    const changed = cloneJson(object);
    const kept = (changed.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.metadata.uid);
    if (kept.length === 0) delete changed.metadata.ownerReferences;
    else changed.metadata.ownerReferences = kept;
    operations.update(targetOf(key, definition), changed, context);
  };

  const removeFinalizer = (key: StoreKey, definition: ResourceDefinition, name: string): void => {
    const object = store.get(key);
    if (object === undefined) return;
    const changed = cloneJson(object);
    changed.metadata.finalizers = (changed.metadata.finalizers ?? []).filter((one) => one !== name);
    operations.update(targetOf(key, definition), changed, context);
  };

  const unsubscribe = store.subscribe((change) => {
    for (const key of graph.apply(change)) keys.add(formatKey(key));
  });
  return {
    stop: () => {
      unsubscribe();
      keys.stop();
    },
  };
}

/** Objects by uid, and the dependents of each uid. Uids are compared within one logical cluster only. */
interface OwnerGraph {
  find(key: StoreKey, uid: string): KubeObject | undefined;
  dependentsOf(key: StoreKey, uid: string): readonly StoreKey[];
  /** Records a change and returns the keys that it affects. */
  apply(change: StorageChange): readonly StoreKey[];
}

function createOwnerGraph(store: Pick<Store, "get">): OwnerGraph {
  const locations = new Map<string, StoreKey>();
  const dependents = new Map<string, Map<string, StoreKey>>();
  const idOf = ({ logicalCluster }: StoreKey, uid: string): string => `${logicalCluster}|${uid}`;
  const dependentsOf = (key: StoreKey, uid: string): readonly StoreKey[] => [
    ...(dependents.get(idOf(key, uid))?.values() ?? []),
  ];

  return {
    find: (key, uid) => {
      const location = locations.get(idOf(key, uid));
      return location === undefined ? undefined : store.get(location);
    },
    dependentsOf,
    apply: ({ type, key, object, previous }) => {
      const affected: StoreKey[] = [];
      const uid = object.metadata.uid ?? "";
      for (const owner of previous?.metadata.ownerReferences ?? []) {
        const ownerId = idOf(key, owner.uid);
        const known = dependents.get(ownerId);
        known?.delete(formatKey(key));
        if (known?.size === 0) dependents.delete(ownerId);
        // The owner may have waited for this dependent to go.
        const location = locations.get(ownerId);
        const found = location === undefined ? undefined : store.get(location);
        if (location !== undefined && found?.metadata.deletionTimestamp !== undefined) affected.push(location);
      }
      if (type === "DELETED") {
        locations.delete(idOf(key, uid));
        return [...affected, ...dependentsOf(key, uid)];
      }
      locations.set(idOf(key, uid), key);
      for (const owner of object.metadata.ownerReferences ?? []) {
        const ownerId = idOf(key, owner.uid);
        const known = dependents.get(ownerId) ?? new Map<string, StoreKey>();
        dependents.set(ownerId, known.set(formatKey(key), key));
      }
      const hasOwners = (object.metadata.ownerReferences?.length ?? 0) > 0;
      if (hasOwners || object.metadata.deletionTimestamp !== undefined) affected.push(key);
      return affected;
    },
  };
}

function policyOf({ metadata: { finalizers = [] } }: KubeObject): "Orphan" | "Foreground" | "Background" {
  if (finalizers.includes(orphan)) return "Orphan";
  return finalizers.includes(foreground) ? "Foreground" : "Background";
}

const isBlocking = (dependent: KubeObject | undefined, owner: KubeObject): boolean =>
  dependent?.metadata.ownerReferences?.some(
    ({ uid, blockOwnerDeletion }) => uid === owner.metadata.uid && blockOwnerDeletion === true,
  ) === true;

const formatKey = ({ storage, logicalCluster, namespace, name }: StoreKey): string =>
  [storage, logicalCluster, namespace, name].join("|");

function parseKey(text: string): StoreKey {
  const [storage = "", logicalCluster = "", namespace = "", name = ""] = text.split("|");
  return { storage, logicalCluster, namespace, name };
}
