import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withDefaults } from "../../src/machinery/defaults.ts";
import { thingSchema } from "./sample-schemas.ts";

const always = { deep: { inner: { z: "zz" } }, enabled: true, tier: "low" };

describe("defaults", () => {
  const cases: Record<string, { spec: object; expected: object }> = {
    "fill in what is missing, also inside of what they bring": { spec: {}, expected: always },
    "leave what is there": { spec: { ...always, enabled: false }, expected: { ...always, enabled: false } },
    "reach into lists": { spec: { list: [{}, { d: 1 }] }, expected: { ...always, list: [{ d: 3 }, { d: 1 }] } },
    "reach into maps": { spec: { parts: { x: {} } }, expected: { ...always, parts: { x: { a: 1 } } } },
    "take the place of nulls that are not allowed": { spec: { enabled: null, tier: null }, expected: always },
    "drop nulls that are not allowed and have no default": { spec: { strategy: null }, expected: always },
    "keep nulls that are allowed": { spec: { note: null }, expected: { ...always, note: null } },
    "keep nulls of which nothing is known": { spec: { any: { x: null } }, expected: { ...always, any: { x: null } } },
  };
  test.each(Object.entries(cases))("%s", (_, { spec, expected }) => {
    const given = structuredClone(spec);
    expect(withDefaults(thingSchema, { spec })).toEqual({ spec: expected });
    expect(spec).toEqual(given);
  });

  test("nulls of an apply are kept for validation", () => {
    const { spec } = withDefaults(thingSchema, { spec: { strategy: null, tier: null } }, "keep");
    expect(spec).toEqual({ ...always, strategy: null });
  });

  test("an object that needs no defaults is returned unchanged", () => {
    const object = { spec: { ...always, list: [{ d: 1 }] } };
    expect(withDefaults(thingSchema, object)).toBe(object);
  });

  test("defaulting twice changes nothing more", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (spec) => {
        const once = withDefaults(thingSchema, { spec });
        expect(withDefaults(thingSchema, once)).toBe(once);
      }),
    );
  });
});
