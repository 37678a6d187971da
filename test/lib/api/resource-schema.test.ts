import { describe, expect, it } from "vitest";
import { clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { kinds } from "../../../lib/api/kinds.ts";
import { apiResourceSchema, resourceSchemaName } from "../../../lib/api/resource-schema.ts";
import { workloadTypes } from "../../../lib/api/workload-types.ts";

const exported = [...kinds, ...workloadTypes];

describe("apiResourceSchema", () => {
  it.each(exported.map((kind) => [kind.kind, kind] as const))(
    "the APIResourceSchema of a %s has a name that kcp accepts",
    (_, kind) => {
      const { metadata, spec } = apiResourceSchema(kind);
      const suffix = `.${spec.names.plural}.${spec.group === "" ? "core" : spec.group}`;
      expect(metadata.name.endsWith(suffix)).toBe(true);
      expect(metadata.name.slice(0, -suffix.length)).toMatch(/^[a-z]([-a-z0-9]*[a-z0-9])?$/);
    },
  );

  it("the name of an APIResourceSchema does not depend on the order of fields", () => {
    const { description, plural, ...rest } = clusterRegistration;
    const again = { ...structuredClone(rest), plural, description };
    expect(resourceSchemaName(again)).toBe(resourceSchemaName(clusterRegistration));
  });

  const changes = {
    validation: { spec: { ...clusterRegistration.spec, required: [] } },
    description: { description: "Something else." },
    column: { columns: clusterRegistration.columns.slice(1) },
    "short name": { shortNames: ["reg"] },
    subresource: { scale: { specReplicasPath: ".spec.a", statusReplicasPath: ".status.a" } },
    warning: { warning: "careful" },
  };
  it.each(Object.entries(changes))("an APIResourceSchema gets a new name if its %s changes", (_, change) => {
    expect(resourceSchemaName({ ...clusterRegistration, ...change })).not.toBe(resourceSchemaName(clusterRegistration));
  });

  it("an APIResourceSchema has the unapproved annotation only in protected groups of Kubernetes", () => {
    const marked = exported.filter((kind) => apiResourceSchema(kind).metadata.annotations !== undefined);
    expect(marked.map((kind) => kind.kind)).toEqual(["Ingress"]);
  });

  it("the group of an APIResourceSchema contains a dot or is a legacy group", () => {
    for (const { group } of exported) expect(group).toMatch(/\.|^(apps|batch|autoscaling|)$/);
  });
});
