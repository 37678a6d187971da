import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Layers, parseLayers, type SourceImport, violationsOf } from "./support/import-rule.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const layers = parseLayers(readFileSync(join(root, "docs/design.md"), "utf8"));

/** `import … from "./a.ts"`, `export … from "./a.ts"`, `import "./a.ts"` and `import("./a.ts")`. */
const statement =
  /(?:^(?:import|export)\b(?<type> type\b)?[^;"]*?(?:\bfrom\s*)?|\bimport\()"(?<specifier>(?:\.|@tmc\/)[^"]+)"/gm;

/** Every import of one product file by another, as paths from the root of the project. */
function productImports(): readonly SourceImport[] {
  const files = globSync("{bin,functions,infra,lib,packages/*/src}/**/*.ts", { cwd: root });
  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return [...text.matchAll(statement)].map(({ groups }) => ({
      from: file,
      to: pathOf(groups?.specifier ?? "", file),
      isType: groups?.type !== undefined,
    }));
  });
}

function pathOf(specifier: string, importer: string): string {
  const packageFile = /^@tmc\/(?<name>\w+)\/(?<file>.+)$/.exec(specifier)?.groups;
  if (packageFile !== undefined) return `packages/${packageFile.name}/src/${packageFile.file}`;
  return relative(root, join(root, dirname(importer), specifier));
}

describe("the import rule of docs/design.md", () => {
  it("holds for every import of the product", () => {
    const imports = productImports();
    expect(imports.length).toBeGreaterThan(1_000);
    expect(violationsOf(imports, layers)).toEqual([]);
  });
});

describe("the check of the import rule", () => {
  const rule: Layers = [["cli"], ["queue", "relay"], ["model"]];
  const cases: readonly [string, readonly SourceImport[], readonly string[]][] = [
    ["accepts an import of a lower layer", [valueImport("lib/cli/a.ts", "lib/model/b.ts")], []],
    ["accepts an import of the same layer", [valueImport("lib/relay/a.ts", "lib/queue/b.ts")], []],
    [
      "reports an import of a higher layer",
      [valueImport("lib/model/a.ts", "lib/cli/b.ts")],
      ["lib/model/a.ts imports lib/cli/b.ts: model is below cli"],
    ],
    [
      "reports a type import of a higher layer",
      [{ ...valueImport("lib/model/a.ts", "lib/cli/b.ts"), isType: true }],
      ["lib/model/a.ts imports lib/cli/b.ts: model is below cli"],
    ],
    [
      "reports a cycle between two folders of one layer",
      [valueImport("lib/relay/a.ts", "lib/queue/b.ts"), valueImport("lib/queue/c.ts", "lib/relay/d.ts")],
      ["folders import each other: queue, relay"],
    ],
    [
      "reports a cycle between files of one folder",
      [valueImport("lib/queue/a.ts", "lib/queue/b.ts"), valueImport("lib/queue/b.ts", "lib/queue/a.ts")],
      ["files import each other: lib/queue/a.ts, lib/queue/b.ts"],
    ],
    [
      "reports a folder that the rule does not name",
      [valueImport("lib/cli/a.ts", "lib/other/b.ts")],
      ["other is in no layer of docs/design.md"],
    ],
  ];
  it.each(cases)("%s", (_, imports, expected) => {
    expect(violationsOf(imports, rule)).toEqual(expected);
  });
});

function valueImport(from: string, to: string): SourceImport {
  return { from, to, isType: false };
}
