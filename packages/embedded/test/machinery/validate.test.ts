import { describe, expect, test } from "vitest";
import type { Schema } from "../../src/machinery/schema.ts";
import { formatInvalid, invalidDetails, validateObject, validateStatus } from "../../src/machinery/validate.ts";
import { thingSchema } from "./sample-schemas.ts";

const thing = (spec: unknown): Record<string, unknown> => ({
  apiVersion: "x.io/v1",
  kind: "Thing",
  metadata: { name: "t" },
  ...(spec === undefined ? {} : { spec }),
});
const located = (spec: object): object => ({ location: "a", ...spec });
const texts = (object: unknown, old?: unknown): string[] =>
  validateObject(thingSchema, object, old).map(({ field, message }) => `${field}: ${message}`);

describe("validation", () => {
  // The messages come from a real API server, for a schema with the same constructs and other field names.
  const cases: Record<string, { spec: unknown; errors: string[] }> = {
    "nothing is wrong": {
      spec: located({ replicas: 1, port: "5", map: [{ type: "a" }], any: { x: [1] } }),
      errors: [],
    },
    "the whole spec is missing": { spec: undefined, errors: ["spec: Required value"] },
    "a required field is missing": { spec: {}, errors: ["spec.location: Required value"] },
    "too short": {
      spec: { location: "" },
      errors: ['spec.location: Invalid value: "": spec.location in body should be at least 1 chars long'],
    },
    "too long": { spec: { location: "abcdefg" }, errors: ["spec.location: Too long: may not be more than 5 bytes"] },
    "no match": {
      spec: { location: "A" },
      errors: [`spec.location: Invalid value: "A": spec.location in body should match '^[a-z]+$'`],
    },
    "a number for a string": {
      spec: { location: 5 },
      errors: ['spec.location: Invalid value: "integer": spec.location in body must be of type string: "integer"'],
    },
    "a value outside of the enum": {
      spec: located({ strategy: "X" }),
      errors: ['spec.strategy: Unsupported value: "X": supported values: "Affinity", "RoundRobin", "Spread"'],
    },
    "a number outside of the enum": {
      spec: located({ level: 3 }),
      errors: ['spec.level: Unsupported value: 3: supported values: "1", "2"'],
    },
    "a string for a number": {
      spec: located({ replicas: "x" }),
      errors: ['spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"'],
    },
    "too small": {
      spec: located({ replicas: 0 }),
      errors: ["spec.replicas: Invalid value: 0: spec.replicas in body should be greater than or equal to 1"],
    },
    "too large": {
      spec: located({ replicas: 11 }),
      errors: ["spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10"],
    },
    "a fraction for an integer with a format": {
      spec: located({ replicas: 1.5 }),
      errors: [
        'spec.replicas: Invalid value: "float64": spec.replicas in body must be of type int32: "float64"',
        '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.replicas',
      ],
    },
    "out of an exclusive bound": {
      spec: located({ ratio: 0.5 }),
      errors: ["spec.ratio: Invalid value: 0.5: spec.ratio in body should be greater than 0.5"],
    },
    "not a multiple": {
      spec: located({ ratio: 0.7 }),
      errors: ["spec.ratio: Invalid value: 0.7: spec.ratio in body should be a multiple of 0.5"],
    },
    "neither integer nor string": {
      spec: located({ port: true }),
      errors: ['spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"'],
    },
    "an empty list": {
      spec: located({ list: [] }),
      errors: ["spec.list: Invalid value: 0: spec.list in body should have at least 1 items"],
    },
    "a list with too many items, one of them wrong": {
      spec: located({ list: [{}, { k: 1 }, {}] }),
      errors: [
        'spec.list[1].k: Invalid value: "integer": spec.list[1].k in body must be of type string: "integer"',
        "spec.list: Too many: 3: must have at most 2 items",
      ],
    },
    "an item without its key": { spec: located({ map: [{ v: "x" }] }), errors: ["spec.map[0].type: Required value"] },
    "the same key three times is one error": {
      spec: located({ map: [{ type: "a" }, { type: "a" }, { type: "a" }] }),
      errors: ['spec.map[1]: Duplicate value: {"type":"a"}'],
    },
    "the same pair of keys": {
      spec: located({
        pairs: [
          { port: 1, proto: "TCP" },
          { proto: "TCP", port: 1 },
        ],
      }),
      errors: ['spec.pairs[1]: Duplicate value: {"port":1,"proto":"TCP"}'],
    },
    "the same item of a set": { spec: located({ set: ["a", "a"] }), errors: ['spec.set[1]: Duplicate value: "a"'] },
    "too few properties": {
      spec: located({ labels: {} }),
      errors: ["spec.labels: Invalid value: 0: spec.labels in body should have at least 1 properties"],
    },
    "too many properties": {
      spec: located({ labels: { a: "1", b: "2", c: "3" } }),
      errors: ["spec.labels: Too many: 3: must have at most 2 items"],
    },
    "a wrong value in a map": {
      spec: located({ labels: { a: 1 } }),
      errors: ['spec.labels.a: Invalid value: "integer": spec.labels.a in body must be of type string: "integer"'],
    },
    "a resource that does not say what it is": {
      spec: located({ resource: {} }),
      errors: ["spec.resource.apiVersion: Required value", "spec.resource.kind: Required value"],
    },
    "a date that is none": {
      spec: located({ since: "x" }),
      errors: ['spec.since: Invalid value: "x": spec.since in body must be of type date-time: "x"'],
    },
    "a number for a date": {
      spec: located({ since: 5 }),
      errors: ['spec.since: Invalid value: "int64": spec.since in body must be of type date-time: "int64"'],
    },
    "an address that is none": {
      spec: located({ address: "1.2.3" }),
      errors: ['spec.address: Invalid value: "1.2.3": spec.address in body must be of type ipv4: "1.2.3"'],
    },
    "a format that nobody knows is not checked": { spec: located({ hint: "x" }), errors: [] },
    "none of several alternatives": {
      spec: located({ one: {} }),
      errors: [
        '<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found none valid',
        "spec.one.a: Required value",
      ],
    },
    "two of several alternatives": {
      spec: located({ one: { a: "1", b: "2" } }),
      errors: [
        '<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found 2 valid alternatives',
      ],
    },
    "not any of several": {
      spec: located({ some: {} }),
      errors: [
        '<nil>: Invalid value: "": "spec.some" must validate at least one schema (anyOf)',
        "spec.some.a: Required value",
      ],
    },
    "not all of several": {
      spec: located({ both: "bb" }),
      errors: [
        `spec.both: Invalid value: "bb": spec.both in body should match '^a'`,
        '<nil>: Invalid value: "": "spec.both" must validate all the schemas (allOf)',
      ],
    },
    "what must not be": {
      spec: located({ but: "bad" }),
      errors: ['<nil>: Invalid value: "": "spec.but" must not validate the schema (not)'],
    },
    "a null in place of an object": {
      spec: located({ any: null }),
      errors: ['spec.any: Invalid value: "null": spec.any in body must be of type object: "null"'],
    },
    "a null where it is allowed": { spec: located({ note: null }), errors: [] },
  };
  test.each(Object.entries(cases))("%s", (_, { spec, errors }) => {
    expect(texts(thing(spec))).toEqual(errors);
  });

  test("an error in an unchanged field is ignored", () => {
    const old = thing(located({ location: "A", map: [{ type: "a", v: 1 }] }));
    expect(
      texts(thing(located({ location: "A", replicas: 2, map: [{ type: "b" }, { type: "a", v: 1 }] })), old),
    ).toEqual([]);
    expect(texts(thing(located({ location: "B" })), old)).toHaveLength(1);
  });

  test("existing duplicates are ignored", () => {
    const old = thing(located({ set: ["a", "a"] }));
    expect(texts(thing(located({ set: ["a", "a", "b"] })), old)).toEqual([]);
  });

  test("the path of an error in a status starts at its root", () => {
    const object = { ...thing({}), status: { n: "x", conditions: [{ status: "True" }] } };
    expect(validateStatus(thingSchema, object)).toEqual([
      {
        type: "TypeInvalid",
        field: "status.n",
        message: 'Invalid value: "string": n in body must be of type integer: "string"',
      },
      { type: "Required", field: "status.conditions[0].type", message: "Required value" },
    ]);
  });

  test("a type with validation rules warns that they are not evaluated", () => {
    const schema: Schema = {
      type: "object",
      required: ["a"],
      properties: { b: { type: "object", "x-kubernetes-validations": [{ rule: "true" }] } },
    };
    expect(validateObject(schema, {}).at(-1)).toEqual({
      type: "Invalid",
      field: "<nil>",
      message:
        "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
    });
  });
});

describe("the response to an invalid object", () => {
  const one = [{ type: "Required", field: "spec.location", message: "Required value" }] as const;
  const two = [...one, { type: "Invalid", field: "spec.x", message: 'Invalid value: "a": no' }] as const;
  test("contains a single error without brackets", () => {
    expect(formatInvalid("ClusterRegistration", "tmc.kcp.io", "east", one)).toBe(
      'ClusterRegistration.tmc.kcp.io "east" is invalid: spec.location: Required value',
    );
  });
  test("lists several errors without duplicates", () => {
    expect(formatInvalid("Service", "", "web", [...two, ...one])).toBe(
      'Service "web" is invalid: [spec.location: Required value, spec.x: Invalid value: "a": no]',
    );
  });
  test("has a reason for every cause", () => {
    expect(invalidDetails("Service", "", "web", one)).toEqual({
      name: "web",
      kind: "Service",
      causes: [{ reason: "FieldValueRequired", message: "Required value", field: "spec.location" }],
    });
  });
});
