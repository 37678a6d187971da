import { readFile, writeFile } from "node:fs/promises";
import { cliPage } from "./cli-page.ts";
import { metricsPage } from "./metrics-page.ts";
import { reasonsPage } from "./reasons-page.ts";
import { referencePage } from "./reference-page.ts";
import { workloadsPage } from "./workloads-page.ts";

/** The generated pages and the functions that render them. */
const pages: Readonly<Record<string, () => string>> = {
  "docs/cli.md": cliPage,
  "docs/metrics.md": metricsPage,
  "docs/reasons.md": reasonsPage,
  "docs/reference.md": referencePage,
  "docs/workloads.md": workloadsPage,
};

/** Writes the pages that are out of date. With `--check` it only lists them and fails if there are any. */
async function main(arguments_: readonly string[]): Promise<number> {
  const unknown = arguments_.filter((argument) => argument !== "--check");
  if (unknown.length > 0) {
    console.error(`generate: unknown argument ${unknown.join(" ")}; usage: npm run generate [-- --check]`);
    return 2;
  }
  const isCheck = arguments_.includes("--check");
  let stale = 0;
  for (const [name, render] of Object.entries(pages)) {
    const page = new URL(`../../${name}`, import.meta.url);
    const content = render();
    if ((await readFile(page, "utf8").catch(() => "")) === content) continue;
    stale += 1;
    if (isCheck) {
      console.error(`${name} is out of date: run \`npm run generate\``);
    } else {
      await writeFile(page, content);
      console.log(`${name} written`);
    }
  }
  return isCheck && stale > 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
