import { describe, expect, it } from "vitest";
import { compare } from "./compare.ts";
import { resolve, unknown } from "./template.ts";

describe("compare", () => {
  const cases: Record<string, { wanted: unknown; live: unknown; paths: string[] }> = {
    "takes a number in words for that number": { wanted: { Timeout: 20 }, live: { Timeout: "20" }, paths: [] },
    "leaves alone what is live besides": { wanted: { A: 1 }, live: { A: 1, B: 2 }, paths: [] },
    "names the place that is different": { wanted: { A: { B: "x" } }, live: { A: { B: "y" } }, paths: ["A.B"] },
    "names what is missing": { wanted: { A: true }, live: {}, paths: ["A"] },
    "takes lists of words in any order": { wanted: ["b", "a"], live: ["a", "b"], paths: [] },
    "takes a list of one for the one": { wanted: ["a"], live: "a", paths: [] },
    "compares lists of things in their order": {
      wanted: [{ A: 1 }, { A: 2 }],
      live: [{ A: 1 }, { A: 3 }],
      paths: ["[1].A"],
    },
    "sees that a list is shorter": { wanted: ["a", "b"], live: ["a"], paths: [""] },
    "asks nothing of what only the deployment knows": { wanted: { Arn: unknown }, live: {}, paths: [] },
  };
  it.each(Object.entries(cases))("%s", (_, { wanted, live, paths }) => {
    expect(compare(wanted, live).differences.map(({ path }) => path)).toEqual(paths);
  });
});

describe("resolve", () => {
  const references = {
    ref: (name: string) => (name === "Queue" ? "queue-1" : unknown),
    attribute: (name: string, attribute: string) => `${name}.${attribute}`,
  } as const;
  const cases: Record<string, { node: unknown; value: unknown }> = {
    "follows a reference": { node: { Ref: "Queue" }, value: "queue-1" },
    "follows an attribute": { node: { "Fn::GetAtt": ["Role", "Arn"] }, value: "Role.Arn" },
    "joins what it knows": { node: { "Fn::Join": ["/", ["a", { Ref: "Queue" }]] }, value: "a/queue-1" },
    "does not join what it does not know": { node: { "Fn::Join": ["/", ["a", { Ref: "Other" }]] }, value: unknown },
    "knows no other functions": { node: { "Fn::ImportValue": "x" }, value: unknown },
    "goes into lists and objects": { node: { A: [{ Ref: "Queue" }, 1] }, value: { A: ["queue-1", 1] } },
  };
  it.each(Object.entries(cases))("%s", (_, { node, value }) => {
    expect(resolve(node, references)).toEqual(value);
  });
});
