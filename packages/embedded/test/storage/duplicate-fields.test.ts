import { expect, it } from "vitest";
import { duplicateFields, fieldPositions } from "../../src/storage/duplicate-fields.ts";

const cases: Record<string, readonly [text: string, paths: readonly string[]]> = {
  "nothing in an ordinary object": ['{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}]}', []],
  "a field at the root": ['{"a":1,"a":2}', ["a"]],
  "fields below others, in order": ['{"s":{"r":1,"r":2},"m":{"l":{"x":"","x":""}}}', ["s.r", "m.l.x"]],
  "fields of items": ['{"l":[{"a":1},{"b":1,"b":2}]}', ["l[1].b"]],
  "no names inside of texts": ['{"a":"{\\"a\\":1,\\"a\\":2}","b":"\\\\"}', []],
  "names that are written differently": ['{"a":1,"\\u0061":2}', ["a"]],
  "nothing in a list of texts": ['["a","a"]', []],
};

for (const [rule, [text, paths]] of Object.entries(cases)) {
  it(`finds ${rule}`, () => {
    expect(duplicateFields(text).map(({ path }) => path)).toEqual(paths);
  });
}

it("reports the path of the first duplicate field", () => {
  expect([...fieldPositions('{"b":{"c":1},"a":2}').keys()]).toEqual(["b", "b.c", "a"]);
});
