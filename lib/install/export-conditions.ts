import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { exportName } from "../api/group.ts";
import { type ApiExport, formatUnmetConditions } from "../upstream/kcp-types.ts";
import { exportObjects } from "./bootstrap-objects.ts";
import { differencesOf } from "./bootstrap-plan.ts";
import type { ManagedObject } from "./managed-object.ts";

/** Name of the check in logs and in the health of a process. It is not written to the APIExport, which belongs to kcp. */
export const exportConfigured = "TMCAPIExportConfigured";

/** The observed state of the export. */
export type ExportFacts = Readonly<{
  export: ApiExport | undefined;
  /** The required schemas that exist, by name. */
  schemas: ReadonlyMap<string, KubeObject>;
}>;

export type Finding = Readonly<{ reason: FindingReason; message: string }>;
type FindingReason = "APIExportMissing" | "SchemaMissing" | "SchemaWrong" | "APIExportWrong" | "IdentityMissing";

export type ExportVerdict = Readonly<{
  type: typeof exportConfigured;
  status: "True" | "False";
  reason: FindingReason | "APIExportConfigured";
  /** All findings in one line. */
  message: string;
  findings: readonly Finding[];
}>;

/** Evaluates whether an export has everything that this version needs. Additions by others are ignored. */
export function evaluateExport(facts: ExportFacts): ExportVerdict {
  const findings = findingsOf(facts);
  const [first] = findings;
  if (first === undefined) {
    const message = `${exportName} has everything that this version needs`;
    return { type: exportConfigured, status: "True", reason: "APIExportConfigured", message, findings };
  }
  const message = findings.map((finding) => finding.message).join("; ");
  return { type: exportConfigured, status: "False", reason: first.reason, message, findings };
}

function findingsOf({ export: present, schemas }: ExportFacts): readonly Finding[] {
  const needed = exportObjects();
  const desiredExport = needed.find(({ kind }) => kind === "APIExport");
  if (present === undefined || desiredExport === undefined) {
    return [{ reason: "APIExportMissing", message: `APIExport ${exportName} does not exist` }];
  }
  const offered = new Map(
    (present.spec?.resources ?? []).map((item) => [`${item.name}.${item.group || "core"}`, item]),
  );
  const findings: Finding[] = [];
  for (const schema of needed.filter(({ kind }) => kind === "APIResourceSchema")) {
    const { name } = schema.metadata;
    const type = name.slice(name.indexOf(".") + 1);
    const named = offered.get(type)?.schema;
    if (named === undefined) {
      findings.push({
        reason: "SchemaMissing",
        message: `${type}: missing in the export, schema ${name} is required`,
      });
    } else if (named !== name) {
      findings.push({
        reason: "SchemaWrong",
        message: `${type}: the export has schema ${named}, but ${name} is required`,
      });
    }
    const found = schemas.get(name);
    if (found === undefined) {
      findings.push({ reason: "SchemaMissing", message: `APIResourceSchema ${name} does not exist` });
    } else {
      const [difference] = differencesOf(found, withoutLabels(schema));
      if (difference !== undefined) {
        findings.push({ reason: "SchemaWrong", message: `APIResourceSchema ${name}: ${difference}` });
      }
    }
  }
  // The types are checked above; claims and policy remain.
  const rest = differencesOf(present, withoutLabels(desiredExport)).filter(
    (path) => !path.startsWith("spec.resources"),
  );
  findings.push(
    ...rest.map(
      (difference): Finding => ({ reason: "APIExportWrong", message: `APIExport ${exportName}: ${difference}` }),
    ),
  );
  if (present.status?.identityHash === undefined) {
    const why = formatUnmetConditions(present.status?.conditions) || "kcp has not assigned one";
    findings.push({ reason: "IdentityMissing", message: `APIExport ${exportName}: no identity: ${why}` });
  }
  return findings;
}

/** Labels matter only for uninstalling; an export without them works. */
const withoutLabels = ({ metadata, ...object }: ManagedObject): ManagedObject => ({
  ...object,
  apiVersion: object.apiVersion,
  kind: object.kind,
  metadata: { name: metadata.name },
});
