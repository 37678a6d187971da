import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { bundle } from "./bundle.ts";
import type { BenchReport, Goal, Row } from "./report.ts";
import type { Settings } from "./settings.ts";
import { median } from "./statistics.ts";
import type { StartResult } from "./workers/start-worker.ts";

const mostReadyMs = 300;
const mostRssMb = 120;

const worlds = {
  empty: "an empty process",
  bare: "kcp + 2 clusters",
  local: "kcp + 2 clusters, export bound",
} as const;
type World = keyof typeof worlds;
const worldNames: readonly World[] = ["empty", "bare", "local"];
/** From the sources Node also loads its TypeScript stripper, which the published bundle does without. */
const forms = ["sources", "bundle"] as const;
type Form = (typeof forms)[number];

/** Times the start of the embedded servers in fresh processes, from the sources and from a bundle as it is published. */
export async function benchStart({ starts }: Settings): Promise<BenchReport> {
  const folder = await mkdtemp(join(tmpdir(), "tmc-bench-"));
  try {
    await bundle(folder, {
      "start-worker": here("workers/start-worker.ts"),
      ...Object.fromEntries(worldNames.map((world) => [world, here(`worlds/${world}.ts`)])),
    });
    const results = new Map<string, StartResult[]>();
    // One of each in turn, and the first round only fills the file cache.
    for (let run = -1; run < starts; run++) {
      for (const form of forms) {
        for (const world of worldNames) {
          const result = await startOnce(folder, form, world);
          if (run >= 0) results.set(`${form} ${world}`, [...(results.get(`${form} ${world}`) ?? []), result]);
        }
      }
    }
    const summaries = forms.flatMap((form) =>
      worldNames.map((world) => ({ form, world, ...summarize(results.get(`${form} ${world}`) ?? []) })),
    );
    const rows: Row[] = summaries.map(({ form, world, ...figures }) => ({ what: worlds[world], form, ...figures }));
    const goals = summaries.filter(({ world }) => world !== "empty").flatMap(goalsOf);
    return {
      name: "start",
      tables: [{ title: "fresh processes, the median of each", columns, rows }],
      goals,
      notes: [],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const columns = [
  { key: "what", label: "what" },
  { key: "form", label: "from" },
  { key: "starts", label: "starts" },
  { key: "importMs", label: "import ms" },
  { key: "readyMs", label: "import→ready ms" },
  { key: "worstReadyMs", label: "worst" },
  { key: "readyCpuMs", label: "its CPU ms" },
  { key: "rssMb", label: "RSS MB" },
  { key: "worstRssMb", label: "worst" },
  { key: "heapMb", label: "heap MB" },
];

type Summary = StartResult & Readonly<{ starts: number; worstReadyMs: number; worstRssMb: number }>;

function summarize(results: readonly StartResult[]): Summary {
  const middle = (key: keyof StartResult): number => median(results.map((result) => result[key]));
  return {
    starts: results.length,
    importMs: middle("importMs"),
    readyMs: middle("readyMs"),
    worstReadyMs: Math.max(...results.map(({ readyMs }) => readyMs)),
    readyCpuMs: middle("readyCpuMs"),
    rssMb: middle("rssMb"),
    worstRssMb: Math.max(...results.map(({ rssMb }) => rssMb)),
    heapMb: middle("heapMb"),
  };
}

function goalsOf({ form, world, readyMs, rssMb }: Summary & Readonly<{ form: Form; world: World }>): Goal[] {
  const what = `${worlds[world]}, from ${form}`;
  return [
    {
      what: `ready after import: ${what}`,
      goal: `< ${mostReadyMs} ms`,
      got: `${readyMs.toFixed(0)} ms`,
      met: readyMs < mostReadyMs,
    },
    { what: `memory: ${what}`, goal: `< ${mostRssMb} MB`, got: `${rssMb.toFixed(0)} MB`, met: rssMb < mostRssMb },
  ];
}

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

async function startOnce(folder: string, form: Form, world: World): Promise<StartResult> {
  const [worker, file] =
    form === "sources"
      ? [here("workers/start-worker.ts"), here(`worlds/${world}.ts`)]
      : [join(folder, "start-worker.mjs"), join(folder, `${world}.mjs`)];
  const { stdout } = await promisify(execFile)(process.execPath, [worker, file]);
  // Nothing but start-worker.ts writes there.
  return JSON.parse(stdout) as StartResult;
}
