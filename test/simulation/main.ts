// npm run simulate -- --seeds 5000 --jobs 2 runs fresh seeds; --from 1 chooses the first one, and --seed 1234 --verbose replays one;
// --kill-at-every-write runs no seeds but one scenario as often as its controller can die.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { features } from "./features/features.ts";
import { runSeeds } from "./jobs.ts";
import { dieAtWrites, runUndisturbed, syncing } from "./kill-at-every-write.ts";
import { isMode, type Mode, modes } from "./mode.ts";
import { formatFailure } from "./report.ts";
import { startServers } from "./servers.ts";
import { simulate } from "./simulate.ts";

const progressMs = 5_000;
/** Leaves room for many seeds below the nine digits that the options accept. */
const maxFreshSeed = 900_000_000;

function readOptions() {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "5000" },
      /** By default a random seed: code that was corrected for the same seeds again and again passes them. */
      from: { type: "string" },
      jobs: { type: "string", default: "2" },
      seed: { type: "string" },
      /** Names of features, with commas between them, that every seed has in any case. */
      features: { type: "string", default: "" },
      /** The mode of every seed: direct, export, shards or functions. By default each seed chooses. */
      mode: { type: "string" },
      verbose: { type: "boolean", default: false },
      "kill-at-every-write": { type: "boolean", default: false },
      /** Only every so many of the writes. */
      every: { type: "string", default: "1" },
    },
  });
  const problems: string[] = [];
  const forced = values.features.split(",").filter((name) => name !== "");
  for (const name of forced) {
    if (!features.some((feature) => feature.name === name)) problems.push(`--features: there is no ${name}`);
  }
  const mode = values.mode !== undefined && isMode(values.mode) ? values.mode : undefined;
  if (mode !== values.mode) problems.push(`--mode must be one of ${modes.join(", ")}`);
  const whole = (name: string, text: string): number => {
    if (!/^[0-9]{1,9}$/.test(text)) problems.push(`--${name} ${text} is not a whole number`);
    return Number(text);
  };
  const read = {
    seeds: whole("seeds", values.seeds),
    from: values.from === undefined ? undefined : whole("from", values.from),
    jobs: Math.max(1, whole("jobs", values.jobs)),
    seed: values.seed === undefined ? undefined : whole("seed", values.seed),
    features: forced,
    mode,
    verbose: values.verbose,
    killsAtWrites: values["kill-at-every-write"],
    every: Math.max(1, whole("every", values.every)),
  };
  if (problems.length > 0) throw new Error(problems.join("; "));
  return read;
}

/** Runs one seed in this process, line by line if wanted. */
async function replay(
  seed: number,
  {
    features: forced,
    mode,
    verbose,
  }: Readonly<{ features: readonly string[]; mode: Mode | undefined; verbose: boolean }>,
): Promise<boolean> {
  const onLog = verbose ? (line: string) => console.log(line) : undefined;
  const result = await simulate(seed, { servers: await startServers(), features: forced, mode, onLog });
  const isGood = result.violations.length === 0;
  console.log(isGood ? `seed ${seed}: all laws hold (${result.digest})` : formatFailure(result));
  return isGood;
}

/** Has a controller die before and after every write of one scenario. */
async function killAtEveryWrite({
  from = 1,
  every,
}: Readonly<{ from: number | undefined; every: number }>): Promise<boolean> {
  const servers = await startServers();
  const { oracle, whole } = await runUndisturbed(syncing, servers);
  const writes = Array.from({ length: whole.writes }, (_, index) => index + 1).filter(
    (nth) => nth >= from && (nth - from) % every === 0,
  );
  console.log(`${whole.writes} writes, ${2 * writes.length} deaths, ${whole.violations.length} failures without any`);
  for (const { message } of whole.violations) console.log(`  ${message}`);
  let failed = whole.violations.length;
  for await (const { nth, when, violations } of dieAtWrites(syncing, { servers, oracle, writes })) {
    if (violations.length === 0) continue;
    failed += 1;
    console.log(
      `killed ${when} write ${nth}: ${violations.map(({ law, message }) => `law ${law}: ${message}`).join("; ")}`,
    );
  }
  console.log(`${failed} failed`);
  return failed === 0;
}

async function runMany({
  seeds,
  from = randomInt(1, maxFreshSeed),
  jobs,
  features: forced,
  mode,
}: Readonly<{
  seeds: number;
  from: number | undefined;
  jobs: number;
  features: readonly string[];
  mode: Mode | undefined;
}>): Promise<boolean> {
  console.log(`seeds ${from} to ${from + seeds - 1}`);
  const began = performance.now();
  let printedAt = began;
  let done = 0;
  let simulatedMs = 0;
  const failed: number[] = [];
  const printProgress = (): void => {
    const seconds = (performance.now() - began) / 1000;
    const hours = (simulatedMs / 3_600_000).toFixed(1);
    const rate = (done / seconds).toFixed(1);
    console.log(`${done}/${seeds} seeds, ${rate} seeds/s, ${hours} h simulated, ${failed.length} failed`);
  };
  await runSeeds({
    seeds: Array.from({ length: seeds }, (_, index) => from + index),
    jobs,
    features: forced,
    mode,
    onResult: (result) => {
      done += 1;
      simulatedMs += result.simulatedMs;
      if (result.violations.length > 0) {
        failed.push(result.seed);
        console.log(formatFailure(result));
      }
      if (performance.now() - printedAt < progressMs) return;
      printedAt = performance.now();
      printProgress();
    },
  });
  printProgress();
  if (failed.length > 0) console.log(`failed: ${failed.join(", ")}`);
  return failed.length === 0;
}

try {
  const options = readOptions();
  const isGood = await (options.killsAtWrites
    ? killAtEveryWrite(options)
    : options.seed === undefined
      ? runMany(options)
      : replay(options.seed, options));
  if (!isGood) process.exitCode = 1;
} catch (error) {
  console.error(`simulate: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
