import { customTypesScenario } from "./custom-types.ts";
import { startRealParts } from "./real-parts.ts";

// What is deleted in the foreground goes when the cluster's own garbage collector has looked at it.
customTypesScenario({ kind: "real", testMs: 240_000, waitMs: 90_000, startMs: 240_000 }, () =>
  startRealParts({ workloads: true }),
);
