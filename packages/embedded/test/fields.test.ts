import { expect, it } from "vitest";
import { listAt, numberAt, objectAt, objectsAt, textAt, textsAt, valueAt } from "../src/fields.ts";

const object = {
  spec: { name: "a", size: 3, tags: ["x", 1, { k: "v" }], empty: null, selector: { app: "web" } },
};

it.each<[string, (value: unknown, ...path: readonly string[]) => unknown, string[], unknown]>([
  ["a value of any type", valueAt, ["spec", "empty"], null],
  ["nothing where a path leads through a text", valueAt, ["spec", "name", "length"], undefined],
  ["nothing where a path leads through a list", valueAt, ["spec", "tags", "0"], undefined],
  ["nothing that an object has only by being one", valueAt, ["spec", "constructor"], undefined],
  ["a text", textAt, ["spec", "name"], "a"],
  ["an empty text for another type", textAt, ["spec", "size"], ""],
  ["a number", numberAt, ["spec", "size"], 3],
  ["zero for another type", numberAt, ["spec", "name"], 0],
  ["a list", listAt, ["spec", "tags"], ["x", 1, { k: "v" }]],
  ["an empty list for null", listAt, ["spec", "empty"], []],
  ["only the texts of a list", textsAt, ["spec", "tags"], ["x"]],
  ["only the objects of a list", objectsAt, ["spec", "tags"], [{ k: "v" }]],
  ["an empty object for a list", objectAt, ["spec", "tags"], {}],
])("reads %s", (_what, read, path, wanted) => {
  expect(read(object, ...path)).toEqual(wanted);
});

it("gives the object itself, so that what changes it changes the whole", () => {
  const whole = { spec: { a: 1 } };
  objectAt(whole, "spec").a = 2;
  expect(whole).toEqual({ spec: { a: 2 } });
});
