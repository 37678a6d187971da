import { createHash } from "node:crypto";
import { byKey } from "@tmc/kube/compare.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { isAsWritten, syncFinalizer } from "../sync/ownership/record.ts";

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
  const rest = [sorted(labels), hints.toSorted(byKey), finalizers].map((part) =>
    part.length === 0 ? "" : JSON.stringify(part),
  );
  return [uid, generation, deletionTimestamp === undefined ? "" : "deleting", ...rest].join("|");
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * A short text that is the same as long as nothing that sync acts on has changed: a write of status leaves it as it is,
 * and so does TMC's own finalizer, which `isGuarded` looks at.
 */
export function workloadFingerprint({ metadata }: KubeObject): string {
  const { uid = "", generation, resourceVersion = "", deletionTimestamp, annotations = {} } = metadata;
  const { [lastApplied]: _, ...said } = annotations;
  return shortHash([
    uid,
    // A type without generations does not tell what was written.
    generation ?? `v${resourceVersion}`,
    deletionTimestamp !== undefined,
    sorted(metadata.labels),
    sorted(said),
    (metadata.finalizers ?? []).filter((each) => each !== syncFinalizer),
  ]);
}

/**
 * Whether TMC holds an object back from being deleted. That it begins to is its own doing, and wakes nobody; that somebody
 * takes it off has to be seen.
 */
export function isGuarded({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.includes(syncFinalizer) === true;
}

/** The same as long as nobody but TMC has changed what a record says, or wants it to go. */
export function recordFingerprint(record: WorkloadSync): string {
  const { uid = "", deletionTimestamp, generation = 0, finalizers = [] } = record.metadata;
  const foreign = isAsWritten(record) ? "" : `${generation} ${finalizers.join(" ")}`;
  return [uid, deletionTimestamp === undefined ? "" : "deleting", foreign].join("|");
}

/** The same as long as a namespace has the same labels. */
export function namespaceFingerprint({ metadata }: KubeObject): string {
  return shortHash([metadata.uid ?? "", sorted(metadata.labels)]);
}

function sorted(texts: Readonly<Record<string, string>> = {}): readonly [string, string][] {
  return Object.entries(texts).toSorted(byKey);
}

/** Of every object one is kept. */
function shortHash(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 22);
}
