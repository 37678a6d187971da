import { byKey } from "@tmc/kube/compare.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Store, StoreKey } from "../storage/store.ts";
import { controllerOf } from "./kinds.ts";

/** Index of objects by the uid of their controller. */
export interface OwnerIndex {
  ownedBy(storage: string, uid: string): readonly KubeObject[];
  orphansIn(storage: string, namespace: string): readonly KubeObject[];
  stop(): void;
}

/** Creates an index over the given storages and keeps it up to date. */
export function createOwnerIndex(store: Store, storages: ReadonlySet<string>): OwnerIndex {
  const groups = new Map<string, Map<string, KubeObject>>();
  const groupOf = (storage: string, object: KubeObject): string => {
    const owner = controllerOf(object);
    return owner === undefined ? `${storage} / ${object.metadata.namespace ?? ""}` : `${storage} ${owner}`;
  };
  const put = (storage: string, object: KubeObject): void => {
    const group = groupOf(storage, object);
    const members = groups.get(group) ?? new Map<string, KubeObject>();
    groups.set(group, members.set(nameOf(object), object));
  };
  const drop = (storage: string, object: KubeObject): void => {
    const group = groupOf(storage, object);
    const members = groups.get(group);
    members?.delete(nameOf(object));
    if (members?.size === 0) groups.delete(group);
  };
  const list = (group: string): readonly KubeObject[] =>
    [...(groups.get(group) ?? [])].toSorted(byKey).map(([, object]) => object);

  for (const storage of storages) for (const object of store.list(storage)) put(storage, object);
  const unsubscribe = store.subscribe(({ type, key, object, previous }) => {
    const { storage }: StoreKey = key;
    if (!storages.has(storage)) return;
    if (previous !== undefined) drop(storage, previous);
    if (type === "DELETED") drop(storage, object);
    else put(storage, object);
  });

  return {
    ownedBy: (storage, uid) => list(`${storage} ${uid}`),
    orphansIn: (storage, namespace) => list(`${storage} / ${namespace}`),
    stop: unsubscribe,
  };
}

const nameOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
