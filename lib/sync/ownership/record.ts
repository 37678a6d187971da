import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { byKey } from "@tmc/kube/compare.ts";
import { formatApiVersion } from "../../api/kind.ts";
import { type WorkloadSync, workloadSync } from "../../api/workload-sync.ts";
import type { WorkloadAddress } from "../../model/key.ts";
import type { Workload } from "../sync-objects.ts";

/** The finalizer of a workload and of its sync record; TMC removes it once no cluster has a copy that should not exist. */
export const syncFinalizer = "tmc.kcp.io/sync";

/** How much of the workload's name is in the record's name: with the type and the hash it stays below 253 characters. */
const readableLength = 200;

/** The name of a workload's sync record, unique within the namespace. */
export function recordName({ type, name }: Pick<WorkloadAddress, "type" | "name">): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([type.group, type.plural, name]))
    .digest("hex")
    .slice(0, 12);
  return `${type.plural}-${name.slice(0, readableLength)}-${hash}`;
}

/** The annotation of a sync record with the id of the hub that its copies name. */
export const hubIdAnnotation = "tmc.kcp.io/hub-id";

/** A sync record that only names its workload, and the hub. */
export function newRecord(name: string, workload: Workload, hubId: string): WorkloadSync {
  const { apiVersion, kind, metadata } = workload;
  const { name: workloadName = "", uid = "", namespace = "" } = metadata;
  return {
    apiVersion: formatApiVersion(workloadSync),
    kind: "WorkloadSync",
    metadata: {
      name,
      namespace,
      annotations: { [hubIdAnnotation]: hubId },
      finalizers: [syncFinalizer],
      // The upstream garbage collector deletes the record with its workload, so the deletion needs no controller of ours.
      ownerReferences: [{ apiVersion, kind, name: workloadName, uid }],
    },
    spec: { workload: { apiVersion, kind, name: workloadName, uid } },
  };
}

/** Whether a record was made for this very workload, and not for an earlier one of the same name. */
export function isSameWorkload({ spec }: Pick<WorkloadSync, "spec">, { metadata }: Workload): boolean {
  return spec.workload.uid === undefined || spec.workload.uid === metadata.uid;
}

/** Whether two specs are equal; an empty list equals a missing one, because servers store it as it was written. */
export function isSameSpec(one: WorkloadSync["spec"], other: WorkloadSync["spec"]): boolean {
  return isDeepStrictEqual(withoutEmptyFields(one), withoutEmptyFields(other));
}

function withoutEmptyFields(spec: WorkloadSync["spec"]): object {
  return Object.fromEntries(
    Object.entries(spec).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  );
}

/**
 * The annotation of a record, or of a copy, with the hash of what TMC wrote last. While it matches, no other client has changed
 * the record, and the watch event enqueues nothing: TMC's own writes are recognized whichever process made them. On a copy it is
 * the hash of its manifest, by which a copy that its cluster has from a backup is recognized.
 */
export const lastWrittenHashAnnotation = "tmc.kcp.io/last-written-hash";

type HashedRecord = Readonly<{ spec: WorkloadSync["spec"]; metadata: Pick<WorkloadSync["metadata"], "finalizers"> }>;

/** The hash of the spec and the finalizers of a record. */
export function recordHash({ spec, metadata }: HashedRecord): string {
  const { finalizers = [] } = metadata;
  return createHash("sha256").update(canonicalText({ spec, finalizers })).digest("base64url").slice(0, 22);
}

/** Whether a record is unchanged since TMC wrote it last. */
export function matchesLastWrittenHash(record: Pick<WorkloadSync, "spec" | "metadata">): boolean {
  return record.metadata.annotations?.[lastWrittenHashAnnotation] === recordHash(record);
}

/** JSON with sorted fields and without null: a server preserves neither the order nor a field without a value. */
function canonicalText(value: unknown): string {
  return (
    JSON.stringify(value, (_field, part: unknown) => {
      if (part === null) return undefined;
      if (typeof part !== "object" || Array.isArray(part)) return part;
      return Object.fromEntries(Object.entries(part).toSorted(byKey));
    }) ?? ""
  );
}
