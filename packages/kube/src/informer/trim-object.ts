import type { KubeObject, ObjectMeta } from "../kube-object.ts";

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** The number of different parts that are kept for sharing. More would mostly keep parts that no object has any more. */
const maxShared = 8_192;

/**
 * Creates a function that removes from an object what no reader needs (managed fields, the last applied configuration), and
 * makes objects share equal parts.
 *
 * Thousands of placements come from a few templates, and each has nearly the same messages about every cluster: without
 * sharing, ten thousand of them would not fit into the memory of a small pod. Shared parts are frozen.
 */
export function createTrimmer(): (object: KubeObject) => KubeObject {
  const parts = new Map<string, unknown>();
  /** Objects are trimmed twice: when a page of a list arrives, and when they are stored. */
  const trimmed = new WeakSet<KubeObject>();

  const share = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    const text = JSON.stringify(value);
    const present = parts.get(text);
    if (present !== undefined) return present;
    if (parts.size >= maxShared) parts.clear();
    parts.set(text, deepFreeze(value));
    return value;
  };
  const shareStatus = (status: unknown): unknown => {
    if (typeof status !== "object" || status === null) return status;
    return Object.fromEntries(
      Object.entries(status).map(([field, value]: [string, unknown]) => [
        field,
        Array.isArray(value) ? value.map(share) : share(value),
      ]),
    );
  };

  return (object) => {
    if (trimmed.has(object)) return object;
    const result: KubeObject = { ...object, metadata: trimMetadata(object.metadata) };
    if (object.spec !== undefined) result.spec = share(object.spec);
    if (object.status !== undefined) result.status = shareStatus(object.status);
    trimmed.add(result);
    return result;
  };
}

/** Metadata without managed fields and without kubectl's last applied configuration. */
export function trimMetadata({ managedFields: _, ...metadata }: ObjectMeta): ObjectMeta {
  if (metadata.annotations?.[lastApplied] === undefined) return metadata;
  const { [lastApplied]: __, ...annotations } = metadata.annotations;
  return { ...metadata, annotations };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}
