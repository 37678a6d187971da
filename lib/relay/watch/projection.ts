import { trimMetadata } from "@tmc/kube/informer/trim-object.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { logicalClusterAnnotation } from "../../upstream/logical-cluster.ts";

/**
 * Keeps only the fields of an object that the relay reads: the input of its fingerprint, the secret that it refers to, the
 * workload selector, the upsync opt-in, and its conditions. A list of ten thousand objects then needs a few megabytes while
 * it is processed, and none afterwards.
 */
export function projectObject({ apiVersion, kind, metadata, spec, status }: KubeObject): KubeObject {
  const { name, uid, resourceVersion, generation, deletionTimestamp, labels, annotations, finalizers } = metadata;
  const own = Object.entries(annotations ?? {}).filter(([annotation]) => annotation.startsWith("tmc.kcp.io/"));
  return {
    apiVersion,
    kind,
    metadata: {
      ...definedOf({ name, uid, resourceVersion, generation, deletionTimestamp, labels, finalizers }),
      ...(own.length > 0 && { annotations: Object.fromEntries(own) }),
    },
    ...pick("spec", spec, "credentials", "workloadSelector", "upsync"),
    // The list of served APIs is long, and only needed for a cluster that opts in to upsync.
    ...pick("status", status, "conditions", ...(hasUpsync(spec) ? ["apis"] : [])),
  };
}

function hasUpsync(spec: unknown): boolean {
  return typeof spec === "object" && spec !== null && "upsync" in spec;
}

/** Like `projectObject`, and keeps the annotation that names the logical cluster. */
export function projectTenantObject(object: KubeObject): KubeObject {
  const logicalCluster = object.metadata.annotations?.[logicalClusterAnnotation];
  const projected = projectObject(object);
  if (logicalCluster === undefined) return projected;
  const annotations = { ...projected.metadata.annotations, [logicalClusterAnnotation]: logicalCluster };
  return { ...projected, metadata: { ...projected.metadata, annotations } };
}

/** Removes the status and unused metadata from a workload, a sync record or a dependency. */
export function projectWorkload({ status: _, ...object }: KubeObject): KubeObject {
  return { ...object, metadata: trimMetadata(object.metadata) };
}

function definedOf<T extends object>(fields: T): { [Field in keyof T]?: Exclude<T[Field], undefined> } {
  // The cast holds: undefined values are filtered out.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Field in keyof T]?: Exclude<T[Field], undefined>;
  };
}

function pick(
  part: "spec" | "status",
  whole: unknown,
  ...fields: readonly string[]
): { spec?: unknown; status?: unknown } {
  if (typeof whole !== "object" || whole === null) return {};
  const kept = Object.entries(whole).filter(([field, value]) => fields.includes(field) && value !== undefined);
  return kept.length === 0 ? {} : { [part]: Object.fromEntries(kept) };
}
