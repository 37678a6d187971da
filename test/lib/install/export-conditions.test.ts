import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { resourceSchemaName } from "../../../lib/api/resource-schema.ts";
import { exportObjects } from "../../../lib/install/bootstrap-objects.ts";
import { type ExportFacts, judgeExport } from "../../../lib/install/export-conditions.ts";
import type { ApiExport } from "../../../lib/upstream/kcp-types.ts";

type Mutable = { export: ApiExport; schemas: Map<string, KubeObject> };

function facts(): Mutable {
  const objects: KubeObject[] = JSON.parse(JSON.stringify(exportObjects()));
  const found = objects.find(({ kind }) => kind === "APIExport") as ApiExport;
  found.status = { identityHash: "abc" };
  const schemas = objects.filter(({ kind }) => kind === "APIResourceSchema");
  return { export: found, schemas: new Map(schemas.map((schema) => [schema.metadata.name ?? "", schema])) };
}

const schema = resourceSchemaName(clusterRegistration);
const resources = ({ export: found }: Mutable) => found.spec?.resources ?? [];

type Case = Readonly<{ change: (facts: Mutable) => unknown; reason: string; findings: readonly string[] }>;

const cases: Readonly<Record<string, Case>> = {
  "is content with what bootstrap makes": { change: () => {}, reason: "APIExportConfigured", findings: [] },
  "does not mind types that others have added": {
    change: (all) => resources(all).push({ name: "widgets", group: "example.dev", schema: "v1.widgets.example.dev" }),
    reason: "APIExportConfigured",
    findings: [],
  },
  "does not mind an export without our mark": {
    change: (all) => delete all.export.metadata.labels,
    reason: "APIExportConfigured",
    findings: [],
  },
  "names a schema that is missing": {
    change: ({ schemas }) => schemas.delete(schema),
    reason: "SchemaMissing",
    findings: [`APIResourceSchema ${schema}: there is none`],
  },
  "names a schema with another content": {
    change: ({ schemas }) => Object.assign(schemas.get(schema)?.spec as object, { scope: "Namespaced" }),
    reason: "SchemaWrong",
    findings: [`APIResourceSchema ${schema}: spec.scope: "Namespaced", wanted "Cluster"`],
  },
  "names the schema of a type that the export does not offer": {
    change: (all) => resources(all).shift(),
    reason: "SchemaMissing",
    findings: [`clusterregistrations.tmc.kcp.io: the export does not offer it, schema ${schema} is needed`],
  },
  "names the schema of a type that the export offers in another version": {
    change: (all) => Object.assign(resources(all)[0] ?? {}, { schema: "v0.clusterregistrations.tmc.kcp.io" }),
    reason: "SchemaWrong",
    findings: [
      `clusterregistrations.tmc.kcp.io: the export has schema v0.clusterregistrations.tmc.kcp.io, ${schema} is needed`,
    ],
  },
  "names a claim that is gone": {
    change: ({ export: found }) => found.spec?.permissionClaims?.splice(2, 1),
    reason: "APIExportWrong",
    findings: ["APIExport tmc.kcp.io: spec.permissionClaims[secrets.core]: is missing"],
  },
  "says that tenants may write status": {
    change: ({ export: { spec } }) => Reflect.deleteProperty(spec ?? {}, "maximalPermissionPolicy"),
    reason: "APIExportWrong",
    findings: ["APIExport tmc.kcp.io: spec.maximalPermissionPolicy.local: nothing, wanted {}"],
  },
  "says what kcp says of an identity that is not there": {
    change: ({ export: found }) => {
      found.status = {
        conditions: [
          { type: "IdentityValid", status: "False", reason: "IdentityVerificationFailed", message: "no key" },
        ],
      };
    },
    reason: "IdentityMissing",
    findings: ["APIExport tmc.kcp.io: has no identity: IdentityValid: IdentityVerificationFailed: no key"],
  },
  "says everything that is wrong": {
    change: (all) => {
      all.schemas.delete(schema);
      resources(all).shift();
    },
    reason: "SchemaMissing",
    findings: [
      `clusterregistrations.tmc.kcp.io: the export does not offer it, schema ${schema} is needed`,
      `APIResourceSchema ${schema}: there is none`,
    ],
  },
};

describe("the judgement of an export", () => {
  it.each(Object.entries(cases))("%s", (_, { change, reason, findings }) => {
    const all = facts();
    change(all);
    const before = structuredClone(all);
    const verdict = judgeExport(all);
    expect(verdict.type).toBe("TMCAPIExportConfigured");
    expect({ status: verdict.status, reason: verdict.reason }).toEqual({
      status: findings.length === 0 ? "True" : "False",
      reason,
    });
    expect(verdict.findings.map(({ message }) => message)).toEqual(findings);
    expect(all).toEqual(before);
  });

  it("says that there is no export", () => {
    const none: ExportFacts = { export: undefined, schemas: new Map() };
    expect(judgeExport(none)).toMatchObject({
      status: "False",
      reason: "APIExportMissing",
      message: "APIExport tmc.kcp.io: there is none",
    });
  });
});
