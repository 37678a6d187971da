import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parsePage } from "./page.ts";
import { type PageServers, readPage, runPage } from "./run-page.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Every page whose blocks are read. */
export const pages: readonly string[] = globSync(["README.md", "docs/*.md", "examples/README.md"], {
  cwd: root,
}).toSorted();

const texts = await Promise.all(pages.map(async (name) => ({ name, steps: parsePage(await readPage(name)).steps })));

/** The pages that have commands to execute. */
export const executedPages: readonly string[] = texts
  .filter(({ steps }) => steps.some(({ kind }) => kind === "command"))
  .map(({ name }) => name);

/** Runs pages; a page is one case, because each of its commands needs those before it. */
export function pageCases(
  title: string,
  names: readonly string[],
  start: () => Promise<PageServers | undefined>,
): void {
  describe(title, () => {
    it.each(names)(
      "%s prints what it shows",
      async (name) => {
        const servers = await start();
        if (servers === undefined) return;
        expect(await runPage(name, servers)).toBeGreaterThan(0);
      },
      600_000,
    );
  });
}
