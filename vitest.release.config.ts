import { defineConfig } from "vitest/config";
import { reporters } from "./test/reporters.ts";

/** What is released: the npm packages, the image and the chart, as `npm run build` and `npm run build:packages` built them. */
export default defineConfig({
  test: {
    include: ["test/release/**/*.release.test.ts"],
    reporters: reporters(),
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
