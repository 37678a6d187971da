import { textAt, valueAt } from "@tmc/kube/json.ts";
import { expect, it } from "vitest";
import { listAt, numberOrZeroAt, recordAt, recordsAt, textsAt } from "../../src/machinery/fields.ts";

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
  ["a number", numberOrZeroAt, ["spec", "size"], 3],
  ["zero for another type", numberOrZeroAt, ["spec", "name"], 0],
  ["a list", listAt, ["spec", "tags"], ["x", 1, { k: "v" }]],
  ["an empty list for null", listAt, ["spec", "empty"], []],
  ["only the texts of a list", textsAt, ["spec", "tags"], ["x"]],
  ["only the objects of a list", recordsAt, ["spec", "tags"], [{ k: "v" }]],
  ["an empty object for a list", recordAt, ["spec", "tags"], {}],
])("reads %s", (_what, read, path, wanted) => {
  expect(read(object, ...path)).toEqual(wanted);
});

it("recordAt returns the object itself, so that changes affect the whole value", () => {
  const whole = { spec: { a: 1 } };
  recordAt(whole, "spec").a = 2;
  expect(whole).toEqual({ spec: { a: 2 } });
});
