import { readFile, writeFile } from "node:fs/promises";
import { referencePage } from "../lib/api/reference.ts";

/** Writes the pages that are made from the sources; with `--check` it only says whether they are current. */
async function main(arguments_: readonly string[]): Promise<number> {
  const unknown = arguments_.filter((argument) => argument !== "--check");
  if (unknown.length > 0) {
    console.error(`generate: unknown argument ${unknown.join(" ")}; usage: npm run generate [-- --check]`);
    return 2;
  }
  const page = new URL("../docs/reference.md", import.meta.url);
  const wanted = referencePage();
  const found = await readFile(page, "utf8").catch(() => "");
  if (found === wanted) return 0;
  if (arguments_.includes("--check")) {
    console.error("docs/reference.md is stale: run `npm run generate`");
    return 1;
  }
  await writeFile(page, wanted);
  console.log("docs/reference.md written");
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
