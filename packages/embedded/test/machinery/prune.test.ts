import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatUnknownField, prune } from "../../src/machinery/prune.ts";
import { validateObject } from "../../src/machinery/validate.ts";
import { thingSchema } from "./sample-schemas.ts";

describe("pruning", () => {
  const cases: Record<string, { object: object; expected: object; unknown: string[] }> = {
    "names and drops unknown fields, in order": {
      object: { spec: { zzz: 1, location: "a", aaa: { b: 1 } } },
      expected: { spec: { location: "a" } },
      unknown: ["spec.aaa", "spec.zzz"],
    },
    "looks into lists": {
      object: { spec: { list: [{ k: "1" }, { u: 1 }] } },
      expected: { spec: { list: [{ k: "1" }, {}] } },
      unknown: ["spec.list[1].u"],
    },
    "looks into maps": {
      object: { spec: { parts: { x: { a: 1, u: 1 } } } },
      expected: { spec: { parts: { x: { a: 1 } } } },
      unknown: ["spec.parts.x.u"],
    },
    "keeps what is unknown where the schema says so, but not below what is described": {
      object: { spec: { any: { foo: { bar: [{ x: 1 }] }, known: { a: "1", b: "2" } } } },
      expected: { spec: { any: { foo: { bar: [{ x: 1 }] }, known: { a: "1" } } } },
      unknown: ["spec.any.known.b"],
    },
    "keeps what makes a resource, at the root and inside": {
      object: {
        apiVersion: "v1",
        kind: "X",
        metadata: { name: "a" },
        spec: { resource: { apiVersion: "v1", kind: "Y", metadata: { name: "b" }, spec: { a: "1", u: 1 }, u: 1 } },
      },
      expected: {
        apiVersion: "v1",
        kind: "X",
        metadata: { name: "a" },
        spec: { resource: { apiVersion: "v1", kind: "Y", metadata: { name: "b" }, spec: { a: "1" } } },
      },
      unknown: ["spec.resource.spec.u", "spec.resource.u"],
    },
    "knows what metadata can hold": {
      object: { metadata: { name: "a", labels: { x: "y" }, nick: "b" } },
      expected: { metadata: { name: "a", labels: { x: "y" } } },
      unknown: ["metadata.nick"],
    },
    "leaves integers and strings in place of each other": {
      object: { spec: { port: "80%" } },
      expected: { spec: { port: "80%" } },
      unknown: [],
    },
    "drops an unknown field at the root": { object: { data: {} }, expected: {}, unknown: ["data"] },
  };
  test.each(Object.entries(cases))("%s", (_, { object, expected, unknown }) => {
    const given = structuredClone(object);
    expect(prune(thingSchema, object)).toEqual({ object: expected, unknown });
    expect(object).toEqual(given);
  });

  test("an object without unknown fields is returned unchanged", () => {
    const object = { spec: { location: "a", list: [{ k: "x" }] } };
    expect(prune(thingSchema, object).object).toBe(object);
  });

  test("a pruned object has no unknown fields and the same validation errors as before", () => {
    const anything = fc.oneof(
      fc.jsonValue(),
      fc.record({
        location: fc.string(),
        list: fc.array(fc.dictionary(fc.string(), fc.jsonValue())),
        u: fc.jsonValue(),
      }),
    );
    fc.assert(
      fc.property(anything, (spec) => {
        const { object } = prune(thingSchema, { spec });
        expect(prune(thingSchema, object)).toEqual({ object, unknown: [] });
        const kept = (value: unknown) =>
          validateObject(thingSchema, value).filter(({ field }) => !field.includes("labels"));
        expect(kept(object)).toEqual(kept({ spec }));
      }),
    );
  });

  test("the warning names the path of the unknown field", () => {
    expect(formatUnknownField("spec.a")).toBe('unknown field "spec.a"');
  });
});
