import { defineConfig } from "vitest/config";
import { reporters } from "./test/reporters.ts";

/** What needs a real kcp or a real Kubernetes. Both run once for all files, which therefore go one after the other. */
export default defineConfig({
  test: {
    include: [
      "test/real/**/*.test.ts",
      "test/lib/**/*.real.test.ts",
      "packages/*/test/**/*.real.test.ts",
      "test/contract/**/*.real.test.ts",
      "test/e2e/**/*.real.test.ts",
      "test/docs/**/*.real.test.ts",
    ],
    globalSetup: ["test/real/global-setup.ts"],
    reporters: reporters(),
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
  },
});
