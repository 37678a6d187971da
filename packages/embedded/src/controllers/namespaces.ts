import type { Clock } from "@tmc/kube/clock.ts";
import { byKey, compareStrings } from "@tmc/kube/compare.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Catalog, ResourceDefinition } from "../definition.ts";
import { cloneJson } from "../frozen-json.ts";
import type { User } from "../http.ts";
import { isEqual, isList, isObject } from "../machinery/json-value.ts";
import type { Operations } from "../operations.ts";
import { timestamp } from "../operations-core.ts";
import type { Store } from "../store.ts";
import { createDirtyKeys } from "./dirty-keys.ts";

/** Who the server's own controllers act as. */
export const systemUser: User = { name: "system:apiserver", groups: ["system:masters"] };
const manager = "kube-controller-manager";

export type ControllerOptions = Readonly<{
  store: Store;
  operations: Operations;
  clock: Clock;
  catalogOf: (cluster: string) => Catalog;
}>;

/** A controller of the server itself; it runs until it is stopped. */
export type RunningController = Readonly<{ stop: () => void }>;

const finalizer = "kubernetes";

/** Empties namespaces that are being deleted, and lets them go when nothing is left in them. */
export function startNamespaceController(options: ControllerOptions): RunningController {
  const { store, operations, clock, catalogOf } = options;
  /** Namespaces that are going, as `cluster/name`. */
  const terminating = new Set<string>();

  const keys = createDirtyKeys(clock, (key) => {
    const [cluster = "", name = ""] = splitKey(key);
    const definition = catalogOf(cluster).find("", "v1", "namespaces");
    if (definition === undefined) return;
    const namespace = store.get({ storage: definition.storage, cluster, namespace: "", name });
    if (namespace === undefined || namespace.metadata.deletionTimestamp === undefined) {
      terminating.delete(key);
      return;
    }
    terminating.add(key);
    if (!finalizersOf(namespace).includes(finalizer)) return;
    const remaining = emptyNamespace({ store, operations }, catalogOf(cluster), cluster, name);
    const target = { definition, cluster, name };
    const context = { user: systemUser, fieldManager: manager };
    if (remaining.length === 0) {
      const freed = cloneJson(namespace);
      freed.spec = { finalizers: finalizersOf(namespace).filter((one) => one !== finalizer) };
      operations.update(target, freed, { ...context, subresource: "finalize" });
      return;
    }
    const told = cloneJson(namespace);
    told.status = statusOf(namespace, remaining, timestamp(clock.now()));
    operations.update(target, told, { ...context, subresource: "status" });
  });

  const unsubscribe = store.subscribe(({ type, key }) => {
    const home = `${key.cluster}/${key.namespace}`;
    if (key.storage === "namespaces") keys.add(`${key.cluster}/${key.name}`);
    else if (type !== "ADDED" && terminating.has(home)) keys.add(home);
  });
  return {
    stop: () => {
      unsubscribe();
      keys.stop();
    },
  };
}

/** The cluster has no slash in it, and neither has a namespace. */
const splitKey = (key: string): string[] => key.split("/");

function finalizersOf({ spec }: KubeObject): readonly string[] {
  const finalizers = isObject(spec) && isList(spec.finalizers) ? spec.finalizers : [];
  return finalizers.filter((name) => typeof name === "string");
}

type Remaining = Readonly<{ definition: ResourceDefinition; objects: readonly KubeObject[] }>;

function emptyNamespace(
  { store, operations }: Pick<ControllerOptions, "store" | "operations">,
  catalog: Catalog,
  cluster: string,
  namespace: string,
): Remaining[] {
  const remaining: Remaining[] = [];
  for (const definition of storedDefinitions(catalog)) {
    if (!definition.namespaced) continue;
    for (const object of store.list(definition.storage, { cluster, namespace })) {
      if (object.metadata.deletionTimestamp !== undefined) continue;
      const target = { definition, cluster, namespace, name: object.metadata.name ?? "" };
      operations.delete(target, { propagationPolicy: "Background" }, { user: systemUser });
    }
    const objects = store.list(definition.storage, { cluster, namespace });
    if (objects.length > 0) remaining.push({ definition, objects });
  }
  return remaining;
}

/** One definition for each storage, of those whose objects can be deleted. */
export function storedDefinitions(catalog: Catalog): ResourceDefinition[] {
  const byStorage = new Map<string, ResourceDefinition>();
  for (const definition of catalog.definitions()) {
    if (definition.review !== undefined || !definition.verbs.includes("delete")) continue;
    if (!byStorage.has(definition.storage)) byStorage.set(definition.storage, definition);
  }
  return [...byStorage.values()];
}

/**
 * Deletes everything in a logical cluster but what `keep` names; answers how many objects are still there, because they
 * have finalizers or time to end.
 */
export function deleteAllIn(
  { store, operations, catalogOf }: Omit<ControllerOptions, "clock">,
  cluster: string,
  keep: (definition: ResourceDefinition, object: KubeObject) => boolean = () => false,
): number {
  let remaining = 0;
  for (const definition of storedDefinitions(catalogOf(cluster))) {
    const present = (): readonly KubeObject[] =>
      store.list(definition.storage, { cluster }).filter((object) => !keep(definition, object));
    for (const { metadata } of present()) {
      if (metadata.deletionTimestamp !== undefined) continue;
      const target = { definition, cluster, namespace: metadata.namespace, name: metadata.name ?? "" };
      try {
        operations.delete(target, { propagationPolicy: "Background" }, { user: systemUser });
      } catch {
        // Some namespaces may not be deleted; they stay and are counted.
      }
    }
    remaining += present().length;
  }
  return remaining;
}

type Condition = Readonly<Record<string, unknown>>;

function statusOf(namespace: KubeObject, remaining: readonly Remaining[], now: string): unknown {
  const counted = remaining
    .map(({ definition: { group, plural }, objects }) => ({
      name: group === "" ? `${plural}.` : `${plural}.${group}`,
      count: objects.length,
    }))
    .toSorted((a, b) => compareStrings(a.name, b.name))
    .map(({ name, count }) => `${name} has ${count} resource instances`);
  const finalizers = new Map<string, number>();
  for (const { objects } of remaining) {
    for (const { metadata } of objects) {
      for (const name of metadata.finalizers ?? []) finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
    }
  }
  const held = [...finalizers].toSorted(byKey).map(([name, count]) => `${name} in ${count} resource instances`);
  const wanted: readonly Condition[] = [
    condition(
      "NamespaceDeletionDiscoveryFailure",
      false,
      "ResourcesDiscovered",
      "All resources successfully discovered",
    ),
    condition(
      "NamespaceDeletionGroupVersionParsingFailure",
      false,
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ),
    condition(
      "NamespaceDeletionContentFailure",
      false,
      "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization",
    ),
    condition(
      "NamespaceContentRemaining",
      true,
      "SomeResourcesRemain",
      `Some resources are remaining: ${counted.join(", ")}`,
    ),
    held.length === 0
      ? condition(
          "NamespaceFinalizersRemaining",
          false,
          "ContentHasNoFinalizers",
          "All content-preserving finalizers finished",
        )
      : condition(
          "NamespaceFinalizersRemaining",
          true,
          "SomeFinalizersRemain",
          `Some content in the namespace has finalizers remaining: ${held.join(", ")}`,
        ),
  ];
  const status = isObject(namespace.status) ? namespace.status : {};
  const before = isList(status.conditions) ? status.conditions.filter(isObject) : [];
  const conditions = wanted.map((one) => {
    const old = before.find(({ type }) => type === one.type);
    const { lastTransitionTime, ...rest } = old ?? {};
    return {
      lastTransitionTime: old !== undefined && isEqual(rest.status, one.status) ? lastTransitionTime : now,
      ...one,
    };
  });
  return { ...status, phase: "Terminating", conditions };
}

const condition = (type: string, holds: boolean, reason: string, message: string): Condition => ({
  type,
  status: holds ? "True" : "False",
  reason,
  message,
});
