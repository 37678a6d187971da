import { describe, expect, it } from "vitest";
import { clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { kinds } from "../../../lib/api/kinds.ts";
import { apiResourceSchema, resourceSchemaName } from "../../../lib/api/resource-schema.ts";
import { workloadTypes } from "../../../lib/api/workload-types.ts";

const exported = [...kinds, ...workloadTypes];

describe("an APIResourceSchema", () => {
  it.each(exported.map((kind) => [kind.kind, kind] as const))("of a %s has a name that kcp admits", (_, kind) => {
    const { metadata, spec } = apiResourceSchema(kind);
    const suffix = `.${spec.names.plural}.${spec.group === "" ? "core" : spec.group}`;
    expect(metadata.name.endsWith(suffix)).toBe(true);
    expect(metadata.name.slice(0, -suffix.length)).toMatch(/^[a-z]([-a-z0-9]*[a-z0-9])?$/);
  });

  it("keeps its name while its content is the same, in whatever order the source has it", () => {
    const { description, plural, ...rest } = clusterRegistration;
    const again = { ...structuredClone(rest), plural, description };
    expect(resourceSchemaName(again)).toBe(resourceSchemaName(clusterRegistration));
  });

  const changes = {
    "a rule": { spec: { ...clusterRegistration.spec, required: [] } },
    "a description": { description: "Something else." },
    "a column": { columns: clusterRegistration.columns.slice(1) },
    "a short name": { shortNames: ["reg"] },
    "a subresource": { scale: { specReplicasPath: ".spec.a", statusReplicasPath: ".status.a" } },
    "a warning": { warning: "look out" },
  };
  it.each(Object.entries(changes))("gets a new name with %s", (_, change) => {
    expect(resourceSchemaName({ ...clusterRegistration, ...change })).not.toBe(resourceSchemaName(clusterRegistration));
  });

  it("says that it was not approved, in groups that Kubernetes keeps for itself and only there", () => {
    const marked = exported.filter((kind) => apiResourceSchema(kind).metadata.annotations !== undefined);
    expect(marked.map((kind) => kind.kind)).toEqual(["Ingress"]);
  });

  it("is of a kind in a group that kcp takes: with a dot, or one of the old ones", () => {
    for (const { group } of exported) expect(group).toMatch(/\.|^(apps|batch|autoscaling|)$/);
  });
});
