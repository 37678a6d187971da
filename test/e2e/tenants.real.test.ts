import { startRealParts } from "./real-parts.ts";
import { tenantsScenario } from "./tenants.ts";

tenantsScenario({ kind: "real", testMs: 240_000, waitMs: 90_000, startMs: 240_000 }, startRealParts);
