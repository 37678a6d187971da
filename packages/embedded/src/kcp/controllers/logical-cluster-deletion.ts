import type { ResourceDefinition } from "../../definition.ts";
import { objectAt, textAt, valueAt } from "../../fields.ts";
import { conditionsOf } from "../conditions.ts";
import { storages } from "../directory.ts";
import { logicalClusterFinalizer, phaseLabel } from "../names.ts";
import { systemTypes } from "../system-client.ts";
import type { ControllerWorld } from "./world.ts";

/** Empties a logical cluster that is being deleted; it goes once nothing is left in it. */
export function endLogicalCluster(world: ControllerWorld, cluster: string): void {
  const { client, directory, store, clock, loop } = world;
  const own = directory.logicalCluster(cluster);
  if (own === undefined || own.metadata.deletionTimestamp === undefined) return;
  if (own.metadata.labels?.[phaseLabel] !== "Deleting") {
    client.merge(systemTypes.logicalClusters, { cluster }, "cluster", {
      metadata: { labels: { [phaseLabel]: "Deleting" } },
    });
  }

  const remaining: Record<string, number> = {};
  const withFinalizers: Record<string, number> = {};
  for (const definition of contentTypes(world, cluster)) {
    for (const { metadata } of store.list(definition.storage, { cluster })) {
      if (metadata.deletionTimestamp !== undefined) continue;
      client.remove(definition, { cluster, namespace: metadata.namespace }, metadata.name ?? "");
    }
    // What is left in a namespace is counted with it.
    if (definition.namespaced) continue;
    for (const { metadata } of store.list(definition.storage, { cluster })) {
      count(remaining, definition);
      for (const finalizer of metadata.finalizers ?? [])
        withFinalizers[finalizer] = (withFinalizers[finalizer] ?? 0) + 1;
    }
  }
  endNamespaces(world, cluster);
  const namespaces = client.definition(systemTypes.namespaces, cluster);
  for (const _ of store.list(namespaces.storage, { cluster })) count(remaining, namespaces);

  const present = directory.logicalCluster(cluster);
  if (present === undefined) return;

  const counts = Object.entries(remaining);
  if (counts.length > 0) {
    const conditions = conditionsOf(valueAt(present, "status", "conditions"), clock.now());
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
    client.writeStatus(systemTypes.logicalClusters, { cluster }, present, {
      ...objectAt(present, "status"),
      conditions: conditions.list(),
    });
    return;
  }
  const parent = textAt(present, "spec", "owner", "cluster");
  const name = textAt(present, "spec", "owner", "name");
  client.merge(systemTypes.logicalClusters, { cluster }, "cluster", {
    metadata: { finalizers: (present.metadata.finalizers ?? []).filter((item) => item !== logicalClusterFinalizer) },
  });
  if (parent !== "") loop.add({ kind: "workspace", cluster: parent, name });
}

const count = (counts: Record<string, number>, { group, plural }: ResourceDefinition): void => {
  const shown = `${plural}.${group}`;
  counts[shown] = (counts[shown] ?? 0) + 1;
};

/** Takes away the namespaces that are empty. Some of them nobody may delete, so this goes past the rules. */
function endNamespaces(world: ControllerWorld, cluster: string): void {
  const { client, store } = world;
  const { storage } = client.definition(systemTypes.namespaces, cluster);
  const namespaced = contentTypes(world, cluster).filter((definition) => definition.namespaced);
  for (const { metadata } of store.list(storage, { cluster })) {
    const name = metadata.name ?? "";
    const isEmpty = namespaced.every(
      (definition) => store.list(definition.storage, { cluster, namespace: name }).length === 0,
    );
    if (isEmpty) store.delete({ storage, cluster, namespace: "", name });
  }
}

const apart: ReadonlySet<string> = new Set([storages.logicalClusters, storages.bindings, "namespaces"]);

/** All that can be in a logical cluster besides namespaces, each kept once; bindings last, for the others go with them. */
function contentTypes({ catalogs }: ControllerWorld, cluster: string): readonly ResourceDefinition[] {
  const byStorage = new Map<string, ResourceDefinition>();
  for (const definition of catalogs.of(cluster).definitions()) {
    if (definition.review === undefined && !apart.has(definition.storage))
      byStorage.set(definition.storage, definition);
  }
  const bindings = catalogs
    .of(cluster)
    .definitions()
    .find((item) => item.storage === storages.bindings && item.version === "v1alpha2");
  return [...byStorage.values(), ...(bindings === undefined ? [] : [bindings])];
}
