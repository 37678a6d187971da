import { describe, expect, it } from "vitest";
import { parseCustomType } from "../../../lib/upstream/custom-types.ts";

const schema = { type: "object", properties: { spec: { type: "object" } } };
const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } };
const spec = {
  group: "example.dev",
  scope: "Namespaced",
  names: { plural: "widgets", kind: "Widget" },
  versions: [version],
};
const definition = (change: object = {}): object => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.dev" },
  spec: { ...spec, ...change },
});

describe("parseCustomType", () => {
  it("parseCustomType returns a schema whose name contains the hash of its content", () => {
    const { type, schema: made } = parseCustomType(definition(), "f");
    expect(made.metadata.name).toMatch(/^v1-[0-9a-f]{8}\.widgets\.example\.dev$/);
    expect(type).toEqual({ group: "example.dev", plural: "widgets", schema: made.metadata.name });
    expect(made.spec.versions).toEqual([
      { name: "v1", served: true, storage: true, additionalPrinterColumns: [], schema },
    ]);
    expect(parseCustomType(definition(), "f").schema).toEqual(made);
    const other = parseCustomType(definition({ scope: "Cluster" }), "f");
    expect(other.schema.metadata.name).not.toBe(made.metadata.name);
  });

  it.each<[string, unknown, string]>([
    ["another kind", { kind: "Deployment" }, "f: is not a CustomResourceDefinition"],
    ["nothing", null, "f: is not a CustomResourceDefinition"],
    [
      "an old apiVersion",
      { ...definition(), apiVersion: "apiextensions.k8s.io/v1beta1" },
      "f: is not of apiextensions.k8s.io/v1",
    ],
    ["a definition without a group", definition({ group: undefined }), "f: lacks group, names, scope or versions"],
    ["a definition without a plural", definition({ names: {} }), "f: lacks names.plural"],
    [
      "a definition with several versions",
      definition({ versions: [version, { ...version, name: "v2" }] }),
      "f: widgets.example.dev has 2 versions; the export takes types with exactly one",
    ],
    [
      "a definition without a version",
      definition({ versions: [] }),
      "f: widgets.example.dev has 0 versions; the export takes types with exactly one",
    ],
    [
      "a definition without a schema",
      definition({ versions: [{ name: "v1" }] }),
      "f: widgets.example.dev has no schema",
    ],
  ])("parseCustomType rejects %s", (_, document, words) => {
    expect(() => parseCustomType(document, "f")).toThrow(words);
  });
});
