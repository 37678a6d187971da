import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeFields,
  differenceWithChildren,
  encodeFields,
  type FieldPath,
  fieldDifference,
  fieldElement,
  fieldIntersection,
  fieldSet,
  fieldUnion,
  formatPath,
  hasPath,
  isEmptySet,
  isEqualSet,
  keyElement,
  pathsOf,
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
  test("are serialized in the form of managed fields", () => {
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

  test("are the same after they were serialized and parsed", () => {
    fc.assert(
      fc.property(aSet, (set) => {
        expect(isEqualSet(decodeFields(encodeFields(set)) ?? fieldSet(["f:nothing"]), set)).toBe(true);
      }),
    );
  });

  test("compare keys independent of order and notation", () => {
    const read = decodeFields({ 'k:{"b":2, "a":1}': {} });
    expect(read !== undefined && hasPath(read, [keyElement({ a: 1, b: 2 })])).toBe(true);
  });

  test.each([{ "x:a": {} }, { "k:{": {} }, { "f:a": 1 }, [], "f:a"])("reject %o", (fields) => {
    expect(decodeFields(fields)).toBeUndefined();
  });

  test("obey the laws of sets", () => {
    fc.assert(
      fc.property(aSet, aSet, (a, b) => {
        expect(isEqualSet(fieldUnion(a, b), fieldUnion(b, a))).toBe(true);
        expect(isEmptySet(fieldIntersection(fieldDifference(a, b), b))).toBe(true);
        expect(isEqualSet(fieldUnion(fieldDifference(a, b), fieldIntersection(a, b)), fieldUnion(a, fieldSet()))).toBe(
          true,
        );
        expect(isEmptySet(differenceWithChildren(a, a))).toBe(true);
        for (const each of pathsOf(a)) expect(hasPath(fieldUnion(a, b), each)).toBe(true);
      }),
    );
  });

  test("a difference keeps the children of a member, unless they are removed as well", () => {
    const set = fieldSet(path("a"), path("a", "b"));
    expect(pathsOf(fieldDifference(set, fieldSet(path("a"))))).toEqual([path("a", "b")]);
    expect(isEmptySet(differenceWithChildren(set, fieldSet(path("a"))))).toBe(true);
  });

  test("paths are listed members first, and keys in the order of their values", () => {
    const set = fieldSet(path("b", "c"), path("d"), [keyElement({ n: 10 })], [keyElement({ n: 9 })], path("a"));
    expect(pathsOf(set).map(formatPath)).toEqual([".a", ".d", "[n=9]", "[n=10]", ".b.c"]);
  });

  test("a path is formatted with its keys and values", () => {
    expect(formatPath([f("containers"), keyElement({ port: 80, name: "a" }), f("args"), valueElement("x")])).toBe(
      '.containers[name="a",port=80].args[="x"]',
    );
  });
});
