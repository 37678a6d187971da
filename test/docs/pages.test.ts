import { access } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isRecord } from "@tmc/kube/json.ts";
import { load } from "js-yaml";
import { describe, expect, it } from "vitest";
import { kinds } from "../../lib/api/kinds.ts";
import { findKubectl, startEmbeddedKcpAndClusters } from "./embedded-servers.ts";
import { parsePage } from "./page.ts";
import { executedPages, pageCases, pages } from "./pages.ts";
import { readPage } from "./run-page.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const kubectl = await findKubectl();

// `npm run test:real` brings its own kubectl, and a real kcp for the pages that use one.
describe.skipIf(kubectl === undefined)("with the kubectl on the PATH", () => {
  pageCases("on embedded servers", executedPages, async () => ({
    kubectl: kubectl ?? "",
    startKcp: startEmbeddedKcpAndClusters,
    limitMs: 60_000,
  }));
});

describe("every page of the documentation", () => {
  it("is read", () => {
    expect(pages).toEqual(expect.arrayContaining(["README.md", "docs/kcp.md", "docs/tutorial.md"]));
    expect(executedPages).toEqual(expect.arrayContaining(["README.md", "docs/kcp.md", "docs/tutorial.md"]));
  });

  it.each(pages)("%s runs each block or gives the reason why not", async (name) => {
    expect(parsePage(await readPage(name)).faults.map((fault) => `${name}:${fault}`)).toEqual([]);
  });
});

/** The anchors of a page, as GitHub makes them from its headings. */
const anchorsOf = (text: string): ReadonlySet<string> =>
  new Set([
    ...[...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    ),
    ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = ""]) => id),
  ]);

describe("every link of the documentation", () => {
  it.each(pages)("%s links to files and headings that exist", async (name) => {
    const text = await readPage(name);
    const missing: string[] = [];
    // Code in a line may contain brackets.
    for (const [, target = ""] of text.replace(/`[^`\n]*`/g, "").matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [file = "", anchor] = target.split("#");
      const path = join(dirname(name), file === "" ? basename(name) : file);
      const isPage = path.endsWith(".md");
      const linked = await (isPage ? readPage(path) : access(join(root, path)).then(() => "")).catch(() => undefined);
      if (linked === undefined || (anchor !== undefined && !anchorsOf(linked).has(anchor))) missing.push(target);
    }
    expect(missing).toEqual([]);
  });
});

it("docs/gitops.md has health checks for kinds of TMC", async () => {
  const [, block = ""] = /^```yaml\n(.*?)^```$/ms.exec(await readPage("docs/gitops.md")) ?? [];
  const config = load(block);
  const checked = Object.keys(isRecord(config) && isRecord(config.data) ? config.data : {});
  const names = kinds.map(({ group, kind }) => `resource.customizations.health.${group}_${kind}`);
  expect(checked).toHaveLength(2);
  expect(names).toEqual(expect.arrayContaining(checked));
});
