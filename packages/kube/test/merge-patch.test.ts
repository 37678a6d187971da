import { mergePatch } from "@tmc/embedded/machinery/merge-patch.ts";
import { describe, expect, test } from "vitest";
import { diffMergePatch, type MergePatch } from "../src/merge-patch.ts";

const cases: Record<string, { before: object; after: object; patch: MergePatch | undefined }> = {
  "says nothing about equal objects, in any order of fields": {
    before: { a: 1, b: { c: [1] } },
    after: { b: { c: [1] }, a: 1 },
    patch: undefined,
  },
  "takes a field that is undefined for one that is not there": {
    before: { a: 1 },
    after: { a: 1, b: undefined, c: undefined },
    patch: undefined,
  },
  "names only what differs, nested too": {
    before: { a: 1, b: { c: 1, d: 2 } },
    after: { a: 1, b: { c: 1, d: 3 } },
    patch: { b: { d: 3 } },
  },
  "sends null for what is to go": {
    before: { a: 1, b: { c: 1, d: 2 } },
    after: { b: { c: 1 } },
    patch: { a: null, b: { d: null } },
  },
  "sends lists whole": { before: { a: [1, 2] }, after: { a: [1, 2, 3] }, patch: { a: [1, 2, 3] } },
  "puts an object where there was none": { before: {}, after: { a: { b: 1, c: undefined } }, patch: { a: { b: 1 } } },
  "empties an object field by field": { before: { a: { b: 1 } }, after: { a: {} }, patch: { a: { b: null } } },
  "puts a value where there was an object": { before: { a: { b: 1 } }, after: { a: "b" }, patch: { a: "b" } },
};

/** As JSON arrives: `__proto__` is an own field here, and would be the prototype in a literal. */
const json = (text: string): object => JSON.parse(text);
const inheritedNames: Record<string, { before: object; after: object; patch: string | undefined }> = {
  "adds a field named __proto__": {
    before: {},
    after: json('{"data":{"__proto__":"x"}}'),
    patch: '{"data":{"__proto__":"x"}}',
  },
  "changes a field named __proto__": {
    before: json('{"data":{"__proto__":{"a":1}}}'),
    after: json('{"data":{"__proto__":{"a":2}}}'),
    patch: '{"data":{"__proto__":{"a":2}}}',
  },
  "removes a field named __proto__": {
    before: json('{"data":{"__proto__":"x","a":"b"}}'),
    after: json('{"data":{"a":"b"}}'),
    patch: '{"data":{"__proto__":null}}',
  },
  "removes a field that every object inherits": {
    before: { constructor: "x" },
    after: {},
    patch: '{"constructor":null}',
  },
  "leaves an equal field named __proto__ alone": {
    before: json('{"__proto__":{"a":1}}'),
    after: json('{"__proto__":{"a":1}}'),
    patch: undefined,
  },
};

test.each(Object.entries(inheritedNames))("a merge patch %s", (_name, { before, after, patch }) => {
  const found = diffMergePatch(before, after);
  expect(found && JSON.stringify(found)).toBe(patch);
  expect(JSON.stringify(mergePatch(before, found ?? {}))).toBe(JSON.stringify(after));
});

describe.each(Object.entries(cases))("%s", (_name, { before, after, patch }) => {
  test("a merge patch contains exactly the differences of two objects", () => {
    expect(diffMergePatch(before, after)).toEqual(patch);
  });
  test("a merge patch turns the first object into the second", () => {
    const wanted = JSON.parse(JSON.stringify(after));
    expect(mergePatch(JSON.parse(JSON.stringify(before)), JSON.parse(JSON.stringify(patch ?? {})))).toEqual(wanted);
  });
});
