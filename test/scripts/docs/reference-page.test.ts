import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { objectSchema } from "../../../lib/api/kind.ts";
import { customResourceDefinition } from "../../../lib/api/resource-schema.ts";
import { referencePage } from "../../../scripts/docs/reference-page.ts";

describe("docs/reference.md", () => {
  it("docs/reference.md is up to date (update it with npm run generate)", async () => {
    const page = await readFile(new URL("../../../docs/reference.md", import.meta.url), "utf8");
    expect(page).toBe(referencePage());
  });

  it("docs/reference.md lists fields with their validation", () => {
    expect(referencePage()).toContain(
      '| `spec.strategy` | string | default `"RoundRobin"`; one of `RoundRobin`, `Spread`, `Affinity` |',
    );
    expect(referencePage()).toContain("| `spec.capabilities[].available` | boolean | default `true` |");
  });
});

describe("customResourceDefinition", () => {
  it("a CustomResourceDefinition is named after plural and group and has the same schema as in kcp", () => {
    const { metadata, spec } = customResourceDefinition(clusterRegistration);
    expect(metadata.name).toBe("clusterregistrations.tmc.kcp.io");
    expect(spec.versions[0]?.schema.openAPIV3Schema).toEqual(objectSchema(clusterRegistration));
    expect(spec.versions[0]?.subresources).toEqual({ status: {} });
  });
});
