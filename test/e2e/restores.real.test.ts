import { startRealParts } from "./real-parts.ts";
import { restoresScenario } from "./restores.ts";

restoresScenario({ kind: "real", testMs: 240_000, waitMs: 100_000, startMs: 240_000 }, () =>
  startRealParts({ workloads: true }),
);
