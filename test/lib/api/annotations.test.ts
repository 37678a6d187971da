import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { userAnnotations } from "../../../lib/api/annotations.ts";
import { credentialsSecretLabel } from "../../../lib/api/condition.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const names = Object.values(userAnnotations).map(({ name }) => name);

describe("the annotations that users write", () => {
  it("are named in one file only", () => {
    /** The finalizer of a workload has the name of an annotation. */
    const others = new Set(["lib/api/annotations.ts", "lib/sync/ownership/record.ts"]);
    const files = globSync("lib/**/*.ts", { cwd: root }).filter((file) => !others.has(file));
    const found = files.flatMap((file) => {
      const text = readFileSync(`${root}${file}`, "utf8");
      return names.filter((name) => text.includes(`"${name}"`)).map((name) => `${file}: ${name}`);
    });
    expect(found).toEqual([]);
  });

  it("are all in the reference, with the annotations of TMC that the guide names with a value", () => {
    const reference = readFileSync(`${root}docs/reference.md`, "utf8");
    expect(names.filter((name) => !reference.includes(`| \`${name}\` |`))).toEqual([]);
    const guide = readFileSync(`${root}docs/how-to.md`, "utf8");
    const used = [...guide.matchAll(/`(tmc\.kcp\.io\/[a-z-]+)(?:: [^`]*|=[^`]*)`/g)].map(([, name = ""]) => name);
    expect(used.length).toBeGreaterThan(1);
    const known = new Set<string>([...names, credentialsSecretLabel]);
    expect([...new Set(used)].filter((name) => !known.has(name))).toEqual([]);
  });
});
