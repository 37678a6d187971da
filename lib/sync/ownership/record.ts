import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { byKey } from "@tmc/kube/compare.ts";
import { apiVersionOf } from "../../api/kind.ts";
import { type WorkloadSync, workloadSync } from "../../api/workload-sync.ts";
import type { WorkloadAddress } from "../../model/key.ts";
import type { Workload } from "../sync-objects.ts";

/** Keeps a workload, and TMC's record of it, until no cluster has a copy that should not be there. */
export const syncFinalizer = "tmc.kcp.io/sync";

/** As much of a workload's name as its record's has room for, beside what makes it the only one. */
const readableLength = 200;

/** The name of the record of a workload; no two workloads of a namespace have the same. */
export function recordName({ type, name }: Pick<WorkloadAddress, "type" | "name">): string {
  const id = createHash("sha256")
    .update(JSON.stringify([type.group, type.plural, name]))
    .digest("hex")
    .slice(0, 12);
  return `${type.plural}-${name.slice(0, readableLength)}-${id}`;
}

/** A record that says nothing yet but which workload it is about. */
export function newRecord(name: string, workload: Workload): WorkloadSync {
  const { apiVersion, kind, metadata } = workload;
  const { name: workloadName = "", uid = "", namespace = "" } = metadata;
  return {
    apiVersion: apiVersionOf(workloadSync),
    kind: "WorkloadSync",
    metadata: {
      name,
      namespace,
      finalizers: [syncFinalizer],
      // The hub's garbage collector takes it away with the workload, and so does not wait for us.
      ownerReferences: [{ apiVersion, kind, name: workloadName, uid }],
    },
    spec: { workload: { apiVersion, kind, name: workloadName, uid } },
  };
}

/** Whether two records ask for the same. */
export function isSameSpec(one: WorkloadSync["spec"], other: WorkloadSync["spec"]): boolean {
  return isDeepStrictEqual(withoutEmpty(one), withoutEmpty(other));
}

/** A server keeps an empty list as it was given; it says the same as none. */
function withoutEmpty(spec: WorkloadSync["spec"]): object {
  return Object.fromEntries(
    Object.entries(spec).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  );
}

/**
 * By this annotation a record says what TMC last wrote into it. Where that still is so nobody has changed it since: TMC's own
 * writes need wake nobody, whichever process made them.
 */
export const recordMarkAnnotation = "tmc.kcp.io/last-written-hash";

type Marked = Readonly<{ spec: WorkloadSync["spec"]; metadata: Pick<WorkloadSync["metadata"], "finalizers"> }>;

/** What TMC has to write beside the spec and the finalizers of a record. */
export function recordMark({ spec, metadata }: Marked): string {
  const { finalizers = [] } = metadata;
  return createHash("sha256").update(canonical({ spec, finalizers })).digest("base64url").slice(0, 22);
}

/** Whether a record says what TMC last wrote into it. */
export function isAsWritten(record: Pick<WorkloadSync, "spec" | "metadata">): boolean {
  return record.metadata.annotations?.[recordMarkAnnotation] === recordMark(record);
}

/** JSON in which neither the order of fields nor one without a value counts: a server keeps neither. */
function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_field, part: unknown) => {
      if (part === null) return undefined;
      if (typeof part !== "object" || Array.isArray(part)) return part;
      return Object.fromEntries(Object.entries(part).toSorted(byKey));
    }) ?? ""
  );
}
