import { describe, expect, it } from "vitest";
import { apiBinding, apiExport, exportVersions, permissionClaims } from "../../../lib/api/api-export.ts";
import { exportName, group } from "../../../lib/api/group.ts";
import { kinds } from "../../../lib/api/kinds.ts";
import { resourceSchemaName } from "../../../lib/api/resource-schema.ts";
import { workloadTypes } from "../../../lib/api/workload-types.ts";

const exported = [...kinds, ...workloadTypes];

/** kcp grants the verbs that both lists contain literally. */
const granted = (asked: readonly string[], accepted: readonly string[]) =>
  asked.filter((verb) => accepted.includes(verb));

describe("APIExport", () => {
  it("the APIExport has the name of the group", () => {
    expect(exportName).toBe(group);
    expect(apiExport(exported).metadata.name).toBe("tmc.kcp.io");
  });

  it("the APIExport lists every kind with its schema in v1alpha2", () => {
    const { apiVersion, spec } = apiExport(exported);
    expect(apiVersion).toBe("apis.kcp.io/v1alpha2");
    expect(spec).not.toHaveProperty("latestResourceSchemas");
    expect(spec.resources?.map(({ name, group: of, schema }) => [name, of, schema])).toEqual(
      exported.map((kind) => [kind.plural, kind.group, resourceSchemaName(kind)]),
    );
  });

  it("the APIExport has the same schemas in v1alpha1, and claims without verbs", () => {
    const { apiVersion, spec } = apiExport(exported, "v1alpha1");
    expect(apiVersion).toBe("apis.kcp.io/v1alpha1");
    expect(spec).not.toHaveProperty("resources");
    expect(spec.latestResourceSchemas).toEqual(exported.map(resourceSchemaName));
    for (const claim of spec.permissionClaims) {
      expect(claim).toMatchObject({ all: true });
      expect(claim).not.toHaveProperty("verbs");
    }
  });

  it("the permission claims allow no writes except of Events", () => {
    const written = permissionClaims.filter(({ verbs }) =>
      verbs.some((verb) => !["get", "list", "watch"].includes(verb)),
    );
    expect(written.map(({ resource }) => resource)).toEqual(["events"]);
  });
});

describe("APIBinding", () => {
  it("the APIBinding accepts exactly the claims of the APIExport with equal verbs", () => {
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

  it.each(exportVersions)("the APIBinding refers to the APIExport and accepts every claim in %s", (version) => {
    const { apiVersion, metadata, spec } = apiBinding({ path: "root:other", name: "mine", version });
    expect(apiVersion).toBe(`apis.kcp.io/${version}`);
    expect(metadata.name).toBe("mine");
    expect(spec.reference).toEqual({ export: { path: "root:other", name: "tmc.kcp.io" } });
    expect(spec.permissionClaims.map(({ state }) => state)).toEqual(permissionClaims.map(() => "Accepted"));
  });

  it("the APIBinding has a default name and workspace", () => {
    expect(apiBinding()).toMatchObject({
      metadata: { name: "tmc-binding" },
      spec: { reference: { export: { path: "root:tmc" } } },
    });
  });
});
