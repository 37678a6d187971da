import { createHash } from "node:crypto";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { syncFinalizer } from "../sync/ownership/record.ts";
import { isAsWritten } from "../sync/ownership/record-hash.ts";

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
  return Object.entries(texts).toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** Of every object one is kept. */
function shortHash(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 22);
}
