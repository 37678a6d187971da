import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { bundleFunctions, functionNames } from "../../scripts/bundles.ts";
import { bundle } from "./bundle.ts";
import type { BenchReport, Goal, Row, Table } from "./report.ts";
import type { Settings } from "./settings.ts";
import { median } from "./statistics.ts";
import type { ImportResult } from "./workers/import-worker.ts";

const mostImportMs = 120;
const mostKilobytes = 450;

/** Times how long a fresh process takes to load each function as it is deployed: most of what a cold start is made of. */
export async function benchFunctions({ starts }: Settings): Promise<BenchReport> {
  const folder = await mkdtemp(join(tmpdir(), "tmc-bench-"));
  try {
    await bundle(folder, { "import-worker": here("workers/import-worker.ts"), empty: here("worlds/empty.ts") });
    await bundleFunctions(folder);
    const fileOf = (name: string): string => join(folder, name === "empty" ? "empty.mjs" : `${name}/index.mjs`);
    const names = ["empty", ...functionNames];
    const results = new Map<string, ImportResult[]>();
    // One of each in turn, and the first round only fills the file cache.
    for (let run = -1; run < starts * 3; run++) {
      for (const name of names) {
        const result = await importOnce(join(folder, "import-worker.mjs"), fileOf(name));
        if (run >= 0) results.set(name, [...(results.get(name) ?? []), result]);
      }
    }
    const rows: (Row & Figures)[] = [];
    for (const name of names) rows.push({ what: name, ...(await figuresOf(fileOf(name), results.get(name) ?? [])) });
    const goals = rows.filter(({ what }) => what === "reconcile").flatMap(goalsOf);
    return {
      name: "functions",
      tables: [{ title: "bundles, loaded in fresh processes, the median of each", columns, rows }],
      goals,
      notes: [],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const columns: Table["columns"] = [
  { key: "what", label: "function" },
  { key: "kilobytes", label: "KB" },
  { key: "gzipKilobytes", label: "gzip KB" },
  { key: "starts", label: "starts" },
  { key: "importMs", label: "import ms" },
  { key: "bestMs", label: "best" },
  { key: "worstMs", label: "worst" },
  { key: "importCpuMs", label: "its CPU ms" },
  { key: "rssMb", label: "RSS MB" },
];

type Figures = ImportResult &
  Readonly<{ kilobytes: number; gzipKilobytes: number; starts: number; bestMs: number; worstMs: number }>;

async function figuresOf(file: string, results: readonly ImportResult[]): Promise<Figures> {
  const code = await readFile(file);
  const middle = (key: keyof ImportResult): number => median(results.map((result) => result[key]));
  const times = results.map(({ importMs }) => importMs);
  return {
    kilobytes: code.length / 1024,
    gzipKilobytes: gzipSync(code).length / 1024,
    starts: results.length,
    importMs: middle("importMs"),
    bestMs: Math.min(...times),
    worstMs: Math.max(...times),
    importCpuMs: middle("importCpuMs"),
    rssMb: middle("rssMb"),
  };
}

function goalsOf({ what, importMs, kilobytes }: Row & Figures): Goal[] {
  return [
    {
      what: `import of ${what}`,
      goal: `≤ ${mostImportMs} ms`,
      got: `${importMs.toFixed(0)} ms`,
      met: importMs <= mostImportMs,
    },
    {
      what: `size of ${what}`,
      goal: `≤ ${mostKilobytes} KB`,
      got: `${kilobytes.toFixed(0)} KB`,
      met: kilobytes <= mostKilobytes,
    },
  ];
}

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

async function importOnce(worker: string, file: string): Promise<ImportResult> {
  // As in Lambda: a region is always known.
  const { stdout } = await promisify(execFile)(process.execPath, [worker, file], { env: { AWS_REGION: "eu-west-1" } });
  // Nothing but import-worker.ts writes there.
  return JSON.parse(stdout) as ImportResult;
}
