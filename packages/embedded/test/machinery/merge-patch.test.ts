import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiFailure } from "../../src/machinery/api-errors.ts";
import { mergePatch } from "../../src/machinery/merge-patch.ts";

const failure = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error instanceof ApiFailure ? [error.status.code, error.message] : error;
  }
};

describe("merge patches", () => {
  const cases: Record<string, { document: object; patch: object; expected: object }> = {
    "set, change and remove": {
      document: { a: 1, b: { c: 1, d: 2 } },
      patch: { a: null, b: { d: 3, e: 4 }, f: 5 },
      expected: { b: { c: 1, d: 3, e: 4 }, f: 5 },
    },
    "replace lists": { document: { a: [1, 2] }, patch: { a: [{ b: null, c: 1 }] }, expected: { a: [{ c: 1 }] } },
    "nulls in new parts mean absence": { document: {}, patch: { a: { b: null, c: {} } }, expected: { a: { c: {} } } },
    "replace a scalar by a map": { document: { a: 1 }, patch: { a: { b: 1, c: null } }, expected: { a: { b: 1 } } },
    "an empty patch changes nothing": { document: { a: null }, patch: {}, expected: { a: null } },
  };
  test.each(Object.entries(cases))("%s", (_, { document, patch, expected }) => {
    const given = structuredClone(document);
    expect(mergePatch(document, patch)).toEqual(expected);
    expect(document).toEqual(given);
  });

  test.each([
    [null, "Invalid JSON Patch"],
    [[1], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"],
  ])("an invalid merge patch is rejected: %o", (patch, message) => {
    expect(failure(() => mergePatch({}, patch))).toEqual([400, message]);
  });

  // No lists: a list that replaces an object keeps its nulls, as in the server's library.
  const { object } = fc.letrec((tie) => ({
    object: fc.dictionary(fc.string(), tie("value")),
    value: fc.oneof({ maxDepth: 3 }, fc.constant(null), fc.integer(), fc.string(), tie("object")),
  }));

  test("applying a merge patch twice changes nothing more", () => {
    fc.assert(
      fc.property(object, object, (document, patch) => {
        const once = mergePatch(document, patch);
        expect(mergePatch(once, patch)).toEqual(once);
      }),
    );
  });

  test("a merge patch on nothing results in the patch without its nulls", () => {
    fc.assert(
      fc.property(object, (patch) => {
        const merged = mergePatch({}, patch);
        expect(mergePatch({}, merged)).toEqual(merged);
        expect(JSON.stringify(merged)).not.toContain(":null");
      }),
    );
  });
});
