import { clusterAccessScenario } from "./cluster-access.ts";
import { startEmbeddedParts } from "./embedded-parts.ts";

// Embedded clusters enforce RBAC and no admission policies.
clusterAccessScenario(
  { kind: "embedded", testMs: 60_000, waitMs: 30_000, startMs: 60_000, hasPolicies: false },
  startEmbeddedParts,
);
