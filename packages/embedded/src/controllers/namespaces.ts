import type { Clock } from "@tmc/kube/clock.ts";
import { byKey, compareStrings } from "@tmc/kube/compare.ts";
import { isFields } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Catalog, ResourceDefinition } from "../definitions/definition.ts";
import { isEqual, isList } from "../machinery/json-value.ts";
import type { User } from "../server/http.ts";
import { cloneJson } from "../storage/frozen-json.ts";
import type { Operations } from "../storage/operations.ts";
import { timestamp } from "../storage/operations-core.ts";
import type { Store } from "../storage/store.ts";
import { createKeyQueue } from "./key-queue.ts";

/** The identity of the server's own controllers. */
export const controllerUser: User = { name: "system:apiserver", groups: ["system:masters"] };
const manager = "kube-controller-manager";

export type ServerControllerOptions = Readonly<{
  store: Store;
  operations: Operations;
  clock: Clock;
  catalogOf: (logicalCluster: string) => Catalog;
}>;

/** A controller of the server itself; runs until stopped. */
export type RunningController = Readonly<{ stop: () => void }>;

const finalizer = "kubernetes";

/** Deletes the content of terminating namespaces and removes their finalizer when they are empty. */
export function startNamespaceController(options: ServerControllerOptions): RunningController {
  const { store, operations, clock, catalogOf } = options;
  /** Terminating namespaces, as `<logical cluster>/<name>`. */
  const terminating = new Set<string>();

  const keys = createKeyQueue(clock, (key) => {
    const [logicalCluster = "", name = ""] = splitKey(key);
    const definition = catalogOf(logicalCluster).find("", "v1", "namespaces");
    if (definition === undefined) return;
    const namespace = store.get({ storage: definition.storage, logicalCluster, namespace: "", name });
    if (namespace === undefined || namespace.metadata.deletionTimestamp === undefined) {
      terminating.delete(key);
      return;
    }
    terminating.add(key);
    if (!finalizersOf(namespace).includes(finalizer)) return;
    const remaining = emptyNamespace({ store, operations }, catalogOf(logicalCluster), logicalCluster, name);
    const target = { definition, logicalCluster, name };
    const context = { user: controllerUser, fieldManager: manager };
    if (remaining.length === 0) {
      const finalized = cloneJson(namespace);
      finalized.spec = { finalizers: finalizersOf(namespace).filter((one) => one !== finalizer) };
      operations.update(target, finalized, { ...context, subresource: "finalize" });
      return;
    }
    const updated = cloneJson(namespace);
    updated.status = statusOf(namespace, remaining, timestamp(clock.now()));
    operations.update(target, updated, { ...context, subresource: "status" });
  });

  const unsubscribe = store.subscribe(({ type, key }) => {
    const namespaceKey = `${key.logicalCluster}/${key.namespace}`;
    if (key.storage === "namespaces") keys.add(`${key.logicalCluster}/${key.name}`);
    else if (type !== "ADDED" && terminating.has(namespaceKey)) keys.add(namespaceKey);
  });
  return {
    stop: () => {
      unsubscribe();
      keys.stop();
    },
  };
}

/** Neither a logical cluster's name nor a namespace contains a slash. */
const splitKey = (key: string): string[] => key.split("/");

function finalizersOf({ spec }: KubeObject): readonly string[] {
  const finalizers = isFields(spec) && isList(spec.finalizers) ? spec.finalizers : [];
  return finalizers.filter((name) => typeof name === "string");
}

type Remaining = Readonly<{ definition: ResourceDefinition; objects: readonly KubeObject[] }>;

function emptyNamespace(
  { store, operations }: Pick<ServerControllerOptions, "store" | "operations">,
  catalog: Catalog,
  logicalCluster: string,
  namespace: string,
): Remaining[] {
  const remaining: Remaining[] = [];
  for (const definition of storedDefinitions(catalog)) {
    if (!definition.namespaced) continue;
    for (const object of store.list(definition.storage, { logicalCluster, namespace })) {
      if (object.metadata.deletionTimestamp !== undefined) continue;
      const target = { definition, logicalCluster, namespace, name: object.metadata.name ?? "" };
      operations.delete(target, { propagationPolicy: "Background" }, { user: controllerUser });
    }
    const objects = store.list(definition.storage, { logicalCluster, namespace });
    if (objects.length > 0) remaining.push({ definition, objects });
  }
  return remaining;
}

/** One definition per storage, without types whose objects cannot be deleted. */
function storedDefinitions(catalog: Catalog): ResourceDefinition[] {
  const byStorage = new Map<string, ResourceDefinition>();
  for (const definition of catalog.definitions()) {
    if (definition.review !== undefined || !definition.verbs.includes("delete")) continue;
    if (!byStorage.has(definition.storage)) byStorage.set(definition.storage, definition);
  }
  return [...byStorage.values()];
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
  const remainingFinalizers = [...finalizers]
    .toSorted(byKey)
    .map(([name, count]) => `${name} in ${count} resource instances`);
  const desired: readonly Condition[] = [
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
    remainingFinalizers.length === 0
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
          `Some content in the namespace has finalizers remaining: ${remainingFinalizers.join(", ")}`,
        ),
  ];
  const status = isFields(namespace.status) ? namespace.status : {};
  const before = isList(status.conditions) ? status.conditions.filter(isFields) : [];
  const conditions = desired.map((one) => {
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
