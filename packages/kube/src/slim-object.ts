import type { KubeObject, ObjectMeta } from "./kube-object.ts";

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** As many different pieces as are kept to be shared. More would only hold on to pieces that no object has any more. */
const mostShared = 8_192;

/**
 * Creates a function that takes from an object what nobody reads (managed fields, the last applied configuration), and
 * lets objects share the pieces that they have in common.
 *
 * Thousands of placements come from a handful of templates, and each explains every cluster in nearly the same words:
 * apart, ten thousand of them would not fit where they have to. What is shared is frozen.
 */
export function createSlimmer(): (object: KubeObject) => KubeObject {
  const pieces = new Map<string, unknown>();
  /** Objects come by here twice: when a page of a list is read, and when they are kept. */
  const done = new WeakSet<KubeObject>();

  const share = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    const text = JSON.stringify(value);
    const present = pieces.get(text);
    if (present !== undefined) return present;
    if (pieces.size >= mostShared) pieces.clear();
    pieces.set(text, deepFreeze(value));
    return value;
  };

  const slimStatus = (status: unknown): unknown => {
    if (typeof status !== "object" || status === null) return status;
    return Object.fromEntries(
      Object.entries(status).map(([field, value]: [string, unknown]) => [
        field,
        Array.isArray(value) ? value.map(share) : share(value),
      ]),
    );
  };

  return (object) => {
    if (done.has(object)) return object;
    const slimmed: KubeObject = { ...object, metadata: slimMetadata(object.metadata) };
    if (object.spec !== undefined) slimmed.spec = share(object.spec);
    if (object.status !== undefined) slimmed.status = slimStatus(object.status);
    done.add(slimmed);
    return slimmed;
  };
}

/** Metadata without managed fields and without what kubectl last applied. */
export function slimMetadata({ managedFields: _, ...metadata }: ObjectMeta): ObjectMeta {
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
