// `npm run bench`: measures the embedded servers and the client, and compares them with what was aimed at.
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { benchAws } from "./aws.ts";
import { benchDecide } from "./decide.ts";
import { benchEmbedded } from "./embedded.ts";
import { benchEngine } from "./engine.ts";
import { benchEngineReal } from "./engine-real.ts";
import { benchFairness } from "./fairness.ts";
import { benchFunctions } from "./functions.ts";
import { benchReal } from "./real.ts";
import { type BenchReport, formatReport } from "./report.ts";
import { benchResync } from "./resync.ts";
import { quick, type Settings, thorough } from "./settings.ts";
import { benchStart } from "./start.ts";
import { benchSync } from "./sync.ts";
import { benchSyncReal } from "./sync-real.ts";
import { benchTenants, benchTenantsReal } from "./tenants.ts";

type Bench = Readonly<{
  about: string;
  run: (settings: Settings) => Promise<BenchReport>;
  /** Needs more than Node: runs only when it is named. */
  isNamed?: boolean;
}>;

const benches: ReadonlyMap<string, Bench> = new Map([
  ["start", { about: "time and memory of an embedded kcp and two clusters in a fresh process", run: benchStart }],
  ["decide", { about: "placement decisions over a thousand clusters", run: benchDecide }],
  ["functions", { about: "size and loading of each function as it is deployed", run: benchFunctions }],
  ["resync", { about: "a resync of two hundred thousand objects as a function", run: benchResync }],
  ["embedded", { about: "calls and watches of an embedded cluster", run: benchEmbedded }],
  ["engine", { about: "a controller over an embedded kcp and three clusters", run: benchEngine }],
  ["fairness", { about: "quiet tenants beside one with a hundred thousand changes", run: benchFairness }],
  ["tenants", { about: "a relay over all tenants of an export", run: benchTenants }],
  ["sync", { about: "workloads from an embedded kcp to ten embedded clusters", run: benchSync }],
  ["real", { about: "the same against a real kube-apiserver (npm run real:build)", run: benchReal, isNamed: true }],
  ["aws", { about: "the deployed form on a local AWS endpoint (npm run build before)", run: benchAws, isNamed: true }],
  [
    "engine-real",
    { about: "a controller over a real kcp and three real clusters", run: benchEngineReal, isNamed: true },
  ],
  [
    "tenants-real",
    { about: "a relay over all tenants of an export of a real kcp", run: benchTenantsReal, isNamed: true },
  ],
  [
    "sync-real",
    { about: "workloads from a real kcp to two real clusters with kwok's pods", run: benchSyncReal, isNamed: true },
  ],
]);

const usage = `Usage: npm run bench -- [name…] [-o json] [--list] [--quick]

  --list   name the benches; those that need more than Node run only when they are named
  --quick  less of everything: an impression in well under a minute
  -o json  machine-readable

A bench that crashes makes the exit code 1; a goal that is missed does not.
`;

type Machine = Readonly<{ cores: number; cpu: string; memoryGb: number; node: string; platform: string; load: number }>;

const machine = (): Machine => ({
  cores: availableParallelism(),
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  memoryGb: Math.round(totalmem() / 1e9),
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
  load: loadavg()[0] ?? 0,
});

function formatMachine({ cores, cpu, memoryGb, node, platform, load }: Machine): string {
  const busy = load > cores / 2 ? "; the machine is busy: times come out longer than they are" : "";
  return `${cores} cores (${cpu}), ${memoryGb} GB, ${platform}, Node ${node}, load ${load.toFixed(1)}${busy}`;
}

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      output: { type: "string", short: "o", default: "text" },
      list: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const print = (text: string) => process.stdout.write(`${text}\n`);
  if (values.help) {
    print(usage);
    return 0;
  }
  if (values.list) {
    for (const [name, { about }] of benches) print(`${name.padEnd(13)}${about}`);
    return 0;
  }
  const unknown = positionals.filter((name) => !benches.has(name));
  if (unknown.length > 0)
    throw new Error(`no bench "${unknown.join('", "')}"; there are ${[...benches.keys()].join(", ")}`);
  if (!["text", "json"].includes(values.output)) throw new Error(`-o ${values.output}: text or json`);

  const text = values.output === "text";
  const before = machine();
  if (text) print(formatMachine(before));
  const reports: BenchReport[] = [];
  let crashed = false;
  for (const [name, { run, isNamed }] of benches) {
    if (positionals.length > 0 ? !positionals.includes(name) : isNamed === true) continue;
    try {
      const report = await run(values.quick ? quick : thorough);
      reports.push(report);
      if (text) print(`\n${formatReport(report)}`);
    } catch (error) {
      crashed = true;
      process.stderr.write(`\n${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    }
  }
  if (!text) print(JSON.stringify({ machine: before, reports }, undefined, 2));
  return crashed ? 1 : 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n${usage}`);
  process.exitCode = 2;
}
