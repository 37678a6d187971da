import { textAt, valueAt } from "@tmc/kube/json.ts";
import type { ResourceDefinition } from "../../definitions/definition.ts";
import { recordAt } from "../../machinery/fields.ts";
import { kcpConditionsOf } from "../conditions.ts";
import { storages } from "../directory.ts";
import { logicalClusterFinalizer, phaseLabel } from "../names.ts";
import { systemTypes } from "../system-client.ts";
import type { ControllerWorld } from "./world.ts";

/** Deletes the content of a terminating logical cluster; removes the finalizer when it is empty. */
export function deleteLogicalClusterContent(world: ControllerWorld, logicalCluster: string): void {
  const { client, directory, store, clock, loop } = world;
  const own = directory.logicalCluster(logicalCluster);
  if (own === undefined || own.metadata.deletionTimestamp === undefined) return;
  if (own.metadata.labels?.[phaseLabel] !== "Deleting") {
    client.merge(systemTypes.logicalClusters, { logicalCluster }, "cluster", {
      metadata: { labels: { [phaseLabel]: "Deleting" } },
    });
  }

  const remaining: Record<string, number> = {};
  const withFinalizers: Record<string, number> = {};
  for (const definition of contentTypes(world, logicalCluster)) {
    for (const { metadata } of store.list(definition.storage, { logicalCluster })) {
      if (metadata.deletionTimestamp !== undefined) continue;
      client.remove(definition, { logicalCluster, namespace: metadata.namespace }, metadata.name ?? "");
    }
    // Remaining namespaced objects are counted with their namespace.
    if (definition.namespaced) continue;
    for (const { metadata } of store.list(definition.storage, { logicalCluster })) {
      count(remaining, definition);
      for (const finalizer of metadata.finalizers ?? [])
        withFinalizers[finalizer] = (withFinalizers[finalizer] ?? 0) + 1;
    }
  }
  deleteEmptyNamespaces(world, logicalCluster);
  const namespaces = client.definition(systemTypes.namespaces, logicalCluster);
  for (const _ of store.list(namespaces.storage, { logicalCluster })) count(remaining, namespaces);

  const present = directory.logicalCluster(logicalCluster);
  if (present === undefined) return;

  const counts = Object.entries(remaining);
  if (counts.length > 0) {
    const conditions = kcpConditionsOf(valueAt(present, "status", "conditions"), clock.now());
    const finalizers = Object.entries(withFinalizers);
    const list = (items: readonly (readonly [string, number])[], between: string): string =>
      items
        .map(([key, number]) => `${key} ${between} ${number} resource instances`)
        .toSorted()
        .join(", ");
    conditions.markFalse("WorkspaceContentDeleted", {
      reason: finalizers.length > 0 ? "SomeFinalizersRemain" : "SomeResourcesRemain",
      severity: "Info",
      message:
        finalizers.length > 0
          ? `Some content in the workspace has finalizers remaining: ${list(finalizers, "in")}`
          : `Some resources are remaining: ${list(counts, "has")}`,
    });
    client.writeStatus(systemTypes.logicalClusters, { logicalCluster }, present, {
      ...recordAt(present, "status"),
      conditions: conditions.list(),
    });
    return;
  }
  const parent = textAt(present, "spec", "owner", "cluster");
  const name = textAt(present, "spec", "owner", "name");
  client.merge(systemTypes.logicalClusters, { logicalCluster }, "cluster", {
    metadata: { finalizers: (present.metadata.finalizers ?? []).filter((item) => item !== logicalClusterFinalizer) },
  });
  if (parent !== "") loop.add({ kind: "workspace", logicalCluster: parent, name });
}

const count = (counts: Record<string, number>, { group, plural }: ResourceDefinition): void => {
  const shown = `${plural}.${group}`;
  counts[shown] = (counts[shown] ?? 0) + 1;
};

/** Removes empty namespaces directly from the store, because some namespaces are protected from deletion. */
function deleteEmptyNamespaces(world: ControllerWorld, logicalCluster: string): void {
  const { client, store } = world;
  const { storage } = client.definition(systemTypes.namespaces, logicalCluster);
  const namespaced = contentTypes(world, logicalCluster).filter((definition) => definition.namespaced);
  for (const { metadata } of store.list(storage, { logicalCluster })) {
    const name = metadata.name ?? "";
    const isEmpty = namespaced.every(
      (definition) => store.list(definition.storage, { logicalCluster, namespace: name }).length === 0,
    );
    if (isEmpty) store.delete({ storage, logicalCluster, namespace: "", name });
  }
}

const separateStorages: ReadonlySet<string> = new Set([storages.logicalClusters, storages.bindings, "namespaces"]);

/**
 * All types in a logical cluster except namespaces, one per storage. Bindings come last, because bound types disappear
 * with them.
 */
function contentTypes({ catalogs }: ControllerWorld, logicalCluster: string): readonly ResourceDefinition[] {
  const byStorage = new Map<string, ResourceDefinition>();
  for (const definition of catalogs.of(logicalCluster).definitions()) {
    if (definition.review === undefined && !separateStorages.has(definition.storage))
      byStorage.set(definition.storage, definition);
  }
  const bindings = catalogs
    .of(logicalCluster)
    .definitions()
    .find((item) => item.storage === storages.bindings && item.version === "v1alpha2");
  return [...byStorage.values(), ...(bindings === undefined ? [] : [bindings])];
}
