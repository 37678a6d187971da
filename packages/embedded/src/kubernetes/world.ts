import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Change } from "../store.ts";
import type { Kinds, Resource, StoredMeta } from "./kinds.ts";

export type ChangeType = Change["type"];

/** An object to be created: what the server fills in may be missing. */
export type Draft = Readonly<{ metadata: KubeObject["metadata"] }> & Readonly<Record<string, unknown>>;

export type EventNote = Readonly<{
  type: "Normal" | "Warning";
  reason: string;
  message: string;
  /** The component that tells it: `deployment-controller`, `kubelet`. */
  source: string;
}>;

/**
 * All that the cluster's own controllers need of the world: reads that are always fresh, and writes in the name of the
 * cluster. Objects that are read belong to the store and are never changed in place.
 */
export interface World {
  /** Milliseconds since the epoch. */
  now(): number;
  get<R extends Resource>(resource: R, namespace: string, name: string): Kinds[R] | undefined;
  list<R extends Resource>(resource: R, namespace?: string): readonly Kinds[R][];
  /** What the controller with that uid has made. */
  owned<R extends Resource>(resource: R, ownerUid: string): readonly Kinds[R][];
  /** What belongs to no controller. */
  orphans<R extends Resource>(resource: R, namespace: string): readonly Kinds[R][];
  create<R extends Resource>(resource: R, object: Draft): Kinds[R];
  /** Replaces everything but status. */
  update<R extends Resource>(resource: R, object: Kinds[R]): Kinds[R];
  /** Replaces the status, and the annotations where some are given, when they differ; neither is a change of what is wanted. */
  writeStatus<R extends Resource>(
    resource: R,
    object: Kinds[R],
    status: Kinds[R]["status"],
    annotations?: Record<string, string>,
  ): Kinds[R];
  /** Puts a pod on a node and marks it scheduled. */
  bind(pod: Kinds["pods"], nodeName: string, status: Kinds["pods"]["status"]): void;
  /** Deletes; what is gone already is no failure. */
  remove(resource: Resource, object: KubeObject & { metadata: StoredMeta }, options?: { now?: boolean }): void;
  note(regarding: KubeObject & { metadata: StoredMeta }, event: EventNote): void;
}

/** One of the cluster's own controllers. Level-triggered: a key says which object, never what happened. */
export type Controller = Readonly<{
  name: string;
  /** For a changed object, the keys (`namespace/name`) of what has to be looked at again. */
  watches: Readonly<{ [R in Resource]?: (object: Kinds[R], world: World, change: ChangeType) => Iterable<string> }>;
  /** Brings one object closer to what it should be; answers after how many milliseconds to look again without a change. */
  reconcile(key: ObjectName, world: World): number | undefined;
}>;

export type ObjectName = Readonly<{ namespace: string; name: string }>;

/** The key of an object, as controllers' queues hold it. */
export const keyOf = (object: KubeObject): string => `${object.metadata.namespace ?? ""}/${object.metadata.name ?? ""}`;

/** The key of an object's controller, where that is of the given kind. */
export function ownerKey(object: KubeObject, kind: string): string[] {
  const owner = object.metadata.ownerReferences?.find((each) => each.controller === true && each.kind === kind);
  return owner === undefined ? [] : [`${object.metadata.namespace ?? ""}/${owner.name}`];
}

export function parseKey(key: string): ObjectName {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
