import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { StorageChange } from "../storage/store.ts";
import type { Kinds, Resource, StoredMeta } from "./kinds.ts";

export type ChangeType = StorageChange["type"];

/** An object to create; the server fills in the rest. */
export type Draft = Readonly<{ metadata: KubeObject["metadata"] }> & Readonly<Record<string, unknown>>;

export type EventContent = Readonly<{
  type: "Normal" | "Warning";
  reason: string;
  message: string;
  /** The reporting component: `deployment-controller`, `kubelet`. */
  source: string;
}>;

/**
 * The cluster as its own controllers see it: reads are always current, and writes use the cluster's identity. Objects
 * belong to the store and must not be changed in place.
 */
export interface World {
  /** Milliseconds since the epoch. */
  now(): number;
  get<R extends Resource>(resource: R, namespace: string, name: string): Kinds[R] | undefined;
  list<R extends Resource>(resource: R, namespace?: string): readonly Kinds[R][];
  /** Objects whose controller has this uid. */
  owned<R extends Resource>(resource: R, ownerUid: string): readonly Kinds[R][];
  /** Objects without a controller. */
  orphans<R extends Resource>(resource: R, namespace: string): readonly Kinds[R][];
  create<R extends Resource>(resource: R, object: Draft): Kinds[R];
  /** Replaces everything except the status. */
  update<R extends Resource>(resource: R, object: Kinds[R]): Kinds[R];
  /** Replaces the status, and the annotations if given, if they differ. The generation does not change. */
  writeStatus<R extends Resource>(
    resource: R,
    object: Kinds[R],
    status: Kinds[R]["status"],
    annotations?: Record<string, string>,
  ): Kinds[R];
  /** Binds a pod to a node and sets its status. */
  bind(pod: Kinds["pods"], nodeName: string, status: Kinds["pods"]["status"]): void;
  /** Deletes an object; not found is not an error. */
  remove(resource: Resource, object: KubeObject & { metadata: StoredMeta }, options?: { now?: boolean }): void;
  recordEvent(regarding: KubeObject & { metadata: StoredMeta }, event: EventContent): void;
}

/** A controller of the cluster. Level-triggered: a key names an object, not an event. */
export type ClusterController = Readonly<{
  name: string;
  /** Returns the keys (`namespace/name`) to reconcile after an object changed. */
  watches: Readonly<{ [R in Resource]?: (object: Kinds[R], world: World, change: ChangeType) => Iterable<string> }>;
  /** Reconciles one object; returns after how many milliseconds to reconcile it again. */
  reconcile(key: ObjectName, world: World): number | undefined;
}>;

export type ObjectName = Readonly<{ namespace: string; name: string }>;

export const keyOf = (object: KubeObject): string => `${object.metadata.namespace ?? ""}/${object.metadata.name ?? ""}`;

/** The key of an object's controller, if it is of the given kind. */
export function ownerKey(object: KubeObject, kind: string): string[] {
  const owner = object.metadata.ownerReferences?.find((each) => each.controller === true && each.kind === kind);
  return owner === undefined ? [] : [`${object.metadata.namespace ?? ""}/${owner.name}`];
}

export function parseObjectName(key: string): ObjectName {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
