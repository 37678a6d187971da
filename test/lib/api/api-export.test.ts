import { describe, expect, it } from "vitest";
import { apiBinding, apiExport, exportVersions, permissionClaims } from "../../../lib/api/api-export.ts";
import { exportName, group } from "../../../lib/api/group.ts";
import { kinds } from "../../../lib/api/kinds.ts";
import { resourceSchemaName } from "../../../lib/api/resource-schema.ts";
import { workloadTypes } from "../../../lib/api/workload-types.ts";

const exported = [...kinds, ...workloadTypes];

/** kcp grants what stands in both lists, word by word. */
const granted = (asked: readonly string[], accepted: readonly string[]) =>
  asked.filter((verb) => accepted.includes(verb));

describe("the export", () => {
  it("is named for the group", () => {
    expect(exportName).toBe(group);
    expect(apiExport(exported).metadata.name).toBe("tmc.kcp.io");
  });

  it("carries every kind with its schema in v1alpha2", () => {
    const { apiVersion, spec } = apiExport(exported);
    expect(apiVersion).toBe("apis.kcp.io/v1alpha2");
    expect(spec).not.toHaveProperty("latestResourceSchemas");
    expect(spec.resources?.map(({ name, group: of, schema }) => [name, of, schema])).toEqual(
      exported.map((kind) => [kind.plural, kind.group, resourceSchemaName(kind)]),
    );
  });

  it("carries the same schemas in v1alpha1, and claims without verbs", () => {
    const { apiVersion, spec } = apiExport(exported, "v1alpha1");
    expect(apiVersion).toBe("apis.kcp.io/v1alpha1");
    expect(spec).not.toHaveProperty("resources");
    expect(spec.latestResourceSchemas).toEqual(exported.map(resourceSchemaName));
    for (const claim of spec.permissionClaims) {
      expect(claim).toMatchObject({ all: true });
      expect(claim).not.toHaveProperty("verbs");
    }
  });

  it("claims no more than it must: it writes nothing of a tenant's but events", () => {
    const written = permissionClaims.filter(({ verbs }) =>
      verbs.some((verb) => !["get", "list", "watch"].includes(verb)),
    );
    expect(written.map(({ resource }) => resource)).toEqual(["events"]);
  });
});

describe("the binding", () => {
  it("accepts exactly the claims of the export, with equal verbs", () => {
    const asked = apiExport(exported).spec.permissionClaims;
    const accepted = apiBinding().spec.permissionClaims;
    expect(accepted.map(({ group: of, resource }) => [of, resource])).toEqual(
      asked.map(({ group: of, resource }) => [of, resource]),
    );
    for (const [index, claim] of permissionClaims.entries()) {
      const verbs = accepted[index] !== undefined && "verbs" in accepted[index] ? accepted[index].verbs : [];
      expect(granted(claim.verbs, verbs)).toEqual(claim.verbs);
    }
  });

  it.each(exportVersions)("refers to the export and accepts every claim in %s", (version) => {
    const { apiVersion, metadata, spec } = apiBinding({ path: "root:other", name: "mine", version });
    expect(apiVersion).toBe(`apis.kcp.io/${version}`);
    expect(metadata.name).toBe("mine");
    expect(spec.reference).toEqual({ export: { path: "root:other", name: "tmc.kcp.io" } });
    expect(spec.permissionClaims.map(({ state }) => state)).toEqual(permissionClaims.map(() => "Accepted"));
  });

  it("has the name and the workspace that everyone expects, unless told otherwise", () => {
    expect(apiBinding()).toMatchObject({
      metadata: { name: "tmc-binding" },
      spec: { reference: { export: { path: "root:tmc" } } },
    });
  });
});
