import { clusterAccessScenario } from "./cluster-access.ts";
import { startRealParts } from "./real-parts.ts";

clusterAccessScenario({ kind: "real", testMs: 240_000, waitMs: 90_000, startMs: 240_000, hasPolicies: true }, () =>
  startRealParts({ workloads: true }),
);
