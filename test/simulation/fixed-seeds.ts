import { runSeeds } from "./jobs.ts";
import { formatFailure } from "./report.ts";

/**
 * Seeds that violate a law, and what they show: each is a bug report about the product or about the law. They are not run until
 * that is mended. A change that mends one removes it here.
 */
export const redSeeds: ReadonlyMap<number, string> = new Map([]);

/** What the runs of fixed seeds came to. */
export type FixedSeeds = Readonly<{
  /** The failures, as text; empty if all laws hold. */
  failures: string;
  /** Digest of everything that happened in the run of a seed. */
  digests: ReadonlyMap<number, string>;
}>;

/** Runs the seeds from `first` to `last`, which are the same each time: an unrelated change is not held up by a fresh one. */
export async function runFixedSeeds({ first, last }: Readonly<{ first: number; last: number }>): Promise<FixedSeeds> {
  const failures: string[] = [];
  const digests = new Map<number, string>();
  await runSeeds({
    seeds: greenSeeds({ first, last }),
    jobs: 2,
    onResult: (result) => {
      digests.set(result.seed, result.digest);
      if (result.violations.length > 0) failures.push(formatFailure(result));
    },
  });
  return { failures: failures.join("\n\n"), digests };
}

/** The seeds in a range that are not known to be red. */
export function greenSeeds({ first, last }: Readonly<{ first: number; last: number }>): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index).filter((seed) => !redSeeds.has(seed));
}

/** The last seed that `npm test` runs; `npm run test:simulation` continues there. */
export const lastSeedOfNpmTest = 10;
/** The last fixed seed; `npm run simulate` runs fresh ones. */
export const fixedSeedsInCi = 80;
