import { customTypesScenario } from "./custom-types.ts";
import { startRealParts } from "./real-parts.ts";

// Foreground deletion ends when the cluster's garbage collector has processed the object.
customTypesScenario({ kind: "real", testMs: 240_000, waitMs: 90_000, startMs: 240_000 }, () =>
  startRealParts({ workloads: true }),
);
