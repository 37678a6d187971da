import { startRealParts } from "./real-parts.ts";
import { syncScenario } from "./sync.ts";
import { syncAdmissionCases } from "./sync-admission-cases.ts";

syncScenario(
  { kind: "real", testMs: 240_000, waitMs: 90_000, startMs: 240_000 },
  () => startRealParts({ workloads: true }),
  syncAdmissionCases,
);
