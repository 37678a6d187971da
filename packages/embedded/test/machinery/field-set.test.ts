import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeFields,
  difference,
  differenceWithChildren,
  encodeFields,
  type FieldPath,
  fieldElement,
  fieldSet,
  formatPath,
  hasPath,
  intersection,
  isEmptySet,
  isEqualSet,
  keyElement,
  pathsOf,
  union,
  valueElement,
} from "../../src/machinery/field-set.ts";

const f = fieldElement;
const path = (...names: string[]): FieldPath => names.map(f);
const aSet = fc
  .array(
    fc.array(fc.constantFrom(f("a"), f("b"), keyElement({ n: "x" }), valueElement(1)), { minLength: 1, maxLength: 3 }),
  )
  .map((paths) => fieldSet(...paths));

describe("field sets", () => {
  test("are written as managed fields have them", () => {
    const set = fieldSet(
      path("spec", "replicas"),
      [...path("spec", "ports"), keyElement({ protocol: "TCP", containerPort: 80 })],
      [...path("spec", "ports"), keyElement({ protocol: "TCP", containerPort: 80 }), f("name")],
      [...path("metadata", "finalizers"), valueElement("x.io/a")],
      path("metadata", "labels"),
      path("metadata", "labels", "app"),
    );
    expect(encodeFields(set)).toEqual({
      "f:metadata": { "f:finalizers": { 'v:"x.io/a"': {} }, "f:labels": { ".": {}, "f:app": {} } },
      "f:spec": {
        "f:ports": { 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:name": {} } },
        "f:replicas": {},
      },
    });
  });

  test("survive being written and read", () => {
    fc.assert(
      fc.property(aSet, (set) => {
        expect(isEqualSet(decodeFields(encodeFields(set)) ?? fieldSet(["f:nothing"]), set)).toBe(true);
      }),
    );
  });

  test("know equal keys in any order and form", () => {
    const read = decodeFields({ 'k:{"b":2, "a":1}': {} });
    expect(read !== undefined && hasPath(read, [keyElement({ a: 1, b: 2 })])).toBe(true);
  });

  test.each([{ "x:a": {} }, { "k:{": {} }, { "f:a": 1 }, [], "f:a"])("refuse %o", (fields) => {
    expect(decodeFields(fields)).toBeUndefined();
  });

  test("obey the laws of sets", () => {
    fc.assert(
      fc.property(aSet, aSet, (a, b) => {
        expect(isEqualSet(union(a, b), union(b, a))).toBe(true);
        expect(isEmptySet(intersection(difference(a, b), b))).toBe(true);
        expect(isEqualSet(union(difference(a, b), intersection(a, b)), union(a, fieldSet()))).toBe(true);
        expect(isEmptySet(differenceWithChildren(a, a))).toBe(true);
        for (const each of pathsOf(a)) expect(hasPath(union(a, b), each)).toBe(true);
      }),
    );
  });

  test("a difference keeps what is below a member, unless the children go with it", () => {
    const set = fieldSet(path("a"), path("a", "b"));
    expect(pathsOf(difference(set, fieldSet(path("a"))))).toEqual([path("a", "b")]);
    expect(isEmptySet(differenceWithChildren(set, fieldSet(path("a"))))).toBe(true);
  });

  test("paths are listed members first, and keys in order of their values", () => {
    const set = fieldSet(path("b", "c"), path("d"), [keyElement({ n: 10 })], [keyElement({ n: 9 })], path("a"));
    expect(pathsOf(set).map(formatPath)).toEqual([".a", ".d", "[n=9]", "[n=10]", ".b.c"]);
  });

  test("a path is shown with its keys and values", () => {
    expect(formatPath([f("containers"), keyElement({ port: 80, name: "a" }), f("args"), valueElement("x")])).toBe(
      '.containers[name="a",port=80].args[="x"]',
    );
  });
});
