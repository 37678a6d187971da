import { startRealParts } from "./real-parts.ts";
import { upsyncScenario } from "./upsync.ts";

// Without its own garbage collector a cluster never finishes the removal of a copy.
upsyncScenario({ kind: "real", testMs: 240_000, waitMs: 90_000, startMs: 180_000 }, () =>
  startRealParts({ workloads: true }),
);
