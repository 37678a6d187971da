import { describe, expect, it } from "vitest";
import { customWorkload, parseCustomType } from "../../../lib/upstream/custom-types.ts";

const schema = { type: "object", properties: { spec: { type: "object" } } };
const definition = (change: object = {}, annotations: Readonly<Record<string, string>> = {}) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.dev", annotations },
  spec: {
    group: "example.dev",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [
      { name: "v1", served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: schema } },
    ],
    ...change,
  },
});
const workloadOf = (document: unknown) => customWorkload(parseCustomType(document, "f").schema);

describe("customWorkload", () => {
  it("customWorkload returns a workload type with the CRD that clusters need", () => {
    expect(workloadOf(definition())).toMatchObject({
      type: { group: "example.dev", version: "v1", plural: "widgets" },
      apiVersion: "example.dev/v1",
      kind: "Widget",
      isOffered: true,
      custom: {
        hasStatus: true,
        definition: {
          name: "widgets.example.dev",
          version: "v1",
          spec: { scope: "Namespaced", versions: [{ name: "v1", schema: { openAPIV3Schema: schema } }] },
        },
      },
    });
  });

  it("annotations of the CRD select how the status of a custom type is aggregated", () => {
    const annotations = {
      "tmc.kcp.io/status-strategy": "union",
      "tmc.kcp.io/status-sum": "a, b",
      other: "stays behind",
    };
    const { schema: made } = parseCustomType(definition({}, annotations), "f");
    expect(made.metadata.annotations).not.toHaveProperty("other");
    expect(customWorkload(made)?.custom?.statusRule).toEqual({ strategy: "union", sum: new Set(["a", "b"]) });
    const plain = parseCustomType(definition(), "f").schema;
    expect(made.metadata.name).toBe(plain.metadata.name);
  });

  it("a custom type without a status subresource has no status", () => {
    const [version] = definition().spec.versions;
    const bare = definition({ versions: [{ ...version, subresources: {} }] });
    expect(workloadOf(bare)?.custom?.hasStatus).toBe(false);
  });

  it("a cluster-scoped type is not a workload", () => {
    expect(workloadOf(definition({ scope: "Cluster" }))).toBeUndefined();
  });
});
