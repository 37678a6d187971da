import { startEmbeddedParts } from "./embedded-parts.ts";
import { tenantsScenario } from "./tenants.ts";

tenantsScenario({ kind: "embedded", testMs: 60_000, waitMs: 20_000, startMs: 60_000 }, startEmbeddedParts);
