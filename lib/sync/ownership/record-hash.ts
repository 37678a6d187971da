import { createHash } from "node:crypto";
import type { WorkloadSync } from "../../api/workload-sync.ts";

/**
 * By this annotation a record says what TMC last wrote into it. Where that still is so nobody has changed it since: TMC's own
 * writes need wake nobody, whichever process made them.
 */
export const recordMarkAnnotation = "tmc.kcp.io/written";

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
      return Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)));
    }) ?? ""
  );
}
