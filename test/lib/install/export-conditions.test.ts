import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { resourceSchemaName } from "../../../lib/api/resource-schema.ts";
import { exportObjects } from "../../../lib/install/bootstrap-objects.ts";
import { type ExportFacts, evaluateExport } from "../../../lib/install/export-conditions.ts";
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
  "accepts the export that bootstrap creates": { change: () => {}, reason: "APIExportConfigured", findings: [] },
  "accepts types that others added": {
    change: (all) => resources(all).push({ name: "widgets", group: "example.dev", schema: "v1.widgets.example.dev" }),
    reason: "APIExportConfigured",
    findings: [],
  },
  "accepts an export without the managed-by label": {
    change: (all) => delete all.export.metadata.labels,
    reason: "APIExportConfigured",
    findings: [],
  },
  "names a missing schema": {
    change: ({ schemas }) => schemas.delete(schema),
    reason: "SchemaMissing",
    findings: [`APIResourceSchema ${schema} does not exist`],
  },
  "names a schema with different content": {
    change: ({ schemas }) => Object.assign(schemas.get(schema)?.spec as object, { scope: "Namespaced" }),
    reason: "SchemaWrong",
    findings: [`APIResourceSchema ${schema}: spec.scope: "Namespaced", desired "Cluster"`],
  },
  "names the schema of a type that is missing in the export": {
    change: (all) => resources(all).shift(),
    reason: "SchemaMissing",
    findings: [`clusterregistrations.tmc.kcp.io: missing in the export, schema ${schema} is required`],
  },
  "names the schema of a type that the export has in another version": {
    change: (all) => Object.assign(resources(all)[0] ?? {}, { schema: "v0.clusterregistrations.tmc.kcp.io" }),
    reason: "SchemaWrong",
    findings: [
      `clusterregistrations.tmc.kcp.io: the export has schema v0.clusterregistrations.tmc.kcp.io, but ${schema} is required`,
    ],
  },
  "names a missing permission claim": {
    change: ({ export: found }) => found.spec?.permissionClaims?.splice(2, 1),
    reason: "APIExportWrong",
    findings: ["APIExport tmc.kcp.io: spec.permissionClaims[secrets.core]: missing"],
  },
  "reports a missing permission policy, without which tenants can write status": {
    change: ({ export: { spec } }) => Reflect.deleteProperty(spec ?? {}, "maximalPermissionPolicy"),
    reason: "APIExportWrong",
    findings: ["APIExport tmc.kcp.io: spec.maximalPermissionPolicy.local: nothing, desired {}"],
  },
  "repeats kcp's message about a missing identity": {
    change: ({ export: found }) => {
      found.status = {
        conditions: [
          { type: "IdentityValid", status: "False", reason: "IdentityVerificationFailed", message: "no key" },
        ],
      };
    },
    reason: "IdentityMissing",
    findings: ["APIExport tmc.kcp.io: no identity: IdentityValid: IdentityVerificationFailed: no key"],
  },
  "lists all findings": {
    change: (all) => {
      all.schemas.delete(schema);
      resources(all).shift();
    },
    reason: "SchemaMissing",
    findings: [
      `clusterregistrations.tmc.kcp.io: missing in the export, schema ${schema} is required`,
      `APIResourceSchema ${schema} does not exist`,
    ],
  },
};

describe("export evaluation", () => {
  it.each(Object.entries(cases))("%s", (_, { change, reason, findings }) => {
    const all = facts();
    change(all);
    const before = structuredClone(all);
    const verdict = evaluateExport(all);
    expect(verdict.type).toBe("TMCAPIExportConfigured");
    expect({ status: verdict.status, reason: verdict.reason }).toEqual({
      status: findings.length === 0 ? "True" : "False",
      reason,
    });
    expect(verdict.findings.map(({ message }) => message)).toEqual(findings);
    expect(all).toEqual(before);
  });

  it("reports that the export does not exist", () => {
    const none: ExportFacts = { export: undefined, schemas: new Map() };
    expect(evaluateExport(none)).toMatchObject({
      status: "False",
      reason: "APIExportMissing",
      message: "APIExport tmc.kcp.io does not exist",
    });
  });
});
