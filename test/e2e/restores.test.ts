import { startEmbeddedParts } from "./embedded-parts.ts";
import { restoresScenario } from "./restores.ts";

// A restore whose revisions go back is seen up to a minute later: test/lib/controller/restores.test.ts has no real clock.
restoresScenario({ kind: "embedded", testMs: 240_000, waitMs: 60_000, startMs: 120_000 }, startEmbeddedParts, [
  "snapshots",
]);
