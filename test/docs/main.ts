// Runs the commands of pages and prints every output that differs: node test/docs/main.ts [--update] docs/tutorial.md …
import { writeFile } from "node:fs/promises";
import { findKubectl, startEmbeddedKcpAndClusters } from "./embedded-servers.ts";
import { type Difference, readPage, runPage } from "./run-page.ts";

const names = process.argv.slice(2).filter((word) => word !== "--update");
const isUpdate = process.argv.includes("--update");
const kubectl = await findKubectl();
if (kubectl === undefined || names.length === 0) {
  console.error("usage: npm run pages -- [--update] <page>…   (kubectl must be on the PATH)");
  process.exit(2);
}

for (const name of names) {
  const differences: Difference[] = [];
  const servers = { kubectl, startKcp: startEmbeddedKcpAndClusters, limitMs: 10_000 };
  const startedMs = performance.now();
  try {
    const count = await runPage(name, servers, (difference) => differences.push(difference));
    console.log(
      `${name}: ${count} commands, ${differences.length} differ, ${Math.round(performance.now() - startedMs)} ms`,
    );
  } catch (error) {
    console.log(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
  for (const { line, command, shown, printed } of differences) {
    console.log(`\n${name}:${line}: $ ${command}\n--- the page shows\n${shown}\n--- it prints\n${printed}`);
  }
  if (differences.length > 0) process.exitCode = 1;
  if (isUpdate) await writeFile(name, withOutputs(await readPage(name), differences));
}

/** The page with the outputs that its commands print now. */
function withOutputs(page: string, differences: readonly Difference[]): string {
  const lines = page.split("\n");
  for (const { line, command, shown, printed } of differences.toReversed()) {
    const from = line - 1 + command.split("\n").length;
    lines.splice(from, shown === "" ? 0 : shown.split("\n").length, ...printed.trimEnd().split("\n"));
  }
  return lines.join("\n");
}
