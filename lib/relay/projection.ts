import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { slimMetadata } from "@tmc/kube/slim-object.ts";
import { clusterAnnotation } from "../upstream/logical-cluster.ts";

/**
 * Takes from an object all that the relay does not look at: what its fingerprint is made of, the secret that it refers to, the
 * work that it is about, what may be born there and how ready it is are left. A list of ten thousand then takes a few megabytes for a moment, and nothing of it is kept.
 */
export function traceOfObject({ apiVersion, kind, metadata, spec, status }: KubeObject): KubeObject {
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
    // What a cluster serves is long, and only looked at where something may be born there.
    ...pick("status", status, "conditions", ...(hasUpsync(spec) ? ["apis"] : [])),
  };
}

function hasUpsync(spec: unknown): boolean {
  return typeof spec === "object" && spec !== null && "upsync" in spec;
}

/** The same, with whose it is. */
export function traceOfTenantObject(object: KubeObject): KubeObject {
  const logicalCluster = object.metadata.annotations?.[clusterAnnotation];
  const trace = traceOfObject(object);
  if (logicalCluster === undefined) return trace;
  const annotations = { ...trace.metadata.annotations, [clusterAnnotation]: logicalCluster };
  return { ...trace, metadata: { ...trace.metadata, annotations } };
}

/** Takes from a workload, a record or what comes along with them all that says nothing to the relay: it keeps none of the rest. */
export function traceOfWorkload({ status: _, ...object }: KubeObject): KubeObject {
  return { ...object, metadata: slimMetadata(object.metadata) };
}

function definedOf<T extends object>(fields: T): { [Field in keyof T]?: Exclude<T[Field], undefined> } {
  // Whatever is undefined has been left out.
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
