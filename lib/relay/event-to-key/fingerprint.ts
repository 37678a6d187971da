import { createHash } from "node:crypto";
import { byKey } from "@tmc/kube/compare.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { userAnnotations } from "../../api/annotations.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { matchesLastWrittenHash, syncFinalizer } from "../../sync/ownership/record.ts";

/** Reconcilers read only annotations with this prefix. */
const ownAnnotationPrefix = "tmc.kcp.io/";

/** The annotation with which a user requests a reconcile now; each new value is a new request. */
export const reconcileRequestedAnnotation = userAnnotations.reconcileRequested.name;

/**
 * Returns a short text that changes only when something changes that a reconciler acts on. A heartbeat, a condition or any
 * other status write does not change it.
 *
 * The uid is included because an object may be deleted and created again between two lists.
 */
export function fingerprintOf({ metadata }: KubeObject): string {
  const { uid = "", generation = 0, deletionTimestamp, labels = {}, annotations = {}, finalizers = [] } = metadata;
  const ownAnnotations = Object.entries(annotations).filter(([name]) => name.startsWith(ownAnnotationPrefix));
  const rest = [sorted(labels), ownAnnotations.toSorted(byKey), finalizers].map((part) =>
    part.length === 0 ? "" : JSON.stringify(part),
  );
  return [uid, generation, deletionTimestamp === undefined ? "" : "deleting", ...rest].join("|");
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * Returns a short text that changes only when something changes that sync acts on. Neither a status write nor TMC's own
 * finalizer changes it; `isProtected` covers the finalizer.
 */
export function workloadFingerprint({ metadata }: KubeObject): string {
  const { uid = "", generation, resourceVersion = "", deletionTimestamp, annotations = {} } = metadata;
  const { [lastApplied]: _, ...kept } = annotations;
  return shortHash([
    uid,
    // Without a generation, a status write cannot be distinguished from any other write.
    generation ?? `v${resourceVersion}`,
    deletionTimestamp !== undefined,
    sorted(metadata.labels),
    sorted(kept),
    (metadata.finalizers ?? []).filter((each) => each !== syncFinalizer),
  ]);
}

/**
 * Whether an object has TMC's finalizer. It is not part of the fingerprint: when TMC adds the finalizer, no key is sent; when
 * another writer removes it, a key must be sent.
 */
export function isProtected({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.includes(syncFinalizer) === true;
}

/** Returns a text that changes when a sync record is deleted, or changed by another writer than TMC. */
export function recordFingerprint(record: WorkloadSync): string {
  const { uid = "", deletionTimestamp, generation = 0, finalizers = [] } = record.metadata;
  const foreignChange = matchesLastWrittenHash(record) ? "" : `${generation} ${finalizers.join(" ")}`;
  return [uid, deletionTimestamp === undefined ? "" : "deleting", foreignChange].join("|");
}

/** Returns a text that changes with the labels of a namespace. */
export function namespaceFingerprint({ metadata }: KubeObject): string {
  return shortHash([metadata.uid ?? "", sorted(metadata.labels)]);
}

function sorted(texts: Readonly<Record<string, string>> = {}): readonly [string, string][] {
  return Object.entries(texts).toSorted(byKey);
}

/** Shortened to 22 characters (132 bits): the relay keeps one per object. */
function shortHash(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 22);
}
