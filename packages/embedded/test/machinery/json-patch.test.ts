import { describe, expect, test } from "vitest";
import { ApiFailure } from "../../src/machinery/api-errors.ts";
import { jsonPatch } from "../../src/machinery/json-patch.ts";

const failure = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error instanceof ApiFailure ? [error.status.code, error.message] : error;
  }
};

describe("JSON patches", () => {
  const document = { a: { b: "1", list: [1, 2, 3] }, "x/y": { "m~n": 0 } };
  const cases: Record<string, { patch: object[]; expected: object }> = {
    "add a field": {
      patch: [{ op: "add", path: "/a/c", value: 2 }],
      expected: { ...document, a: { ...document.a, c: 2 } },
    },
    "add to the end of a list": {
      patch: [{ op: "add", path: "/a/list/-", value: 4 }],
      expected: { ...document, a: { ...document.a, list: [1, 2, 3, 4] } },
    },
    "insert into a list": {
      patch: [{ op: "add", path: "/a/list/1", value: 9 }],
      expected: { ...document, a: { ...document.a, list: [1, 9, 2, 3] } },
    },
    "remove from a list": {
      patch: [{ op: "remove", path: "/a/list/0" }],
      expected: { ...document, a: { ...document.a, list: [2, 3] } },
    },
    "count from the end of a list": {
      patch: [{ op: "replace", path: "/a/list/-1", value: 9 }],
      expected: { ...document, a: { ...document.a, list: [1, 2, 9] } },
    },
    "replace a field, even one that is not there": {
      patch: [{ op: "replace", path: "/n", value: 1 }],
      expected: { ...document, n: 1 },
    },
    "read escaped names": {
      patch: [{ op: "replace", path: "/x~1y/m~0n", value: 1 }],
      expected: { ...document, "x/y": { "m~n": 1 } },
    },
    "move a field": {
      patch: [{ op: "move", from: "/a/b", path: "/b" }],
      expected: { a: { list: [1, 2, 3] }, "x/y": { "m~n": 0 }, b: "1" },
    },
    "copy a field": { patch: [{ op: "copy", from: "/a/b", path: "/b" }], expected: { ...document, b: "1" } },
    "test and go on": {
      patch: [
        { op: "test", path: "/a/list", value: [1, 2, 3] },
        { op: "test", path: "/none", value: null },
        { op: "add", path: "/t", value: true },
      ],
      expected: { ...document, t: true },
    },
    "replace everything": { patch: [{ op: "replace", path: "", value: { z: 1 } }], expected: { z: 1 } },
  };
  test.each(Object.entries(cases))("%s", (_, { patch, expected }) => {
    const given = structuredClone(document);
    expect(jsonPatch(document, patch)).toEqual(expected);
    expect(document).toEqual(given);
  });

  test.each([
    { op: "test", path: "/a/b", value: "2" },
    { op: "remove", path: "/a/zz" },
    { op: "replace", path: "/q/zz", value: 1 },
    { op: "add", path: "/q/y/z", value: 1 },
    { op: "add", path: "/a/list/9", value: 1 },
    { op: "add", path: "/a/list/x", value: 1 },
    { op: "frobnicate", path: "/a", value: 1 },
    { op: "add", path: "", value: 1 },
    { op: "add" },
  ])("a JSON patch that does not apply is rejected: %o", (operation) => {
    expect(failure(() => jsonPatch(document, [operation]))).toEqual([
      422,
      "the server rejected our request due to an error in our request",
    ]);
  });

  test("an invalid JSON patch is rejected", () => {
    expect(failure(() => jsonPatch(document, { a: 1 }))).toEqual([
      400,
      "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
    ]);
  });
});
