import { startEmbeddedParts } from "./embedded-parts.ts";
import { engineScenario } from "./engine.ts";

engineScenario({ kind: "embedded", testMs: 60_000, waitMs: 20_000, startMs: 30_000 }, startEmbeddedParts);
