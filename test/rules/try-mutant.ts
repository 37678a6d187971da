import { join } from "node:path";
import { runSeeds } from "../simulation/jobs.ts";
import { formatFailureToRun, invisibilityOf, judgeSeed, type MutantOutcome, type MutantReport } from "./mutant.ts";
import type { Rule } from "./rule.ts";
import type { Workshop } from "./workshop.ts";

export type MutantOptions = Readonly<{
  seeds: readonly number[];
  /** Processes at once, for one rule. */
  jobs: number;
  features: readonly string[];
  signal: AbortSignal;
}>;

/** No seed takes a tenth of this on a busy machine. Without a rule, a run may not come to an end. */
const longestSeedMs = 10 * 60_000;

/** Takes out a rule, and runs seeds until one violates a law. */
export async function tryMutant(workshop: Workshop, rule: Rule, options: MutantOptions): Promise<MutantReport> {
  const why = invisibilityOf(rule);
  if (why !== undefined) return { rule, outcome: { kind: "not visible", why }, seconds: 0 };
  const startedMs = performance.now();
  const outcome = await workshop.without(rule.removals, () => runUntilNoticed(workshop, options));
  return { rule, outcome, seconds: (performance.now() - startedMs) / 1000 };
}

async function runUntilNoticed(workshop: Workshop, options: MutantOptions): Promise<MutantOutcome> {
  const { seeds, signal } = options;
  let done = 0;
  let outcome: MutantOutcome | undefined;
  function* seedsLeft(): Generator<number> {
    for (const seed of seeds) {
      if (outcome !== undefined) return;
      yield seed;
    }
  }
  const late = new AbortController();
  const expire = (): void => late.abort(new Error(`a seed did not end within ${longestSeedMs / 60_000} minutes`));
  let timer = setTimeout(expire, longestSeedMs);
  try {
    await runSeeds({
      ...placeOf(workshop, options),
      seeds: seedsLeft(),
      signal: AbortSignal.any([signal, late.signal]),
      onResult: (result) => {
        clearTimeout(timer);
        timer = setTimeout(expire, longestSeedMs);
        done += 1;
        outcome ??= judgeSeed(result, done);
      },
    });
  } catch (error) {
    signal.throwIfAborted();
    outcome ??= { kind: "unclear", seeds: done, why: formatFailureToRun(error) };
  } finally {
    clearTimeout(timer);
  }
  return outcome ?? { kind: "not noticed", seeds: done };
}

/** The seeds that violate a law with every rule in its place. They say nothing about a rule. */
export async function findRedSeeds(
  workshop: Workshop,
  options: MutantOptions & Readonly<{ onSeed: (done: number) => void }>,
): Promise<readonly number[]> {
  const red: number[] = [];
  let done = 0;
  await runSeeds({
    ...placeOf(workshop, options),
    seeds: options.seeds,
    signal: options.signal,
    onResult: ({ seed, violations }) => {
      done += 1;
      if (violations.length > 0) red.push(seed);
      options.onSeed(done);
    },
  });
  return red.toSorted((one, other) => one - other);
}

const placeOf = ({ folder }: Workshop, { jobs, features }: MutantOptions) => ({
  root: folder,
  compileCache: join(folder, ".compile-cache"),
  jobs,
  features,
});
