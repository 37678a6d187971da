import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Catalog } from "../definitions/definition.ts";
import { deleteObject } from "./object-deletion.ts";
import { listObjects } from "./object-lists.ts";
import { patchObject, updateScale } from "./object-patches.ts";
import { createObject, readObject, updateObject } from "./object-writes.ts";
import type { Operations, ResourceTarget } from "./operations.ts";
import { type OperationsCore, storeKey } from "./operations-core.ts";
import { createMatcher, selectChange, toServedVersion } from "./selection.ts";
import type { StorageChange, Store } from "./store.ts";

export type OperationsOptions = Readonly<{
  store: Store;
  clock: Clock;
  /** Returns the types of a logical cluster; the name is empty on a Kubernetes cluster. */
  catalogOf: (logicalCluster: string) => Catalog;
  /** For generated names and uids. @default Math.random */
  random?: (() => number) | undefined;
  /** Whether the first update of an object is written even if it changes nothing, as in kcp. @default false */
  firstUpdateAlwaysWrites?: boolean | undefined;
}>;

/** Creates the verbs of an API server over a store. */
export function createOperations(options: OperationsOptions): Operations {
  const { store, clock, catalogOf, random = Math.random, firstUpdateAlwaysWrites = false } = options;
  const neverUpdated = firstUpdateAlwaysWrites ? new WeakSet<KubeObject>() : undefined;
  const core: OperationsCore = { store, clock, catalogOf, random, neverUpdated, operations: () => operations };

  const operations: Operations = {
    get: (target) => readObject(core, target),
    list: (target, selection = {}) => listObjects(core, target, selection),
    create: (target, object, context) => createObject(core, target, object, context),
    update: (target, object, context) => {
      if (context.subresource !== "scale") return updateObject(core, target, object, context);
      return updateScale(core, target, readObject(core, target), object, context);
    },
    patch: (target, patch, context) => patchObject(core, target, patch, context),
    delete: (target, options, context) => deleteObject(core, target, options, context),
    deleteCollection: (target, selection, options, context) => {
      const list = listObjects(core, target, selection);
      for (const object of list.items) {
        const one = { ...target, namespace: object.metadata.namespace, name: object.metadata.name ?? "" };
        // The deletion of an earlier object may have deleted this one.
        if (store.get(storeKey(one)) !== undefined) deleteObject(core, one, options, context);
      }
      return list;
    },
    watch: (target, selection, listener) => {
      const matcher = createMatcher(target.definition, selection);
      return store.subscribe((change) => {
        if (!isWithin(target, change)) return;
        const event = selectChange(matcher, change);
        if (event !== undefined) listener({ ...event, object: toServedVersion(target.definition, event.object) });
      });
    },
  };
  return operations;
}

/** Whether a change affects the target's type, logical cluster and namespace. */
export function isWithin({ definition, logicalCluster, namespace }: ResourceTarget, { key }: StorageChange): boolean {
  return (
    key.storage === definition.storage &&
    (logicalCluster === "*" || key.logicalCluster === logicalCluster) &&
    (namespace === undefined || !definition.namespaced || key.namespace === namespace)
  );
}
