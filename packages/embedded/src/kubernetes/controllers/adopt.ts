import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type LabelSelectorObject, matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import type { Kinds, StoredMeta } from "../kinds.ts";
import { controllerReference } from "../kinds.ts";
import { keyOf, type World } from "../world.ts";

type Adoptable = "pods" | "replicasets" | "controllerrevisions";
type Owner = KubeObject & { metadata: StoredMeta; spec: { selector?: LabelSelectorObject } };

/**
 * Returns the objects that a controller owns. Adopts unowned objects that match its selector, and releases owned
 * objects that no longer match.
 */
export function ownedOrAdopted<R extends Adoptable>(world: World, resource: R, owner: Owner): Kinds[R][] {
  const { selector } = owner.spec;
  const owned = world.owned(resource, owner.metadata.uid);
  if (selector === undefined) return [...owned];
  const parsed = selectorFromObject(selector);
  const selected: Kinds[R][] = [];
  for (const object of owned) {
    if (matchesLabels(parsed, object.metadata.labels)) selected.push(object);
    else if (owner.metadata.deletionTimestamp === undefined) release(world, resource, object, owner.metadata.uid);
  }
  if (owner.metadata.deletionTimestamp !== undefined) return selected;
  for (const orphan of world.orphans(resource, owner.metadata.namespace ?? "")) {
    if (orphan.metadata.deletionTimestamp !== undefined || !matchesLabels(parsed, orphan.metadata.labels)) continue;
    const ownerReferences = [...(orphan.metadata.ownerReferences ?? []), controllerReference(owner)];
    selected.push(world.update(resource, { ...orphan, metadata: { ...orphan.metadata, ownerReferences } }));
  }
  return selected;
}

function release<R extends Adoptable>(world: World, resource: R, object: Kinds[R], uid: string): void {
  const ownerReferences = (object.metadata.ownerReferences ?? []).filter((reference) => reference.uid !== uid);
  world.update(resource, { ...object, metadata: { ...object.metadata, ownerReferences } });
}

/** Keys of the owners whose selector matches an unowned object. */
export function possibleOwners<R extends "deployments" | "replicasets" | "statefulsets" | "daemonsets">(
  world: World,
  resource: R,
  object: KubeObject,
): string[] {
  if (object.metadata.ownerReferences?.some((reference) => reference.controller === true)) return [];
  return world
    .list(resource, object.metadata.namespace)
    .filter((owner) => matchesLabels(selectorFromObject(owner.spec.selector), object.metadata.labels))
    .map(keyOf);
}
