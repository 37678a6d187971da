import type { KubeObject, OwnerReference } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definition.ts";
import { cloneJson } from "../frozen-json.ts";
import type { Change, StoreKey } from "../store.ts";
import { createDirtyKeys } from "./dirty-keys.ts";
import { type ControllerOptions, type RunningController, systemUser } from "./namespaces.ts";

const foreground = "foregroundDeletion";
const orphan = "orphan";
const context = { user: systemUser, fieldManager: "kube-controller-manager" };

/**
 * Deletes what belongs to owners that are gone, and does what the finalizers of foreground and orphaning deletions stand
 * for. Must be started before the first object is created: it knows what it has seen.
 */
export function startGarbageCollector(options: ControllerOptions): RunningController {
  const { store, operations, clock, catalogOf } = options;
  /** Where the object with a uid is. */
  const places = new Map<string, StoreKey>();
  /** Who names a uid as its owner, by the identity of the key. */
  const dependents = new Map<string, Map<string, StoreKey>>();

  const keys = createDirtyKeys(clock, (text) => {
    const key = parseKey(text);
    const object = store.get(key);
    const definition = definitionOf(key);
    if (object === undefined || definition === undefined) return;
    if (object.metadata.deletionTimestamp === undefined) collect(key, definition, object);
    else finish(key, definition, object);
  });

  const definitionOf = ({ cluster, storage }: StoreKey): ResourceDefinition | undefined =>
    catalogOf(cluster)
      .definitions()
      .find((definition) => definition.storage === storage);
  const targetOf = (key: StoreKey, definition: ResourceDefinition) => ({
    definition,
    cluster: key.cluster,
    namespace: key.namespace,
    name: key.name,
  });
  const ownerOf = ({ cluster }: StoreKey, { uid }: OwnerReference): KubeObject | undefined => {
    const place = places.get(`${cluster}|${uid}`);
    return place === undefined ? undefined : store.get(place);
  };
  /** An owner of a type that nobody serves cannot be looked for, and so cannot be found missing. */
  const isLookedFor = ({ cluster }: StoreKey, { apiVersion, kind }: OwnerReference): boolean =>
    catalogOf(cluster)
      .definitions()
      .some(
        (one) => one.kind === kind && (one.group === "" ? one.version : `${one.group}/${one.version}`) === apiVersion,
      );
  const isWaiting = ({ metadata }: KubeObject): boolean =>
    metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(foreground) === true;

  const collect = (key: StoreKey, definition: ResourceDefinition, object: KubeObject): void => {
    const owners = object.metadata.ownerReferences ?? [];
    if (owners.length === 0) return;
    const gone = owners.filter((owner) => ownerOf(key, owner) === undefined && isLookedFor(key, owner));
    const waiting = owners.filter((owner) => {
      const found = ownerOf(key, owner);
      return found !== undefined && isWaiting(found);
    });
    if (gone.length === 0 && waiting.length === 0) return;
    const isHeld = owners.length > gone.length + waiting.length;
    const target = targetOf(key, definition);
    if (isHeld) {
      const kept = owners.filter((owner) => !gone.includes(owner) && !waiting.includes(owner));
      const freed = cloneJson(object);
      freed.metadata.ownerReferences = kept;
      operations.update(target, freed, context);
      return;
    }
    const uid = object.metadata.uid ?? "";
    const hasDependents = (dependents.get(`${key.cluster}|${uid}`)?.size ?? 0) > 0;
    // Whoever waits for this one waits for all that is below it too.
    const policy = waiting.length > 0 && hasDependents ? "Foreground" : policyOf(object);
    operations.delete(target, { uid, propagationPolicy: policy }, context);
  };

  const finish = (key: StoreKey, definition: ResourceDefinition, object: KubeObject): void => {
    const finalizers = object.metadata.finalizers ?? [];
    const own = [...(dependents.get(`${key.cluster}|${object.metadata.uid ?? ""}`)?.values() ?? [])];
    if (finalizers.includes(orphan)) {
      for (const dependent of own) disown(dependent, object);
      withoutFinalizer(key, definition, orphan);
      return;
    }
    if (!finalizers.includes(foreground)) return;
    for (const dependent of own) keys.add(formatKey(dependent));
    const blocking = own.filter((dependent) => isBlocking(store.get(dependent), object));
    if (blocking.length === 0) withoutFinalizer(key, definition, foreground);
  };

  const disown = (key: StoreKey, owner: KubeObject): void => {
    const object = store.get(key);
    const definition = definitionOf(key);
    if (object === undefined || definition === undefined) return;
    const freed = cloneJson(object);
    const kept = (freed.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.metadata.uid);
    if (kept.length === 0) delete freed.metadata.ownerReferences;
    else freed.metadata.ownerReferences = kept;
    operations.update(targetOf(key, definition), freed, context);
  };

  const withoutFinalizer = (key: StoreKey, definition: ResourceDefinition, name: string): void => {
    const object = store.get(key);
    if (object === undefined) return;
    const freed = cloneJson(object);
    freed.metadata.finalizers = (freed.metadata.finalizers ?? []).filter((one) => one !== name);
    operations.update(targetOf(key, definition), freed, context);
  };

  const note = ({ type, key, object, previous }: Change): void => {
    const uid = `${key.cluster}|${object.metadata.uid ?? ""}`;
    const id = formatKey(key);
    for (const owner of previous?.metadata.ownerReferences ?? []) {
      const known = dependents.get(`${key.cluster}|${owner.uid}`);
      known?.delete(id);
      if (known?.size === 0) dependents.delete(`${key.cluster}|${owner.uid}`);
      // One dependent fewer may be what an owner waits for.
      const place = places.get(`${key.cluster}|${owner.uid}`);
      const found = place === undefined ? undefined : store.get(place);
      if (place !== undefined && found?.metadata.deletionTimestamp !== undefined) keys.add(formatKey(place));
    }
    if (type === "DELETED") {
      places.delete(uid);
      for (const dependent of dependents.get(uid)?.values() ?? []) keys.add(formatKey(dependent));
      return;
    }
    places.set(uid, key);
    for (const owner of object.metadata.ownerReferences ?? []) {
      const ownerUid = `${key.cluster}|${owner.uid}`;
      const known = dependents.get(ownerUid) ?? new Map<string, StoreKey>();
      dependents.set(ownerUid, known.set(id, key));
    }
    const concerns =
      (object.metadata.ownerReferences?.length ?? 0) > 0 || object.metadata.deletionTimestamp !== undefined;
    if (concerns) keys.add(id);
  };

  const unsubscribe = store.subscribe(note);
  return {
    stop: () => {
      unsubscribe();
      keys.stop();
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

const formatKey = ({ storage, cluster, namespace, name }: StoreKey): string =>
  [storage, cluster, namespace, name].join("|");

function parseKey(text: string): StoreKey {
  const [storage = "", cluster = "", namespace = "", name = ""] = text.split("|");
  return { storage, cluster, namespace, name };
}
