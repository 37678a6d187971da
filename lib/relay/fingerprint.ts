import type { KubeObject } from "@tmc/kube/kube-object.ts";

/** Annotations that a reconciler reads; any other says nothing to us. */
const ownAnnotations = "tmc.kcp.io/";

/** The annotation by which a person asks for an object to be looked at now; each new value is a new wish. */
export const reconcileRequestedAnnotation = "tmc.kcp.io/reconcile-requested";

/**
 * A short text that is the same as long as nothing that a reconciler acts on has changed: a heartbeat, a condition or any
 * other write of status leaves it as it is.
 *
 * The uid is in it because an object that was deleted and made again between two looks is another one.
 */
export function fingerprintOf({ metadata }: KubeObject): string {
  const { uid = "", generation = 0, deletionTimestamp, labels = {}, annotations = {}, finalizers = [] } = metadata;
  const hints = Object.entries(annotations).filter(([name]) => name.startsWith(ownAnnotations));
  const rest = [sorted(Object.entries(labels)), sorted(hints), finalizers].map((part) =>
    part.length === 0 ? "" : JSON.stringify(part),
  );
  return [uid, generation, deletionTimestamp === undefined ? "" : "deleting", ...rest].join("|");
}

const sorted = (entries: readonly [string, string][]): readonly [string, string][] =>
  entries.toSorted(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
