import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { fieldManager } from "../downstream.ts";

/** Says how many replicas a copy has, and whether somebody else has written that number. */
export function foreignReplicas({
  metadata,
  spec,
}: KubeObject): Readonly<{ isOwned: boolean; replicas: number | undefined }> {
  const replicas = fieldOf(spec, "replicas");
  const isOwned = (metadata.managedFields ?? []).some(
    ({ manager, fieldsV1 }) =>
      manager !== fieldManager && fieldOf(fieldOf(fieldsV1, "f:spec"), "f:replicas") !== undefined,
  );
  return { isOwned, replicas: typeof replicas === "number" ? replicas : undefined };
}

function fieldOf(value: unknown, field: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, field)?.value;
}
