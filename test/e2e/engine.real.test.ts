import { engineScenario } from "./engine.ts";
import { startRealParts } from "./real-parts.ts";

engineScenario({ kind: "real", testMs: 240_000, waitMs: 90_000, startMs: 180_000 }, startRealParts);
