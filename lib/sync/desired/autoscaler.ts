import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { Manifest } from "../sync-objects.ts";
import { type ManifestWish, withReplicas } from "./desired.ts";
import { foreignReplicas } from "./field-owner.ts";

/** The type of what owns the number of replicas of others. */
export const autoscalerType: ResourceType = { group: "autoscaling", version: "v2", plural: "horizontalpodautoscalers" };

/** Whether an autoscaler owns the number of replicas of a workload. */
export function scales(
  { metadata, spec }: KubeObject,
  { kind, namespace, name }: Readonly<Record<"kind" | "namespace" | "name", string>>,
): boolean {
  const target = fieldOf(spec, "scaleTargetRef");
  return metadata.namespace === namespace && fieldOf(target, "kind") === kind && fieldOf(target, "name") === name;
}

/** What is written over what a cluster has. An autoscaler's number is not ours: the first one is given, and afterwards whatever is there. */
export function manifestOver(
  { manifest, firstReplicas }: Pick<ManifestWish, "manifest" | "firstReplicas">,
  live: KubeObject | undefined,
): Manifest {
  if (firstReplicas === undefined) return manifest;
  if (live === undefined) return withReplicas(manifest, firstReplicas);
  const { isOwned, replicas } = foreignReplicas(live);
  return isOwned ? manifest : withReplicas(manifest, replicas);
}

function fieldOf(value: unknown, field: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, field)?.value;
}
