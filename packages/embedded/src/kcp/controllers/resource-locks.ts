import { byKey } from "@tmc/kube/compare.ts";
import { isFields, textAt } from "@tmc/kube/json.ts";
import { resourceBindingsAnnotation } from "../names.ts";
import { systemTypes } from "../system-client.ts";
import type { ControllerWorld } from "./world.ts";

type Locks = Record<string, Readonly<{ n?: string; c?: boolean }>>;

/** Reads from the logical cluster's annotation which binding owns which resource. */
function locksOf({ directory }: ControllerWorld, logicalCluster: string): Locks {
  const text = directory.logicalCluster(logicalCluster)?.metadata.annotations?.[resourceBindingsAnnotation];
  if (text === undefined) return {};
  const parsed: unknown = JSON.parse(text);
  if (!isFields(parsed)) return {};
  return Object.fromEntries(Object.entries(parsed).map(([key, value]) => [key, { n: textAt(value, "n") }]));
}

function writeLocks({ client }: ControllerWorld, logicalCluster: string, locks: Locks): void {
  const sorted = Object.fromEntries(Object.entries(locks).toSorted(byKey));
  client.merge(systemTypes.logicalClusters, { logicalCluster }, "cluster", {
    metadata: { annotations: { [resourceBindingsAnnotation]: JSON.stringify(sorted) } },
  });
}

/**
 * Acquires resources for a binding, so that each has one owner. Returns the resources that have another owner, with the
 * owner as kcp prints it: a name and whether it is a custom resource definition.
 */
export function lockResources(
  world: ControllerWorld,
  logicalCluster: string,
  binding: string,
  resources: readonly string[],
): ReadonlyMap<string, string> {
  const locks = locksOf(world, logicalCluster);
  const skipped = new Map<string, string>();
  let changed = false;
  for (const resource of resources) {
    const owner = locks[resource];
    const crd = world.store.get({
      storage: "customresourcedefinitions.apiextensions.k8s.io",
      logicalCluster,
      namespace: "",
      name: resource,
    });
    if (owner !== undefined && owner.n !== binding) skipped.set(resource, `{${owner.n ?? ""} false}`);
    else if (owner === undefined && crd !== undefined) skipped.set(resource, "{ true}");
    else if (owner === undefined) {
      locks[resource] = { n: binding };
      changed = true;
    }
  }
  if (changed) writeLocks(world, logicalCluster, locks);
  return skipped;
}

/** Releases the resources of a deleted binding. */
export function unlockResources(world: ControllerWorld, logicalCluster: string, binding: string): void {
  const locks = locksOf(world, logicalCluster);
  const kept = Object.entries(locks).filter(([, owner]) => owner.n !== binding);
  if (kept.length === Object.keys(locks).length) return;
  writeLocks(world, logicalCluster, Object.fromEntries(kept));
  // Other bindings may have waited for the released resources.
  for (const other of world.directory.bindings(logicalCluster)) {
    world.loop.add({ kind: "binding", logicalCluster, name: other.metadata.name ?? "" });
  }
}
