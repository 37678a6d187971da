import { describe, expect, it } from "vitest";
import { findKubectl, startEmbeddedKcpAndClusters } from "./embedded-servers.ts";
import { parsePage } from "./page.ts";
import { pageCases, pages, quickPages } from "./pages.ts";
import { readPage } from "./run-page.ts";

const kubectl = await findKubectl();

// `npm run test:real` brings its own kubectl and runs every page.
describe.skipIf(kubectl === undefined)("with the kubectl on the PATH", () => {
  pageCases("on embedded servers", quickPages, async () => ({
    kubectl: kubectl ?? "",
    startKcp: startEmbeddedKcpAndClusters,
    limitMs: 30_000,
  }));
});

describe("every page of the documentation", () => {
  it("is read", () => {
    expect(pages).toEqual(expect.arrayContaining(["README.md", "docs/kcp.md", "docs/tutorial.md"]));
    expect(pages).toEqual(expect.arrayContaining([...quickPages]));
  });

  it.each(pages)("%s runs each block or gives the reason why not", async (name) => {
    expect(parsePage(await readPage(name)).faults.map((fault) => `${name}:${fault}`)).toEqual([]);
  });
});
