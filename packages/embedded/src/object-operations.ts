import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Catalog } from "./definition.ts";
import { deleteObject } from "./object-deletion.ts";
import { listObjects } from "./object-lists.ts";
import { patchObject, rescale } from "./object-patches.ts";
import { createObject, presentObject, updateObject } from "./object-writes.ts";
import type { Operations, Target } from "./operations.ts";
import { type OperationsCore, storeKey } from "./operations-core.ts";
import { asVersion, createMatcher, selectChange } from "./selection.ts";
import type { Change, Store } from "./store.ts";

export type OperationsOptions = Readonly<{
  store: Store;
  clock: Clock;
  /** What a logical cluster serves; asked with the empty name on a plain cluster. */
  catalogOf: (cluster: string) => Catalog;
  /** For generated names and uids. @default Math.random */
  random?: (() => number) | undefined;
  /** Whether the first rewrite of an object counts as a change even where it changes nothing, as on kcp. @default false */
  countsFirstRewrite?: boolean | undefined;
}>;

/** The verbs of an API server over a store. */
export function createOperations(options: OperationsOptions): Operations {
  const { store, clock, catalogOf, random = Math.random, countsFirstRewrite = false } = options;
  const unwritten = countsFirstRewrite ? new WeakSet<KubeObject>() : undefined;
  const core: OperationsCore = { store, clock, catalogOf, random, unwritten, operations: () => operations };

  const operations: Operations = {
    get: (target) => presentObject(core, target),
    list: (target, selection = {}) => listObjects(core, target, selection),
    create: (target, object, context) => createObject(core, target, object, context),
    update: (target, object, context) => {
      if (context.subresource !== "scale") return updateObject(core, target, object, context);
      return rescale(core, target, presentObject(core, target), object, context);
    },
    patch: (target, patch, context) => patchObject(core, target, patch, context),
    delete: (target, options, context) => deleteObject(core, target, options, context),
    deleteCollection: (target, selection, options, context) => {
      const list = listObjects(core, target, selection);
      for (const object of list.items) {
        const one = { ...target, namespace: object.metadata.namespace, name: object.metadata.name ?? "" };
        // An earlier one of them may have taken it along.
        if (store.get(storeKey(one)) !== undefined) deleteObject(core, one, options, context);
      }
      return list;
    },
    watch: (target, selection, listener) => {
      const matcher = createMatcher(target.definition, selection);
      return store.subscribe((change) => {
        if (!isWithin(target, change)) return;
        const event = selectChange(matcher, change);
        if (event !== undefined) listener({ ...event, object: asVersion(target.definition, event.object) });
      });
    },
  };
  return operations;
}

/** Whether a change is to something of the target's type, cluster and namespace. */
export function isWithin({ definition, cluster, namespace }: Target, { key }: Change): boolean {
  return (
    key.storage === definition.storage &&
    (cluster === "*" || key.cluster === cluster) &&
    (namespace === undefined || !definition.namespaced || key.namespace === namespace)
  );
}
