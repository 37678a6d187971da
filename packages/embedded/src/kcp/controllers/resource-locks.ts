import { byKey } from "@tmc/kube/compare.ts";
import { textAt } from "../../fields.ts";
import { isObject } from "../../machinery/json-value.ts";
import { resourceBindingsAnnotation } from "../names.ts";
import { systemTypes } from "../system-client.ts";
import type { ControllerWorld } from "./world.ts";

type Locks = Record<string, Readonly<{ n?: string; c?: boolean }>>;

/** Which binding has which type, as the logical cluster's annotation says. */
function locksOf({ directory }: ControllerWorld, cluster: string): Locks {
  const text = directory.logicalCluster(cluster)?.metadata.annotations?.[resourceBindingsAnnotation];
  if (text === undefined) return {};
  const parsed: unknown = JSON.parse(text);
  if (!isObject(parsed)) return {};
  return Object.fromEntries(Object.entries(parsed).map(([key, value]) => [key, { n: textAt(value, "n") }]));
}

function writeLocks({ client }: ControllerWorld, cluster: string, locks: Locks): void {
  const sorted = Object.fromEntries(Object.entries(locks).toSorted(byKey));
  client.merge(systemTypes.logicalClusters, { cluster }, "cluster", {
    metadata: { annotations: { [resourceBindingsAnnotation]: JSON.stringify(sorted) } },
  });
}

/**
 * Takes types for a binding, so that each has one owner. Answers those that another has, with the owner as kcp prints it:
 * a name and whether it is a custom resource definition.
 */
export function lockResources(
  world: ControllerWorld,
  cluster: string,
  binding: string,
  resources: readonly string[],
): ReadonlyMap<string, string> {
  const locks = locksOf(world, cluster);
  const skipped = new Map<string, string>();
  let changed = false;
  for (const resource of resources) {
    const owner = locks[resource];
    const crd = world.store.get({
      storage: "customresourcedefinitions.apiextensions.k8s.io",
      cluster,
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
  if (changed) writeLocks(world, cluster, locks);
  return skipped;
}

/** Gives back what a binding had, once it is gone. */
export function unlockResources(world: ControllerWorld, cluster: string, binding: string): void {
  const locks = locksOf(world, cluster);
  const kept = Object.entries(locks).filter(([, owner]) => owner.n !== binding);
  if (kept.length === Object.keys(locks).length) return;
  writeLocks(world, cluster, Object.fromEntries(kept));
  // Whoever waited for them can have them now.
  for (const other of world.directory.bindings(cluster)) {
    world.loop.add({ kind: "binding", cluster, name: other.metadata.name ?? "" });
  }
}
