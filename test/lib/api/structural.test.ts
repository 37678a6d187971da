import { describe, expect, it } from "vitest";
import { objectSchema } from "../../../lib/api/kind.ts";
import { kinds } from "../../../lib/api/kinds.ts";
import type { OpenApiSchema } from "../../../lib/api/schema.ts";
import { workloadTypes } from "../../../lib/api/workload-types.ts";
import { structuralFaults } from "./structural.ts";

describe("structural schemas", () => {
  it.each([...kinds, ...workloadTypes].map((kind) => [kind.kind, kind] as const))(
    "the schema of a %s is structural",
    (_, kind) => {
      expect(structuralFaults(objectSchema(kind))).toEqual([]);
    },
  );
});

describe("structuralFaults", () => {
  const item = (required: readonly string[], fields: Record<string, OpenApiSchema>): OpenApiSchema => ({
    type: "object",
    required,
    properties: fields,
  });
  const listMap = (items: OpenApiSchema): OpenApiSchema => ({
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    items,
  });
  const cases: Record<string, { schema: OpenApiSchema; fault: RegExp | undefined }> = {
    "structuralFaults finds a missing type": { schema: { description: "x" }, fault: /needs a type/ },
    "structuralFaults finds an array without items": {
      schema: { type: "array", "x-kubernetes-list-type": "atomic" },
      fault: /without items/,
    },
    "structuralFaults finds an array without a list type": {
      schema: { type: "array", items: { type: "string" } },
      fault: /an array without a list type/,
    },
    "structuralFaults finds a map key that may be missing": {
      schema: listMap(item([], { name: { type: "string" } })),
      fault: /neither/,
    },
    "structuralFaults finds a map key that does not exist": { schema: listMap(item([], {})), fault: /no scalar field/ },
    "structuralFaults finds a default of the wrong type": {
      schema: { type: "integer", default: "1" },
      fault: /not a value/,
    },
    "structuralFaults finds a required field that is pruned": { schema: item(["gone"], {}), fault: /would prune/ },
    "structuralFaults accepts a list map with a required key": {
      schema: listMap(item(["name"], { name: { type: "string" } })),
      fault: undefined,
    },
  };
  it.each(Object.entries(cases))("%s", (_, { schema, fault }) => {
    const found = structuralFaults(schema).join("\n");
    if (fault === undefined) expect(found).toBe("");
    else expect(found).toMatch(fault);
  });
});
