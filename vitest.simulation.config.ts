import { defineConfig } from "vitest/config";
import { reporters } from "./test/reporters.ts";

/** The fixed seeds of the simulation that take too long for `npm test`. */
export default defineConfig({
  test: {
    include: ["test/simulation/**/*.simulation.test.ts"],
    reporters: reporters(),
    fileParallelism: false,
  },
});
