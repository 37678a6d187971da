import { defineConfig } from "vitest/config";
import { reporters } from "./test/reporters.ts";

/** What needs an endpoint that stands for AWS. One runs for all files, which therefore go one after the other. */
export default defineConfig({
  test: {
    include: ["test/aws/**/*.aws.test.ts"],
    globalSetup: ["test/aws/global-setup.ts"],
    reporters: reporters(),
    // Each file in a process of its own, which trusts the endpoint's certificate from its start.
    pool: "forks",
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 300_000,
    teardownTimeout: 30_000,
  },
});
