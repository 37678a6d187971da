import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type FileResult, parseReport } from "./report.ts";
import { type NamedTest, patternOf } from "./rule.ts";

/** Far more than all named tests together take. */
const longestMs = 5 * 60_000;
/** Without a rule much more may happen than with it, and that takes its time. */
const longestTestMs = 60_000;

/** Runs tests, and no others of their files, in a folder. That vitest itself failed is in the report. */
export async function runTests(
  folder: string,
  tests: readonly NamedTest[],
  signal: AbortSignal,
): Promise<readonly FileResult[]> {
  const report = join(folder, "rules-report.json");
  rmSync(report, { force: true });
  const files = [...new Set(tests.map(({ file }) => file))];
  const pattern = [...new Set(tests.map(patternOf))].join("|");
  const options = [
    "--reporter=json",
    `--outputFile=${report}`,
    `--testTimeout=${longestTestMs}`,
    // What was made of sources with a rule taken out is nobody else's business.
    "--no-cache",
    `--fsModuleCachePath=${join(folder, ".vitest-cache")}`,
  ];
  const vitest = spawn(
    process.execPath,
    [join(folder, "node_modules/vitest/vitest.mjs"), "run", ...files, "-t", pattern, ...options],
    {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
      signal: AbortSignal.any([signal, AbortSignal.timeout(longestMs)]),
    },
  );
  let said = "";
  vitest.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-2_000);
  });
  vitest.once("error", ({ message }) => {
    said += message;
  });
  // Also after it was told to end: whoever clears up must not do so under its feet.
  await new Promise<void>((resolve) => vitest.once("close", () => resolve()));
  signal.throwIfAborted();
  try {
    return parseReport(readFileSync(report, "utf8"));
  } catch {
    return [{ name: files.join(", "), message: `vitest left no report: ${said.trim()}`, tests: [] }];
  }
}
