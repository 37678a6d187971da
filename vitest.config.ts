import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/longest-first.ts";
import { reporters } from "./test/reporters.ts";

/** Everything that needs only Node. What needs real servers runs with vitest.real.config.ts, what needs AWS
 * with vitest.aws.config.ts, what is released with vitest.release.config.ts, and more of the simulation with vitest.simulation.config.ts. */
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "packages/*/test/**/*.test.ts"],
    exclude: [
      "test/real/**",
      "**/*.real.test.ts",
      "**/*.aws.test.ts",
      "**/*.simulation.test.ts",
      "**/*.release.test.ts",
    ],
    reporters: reporters(),
    // Every test makes what it needs and takes it away; a fresh process for each file would cost a fifth of the time.
    isolate: false,
    // One more than the two cores that a small machine has, for some mostly wait; a fourth makes it no faster.
    maxWorkers: 3,
    // Most of what the servers and the simulation allocate is garbage soon; a nursery that is large from the start collects it cheaply.
    execArgv: ["--max-semi-space-size=32", "--min-semi-space-size=32"],
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
