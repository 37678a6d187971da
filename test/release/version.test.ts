import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { tmcVersion } from "../../lib/model/version.ts";
import { readProjectVersion, withVersion } from "../../scripts/set-version.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const version = await readProjectVersion();
const read = (file: string): Promise<string> => readFile(join(root, file), "utf8");

describe("the version of the project", () => {
  it("is the same in package.json, the other packages, the lock file, the chart and the documentation", async () => {
    const files = await withVersion(version);
    expect(files.map(({ file }) => file)).toEqual([
      "charts/tmc/Chart.yaml",
      "docs/install.md",
      "package-lock.json",
      "packages/embedded/package.json",
      "packages/kube/package.json",
    ]);
    expect(files.filter(({ before, after }) => before !== after).map(({ file }) => file)).toEqual([]);
    expect(tmcVersion()).toContain(version);
  });

  it("is written to each of these files by npm version, which leaves no older one in them", async () => {
    for (const { file, before, after } of await withVersion("9.8.7-rc.1")) {
      expect([file, after === before]).toEqual([file, false]);
      expect([file, before.split("\n").length]).toEqual([file, after.split("\n").length]);
    }
    const page = (await withVersion("9.8.7-rc.1")).find(({ file }) => file === "docs/install.md")?.after ?? "";
    expect(page).toContain("tmc-controller:9.8.7-rc.1");
    expect(page).toContain("./tmc-9.8.7-rc.1.tgz");
    expect(page).not.toContain(version);
    const manifest: unknown = JSON.parse(await read("package.json"));
    expect(manifest).toMatchObject({ scripts: { version: expect.stringContaining("scripts/set-version.ts") } });
  });

  it("is in no other page of the documentation, where it would become stale", async () => {
    const pages = globSync(["README.md", "docs/*.md", "examples/*.{md,yaml}"], { cwd: root });
    const stale: string[] = [];
    for (const page of pages.filter((each) => each !== "docs/install.md")) {
      if ((await read(page)).includes(`:${version}`) || (await read(page)).includes(`-${version}`)) stale.push(page);
    }
    expect(stale).toEqual([]);
  });

  it("is the first entry of the changelog", async () => {
    const [, first] = /^## (\S+)/m.exec(await read("CHANGELOG.md")) ?? [];
    expect(first).toBe(version);
  });
});
