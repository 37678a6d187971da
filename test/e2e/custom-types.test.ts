import { customTypesScenario } from "./custom-types.ts";
import { startEmbeddedParts } from "./embedded-parts.ts";

customTypesScenario({ kind: "embedded", testMs: 60_000, waitMs: 30_000, startMs: 60_000 }, startEmbeddedParts);
