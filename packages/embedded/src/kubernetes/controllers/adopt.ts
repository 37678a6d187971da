import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type LabelSelectorObject, matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import type { Kinds, StoredMeta } from "../kinds.ts";
import { controllerReference } from "../kinds.ts";
import { keyOf, type World } from "../world.ts";

type Adoptable = "pods" | "replicasets" | "controllerrevisions";
type Owner = KubeObject & { metadata: StoredMeta; spec: { selector?: LabelSelectorObject } };

/**
 * What a controller has made, together with what its selector finds and nobody owns: that it takes for its own, as it
 * does with pods that were left behind on purpose. What it owns but no longer selects it lets go.
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

/** The keys of those owners whose selector finds an object that belongs to nobody. */
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
