import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { exportName } from "../api/group.ts";
import { type ApiExport, formatComplaints } from "../upstream/kcp-types.ts";
import { exportObjects } from "./bootstrap-objects.ts";
import { differencesOf } from "./bootstrap-plan.ts";
import type { ManagedObject } from "./managed-object.ts";

/** The condition's name, in logs and in the health of a process. kcp's own objects are not written to. */
export const exportConfigured = "TMCAPIExportConfigured";

/** What was read of an export, beside what this version needs. */
export type ExportFacts = Readonly<{
  export: ApiExport | undefined;
  /** Those of the needed schemas that are there, by their names. */
  schemas: ReadonlyMap<string, KubeObject>;
}>;

export type Finding = Readonly<{ reason: FindingReason; message: string }>;
type FindingReason = "APIExportMissing" | "SchemaMissing" | "SchemaWrong" | "APIExportWrong" | "IdentityMissing";

export type ExportVerdict = Readonly<{
  type: typeof exportConfigured;
  status: "True" | "False";
  reason: FindingReason | "APIExportConfigured";
  /** Everything that is wrong, in one line. */
  message: string;
  findings: readonly Finding[];
}>;

/** Judges whether an export is what this version needs; what others have added to it is not its business. */
export function judgeExport(facts: ExportFacts): ExportVerdict {
  const findings = findingsOf(facts);
  const [first] = findings;
  if (first === undefined) {
    const message = `${exportName} offers all that this version needs`;
    return { type: exportConfigured, status: "True", reason: "APIExportConfigured", message, findings };
  }
  const message = findings.map((finding) => finding.message).join("; ");
  return { type: exportConfigured, status: "False", reason: first.reason, message, findings };
}

function findingsOf({ export: present, schemas }: ExportFacts): readonly Finding[] {
  const needed = exportObjects();
  const wantedExport = needed.find(({ kind }) => kind === "APIExport");
  if (present === undefined || wantedExport === undefined) {
    return [{ reason: "APIExportMissing", message: `APIExport ${exportName}: there is none` }];
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
        message: `${type}: the export does not offer it, schema ${name} is needed`,
      });
    } else if (named !== name) {
      findings.push({ reason: "SchemaWrong", message: `${type}: the export has schema ${named}, ${name} is needed` });
    }
    const found = schemas.get(name);
    if (found === undefined) {
      findings.push({ reason: "SchemaMissing", message: `APIResourceSchema ${name}: there is none` });
    } else {
      const [difference] = differencesOf(found, withoutMarks(schema));
      if (difference !== undefined) {
        findings.push({ reason: "SchemaWrong", message: `APIResourceSchema ${name}: ${difference}` });
      }
    }
  }
  // Its types have been looked at; what is left are its claims and its policy.
  const rest = differencesOf(present, withoutMarks(wantedExport)).filter((path) => !path.startsWith("spec.resources"));
  findings.push(
    ...rest.map(
      (difference): Finding => ({ reason: "APIExportWrong", message: `APIExport ${exportName}: ${difference}` }),
    ),
  );
  if (present.status?.identityHash === undefined) {
    const why = formatComplaints(present.status?.conditions) || "kcp has not given it one";
    findings.push({ reason: "IdentityMissing", message: `APIExport ${exportName}: has no identity: ${why}` });
  }
  return findings;
}

/** Marks are for those who remove things; an export without them works as well. */
const withoutMarks = ({ metadata, ...object }: ManagedObject): ManagedObject => ({
  ...object,
  apiVersion: object.apiVersion,
  kind: object.kind,
  metadata: { name: metadata.name },
});
