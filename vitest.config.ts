import { defineConfig } from "vitest/config";
import { reporters } from "./test/reporters.ts";

/** Everything that needs only Node. What needs real servers runs with vitest.real.config.ts. */
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/real/**", "test/**/*.real.test.ts"],
    reporters: reporters(),
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
