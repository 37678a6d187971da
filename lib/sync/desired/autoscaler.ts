import { valueAt } from "@tmc/kube/json.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { downstreamFieldManager } from "../downstream.ts";
import type { Manifest } from "../sync-objects.ts";
import { type DesiredManifest, withReplicas } from "./desired.ts";

export const autoscalerType: ResourceType = { group: "autoscaling", version: "v2", plural: "horizontalpodautoscalers" };

/** Whether an autoscaler owns the number of replicas of a workload. */
export function scales(
  { metadata, spec }: KubeObject,
  { kind, namespace, name }: Readonly<Record<"kind" | "namespace" | "name", string>>,
): boolean {
  const target = valueAt(spec, "scaleTargetRef");
  return metadata.namespace === namespace && valueAt(target, "kind") === kind && valueAt(target, "name") === name;
}

/** The manifest to apply over the live object. An autoscaler owns the number of replicas: TMC sets it once and keeps it afterwards. */
export function withAutoscaledReplicas(
  { manifest, initialReplicas }: Pick<DesiredManifest, "manifest" | "initialReplicas">,
  live: KubeObject | undefined,
): Manifest {
  if (initialReplicas === undefined) return manifest;
  if (live === undefined) return withReplicas(manifest, initialReplicas);
  const { hasOtherManager, replicas } = liveReplicas(live);
  return hasOtherManager ? manifest : withReplicas(manifest, replicas);
}

/** The replicas of a live object, and whether another field manager owns the number. */
function liveReplicas({
  metadata,
  spec,
}: KubeObject): Readonly<{ hasOtherManager: boolean; replicas: number | undefined }> {
  const replicas = valueAt(spec, "replicas");
  const hasOtherManager = (metadata.managedFields ?? []).some(
    ({ manager, fieldsV1 }) =>
      manager !== downstreamFieldManager && valueAt(fieldsV1, "f:spec", "f:replicas") !== undefined,
  );
  return { hasOtherManager, replicas: typeof replicas === "number" ? replicas : undefined };
}
