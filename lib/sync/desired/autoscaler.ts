import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { valueAt } from "../../model/json.ts";
import { fieldManager } from "../downstream.ts";
import type { Manifest } from "../sync-objects.ts";
import { type DesiredManifest, withReplicas } from "./desired.ts";

/** The type of what owns the number of replicas of others. */
export const autoscalerType: ResourceType = { group: "autoscaling", version: "v2", plural: "horizontalpodautoscalers" };

/** Whether an autoscaler owns the number of replicas of a workload. */
export function scales(
  { metadata, spec }: KubeObject,
  { kind, namespace, name }: Readonly<Record<"kind" | "namespace" | "name", string>>,
): boolean {
  const target = valueAt(spec, "scaleTargetRef");
  return metadata.namespace === namespace && valueAt(target, "kind") === kind && valueAt(target, "name") === name;
}

/** What is written over what a cluster has. An autoscaler's number is not ours: the first one is given, and afterwards whatever is there. */
export function withAutoscaledReplicas(
  { manifest, firstReplicas }: Pick<DesiredManifest, "manifest" | "firstReplicas">,
  live: KubeObject | undefined,
): Manifest {
  if (firstReplicas === undefined) return manifest;
  if (live === undefined) return withReplicas(manifest, firstReplicas);
  const { isOwned, replicas } = foreignReplicas(live);
  return isOwned ? manifest : withReplicas(manifest, replicas);
}

/** Says how many replicas a copy has, and whether somebody else has written that number. */
export function foreignReplicas({
  metadata,
  spec,
}: KubeObject): Readonly<{ isOwned: boolean; replicas: number | undefined }> {
  const replicas = valueAt(spec, "replicas");
  const isOwned = (metadata.managedFields ?? []).some(
    ({ manager, fieldsV1 }) => manager !== fieldManager && valueAt(fieldsV1, "f:spec", "f:replicas") !== undefined,
  );
  return { isOwned, replicas: typeof replicas === "number" ? replicas : undefined };
}
