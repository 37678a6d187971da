import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isRecord } from "@tmc/kube/json.ts";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = globSync("{bin,functions,infra,lib,packages/*/src}/**/*.ts", { cwd: root });

const maxFilesPerFolder = 25;
const maxFilesInLib = 420;

describe("the structure of the product", () => {
  it(`has at most ${maxFilesPerFolder} source files in a folder`, () => {
    const counts = Map.groupBy(sources, (file) => dirname(file));
    const crowded = [...counts].filter(([, files]) => files.length > maxFilesPerFolder);
    expect(crowded.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([]);
  });

  it(`has at most ${maxFilesInLib} source files in lib`, () => {
    const files = sources.filter((file) => file.startsWith("lib/"));
    expect(files.length).toBeGreaterThan(200);
    expect(files.length).toBeLessThanOrEqual(maxFilesInLib);
  });

  it("has a README with every source file in each folder of lib and each package", () => {
    const folders = [...new Set(sources.map((file) => /^(?:lib|packages)\/[^/]+/.exec(file)?.[0] ?? ""))].filter(
      Boolean,
    );
    const missing = folders.flatMap((folder) => {
      const readme = readFileSync(join(root, folder, "README.md"), "utf8");
      return sources
        .filter((file) => folder.startsWith("lib/") && file.startsWith(`${folder}/`))
        .filter((file) => !readme.includes(file.slice(file.lastIndexOf("/") + 1)));
    });
    expect(missing).toEqual([]);
  });

  it("measures no interval with the wall clock, which may be set back", () => {
    /** Files that compare the wall clock with a time of another machine, or with one that is shown. */
    const exceptions = new Set([
      "lib/lambda/probe.ts", // when SQS received a message
      "lib/lambda/resync.ts", // when an earlier invocation began
      "lib/queue/batch.ts", // when SQS received a message
      "lib/sources/cluster-index.ts", // a time in a SyncTarget
      "lib/cli/local/run.ts", // the start of the process, as it is shown
    ]);
    const interval =
      /clock\.now\(\) *[-+<>] ?|[-+<] *\(?(?:io\.|host\.)?clock\.now\(\)|(?<!=)>=? *(?:io\.)?clock\.now\(\)/;
    const found = sources
      .filter((file) => /^(?:lib|packages\/kube)\//.test(file) && !exceptions.has(file))
      .filter((file) => interval.test(readFileSync(join(root, file), "utf8")));
    expect(found).toEqual([]);
  });

  it("exports no name twice", () => {
    const declaration =
      /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|class|type|interface) (?<name>\w+)/gm;
    const files = sources.filter((file) => /^(?:lib|packages)\//.test(file));
    const exported = files.flatMap((file) => {
      const names = [...readFileSync(join(root, file), "utf8").matchAll(declaration)].map(({ groups }) => groups?.name);
      // Overloads and a type beside a value of its name are one export.
      return [...new Set(names)].map((name) => ({ name: name ?? "", file }));
    });
    const repeated = [...Map.groupBy(exported, ({ name }) => name)].filter(([, uses]) => uses.length > 1);
    expect(repeated.map(([name, uses]) => `${name}: ${uses.map(({ file }) => file).join(", ")}`)).toEqual([]);
  });
});

describe("package-lock.json", () => {
  it("has an integrity hash for every package that npm downloads", () => {
    const lock: unknown = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
    const packages = Object.entries(recordAt(lock, "packages")).filter(([path]) => path.includes("node_modules/"));
    expect(packages.length).toBeGreaterThan(200);
    // A bundled package is part of the archive of its parent, which has the hash.
    const downloaded = packages.filter(
      ([, entry]) => !isRecord(entry) || !(entry.link === true || entry.inBundle === true),
    );
    const without = downloaded.filter(([, entry]) => !isRecord(entry) || !/^sha512-/.test(String(entry.integrity)));
    expect(without.map(([path]) => path)).toEqual([]);
  });
});

function recordAt(value: unknown, key: string): Readonly<Record<string, unknown>> {
  const found = isRecord(value) ? value[key] : undefined;
  return isRecord(found) ? found : {};
}
