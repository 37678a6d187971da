import { type EmbeddedParts, startEmbeddedParts } from "./embedded-parts.ts";
import { syncScenario } from "./sync.ts";
import { syncStartCases } from "./sync-start-cases.ts";

let parts: EmbeddedParts | undefined;

syncScenario(
  { kind: "embedded", testMs: 60_000, waitMs: 20_000, startMs: 30_000 },
  async () => {
    parts = await startEmbeddedParts();
    return parts;
  },
  (bench) =>
    syncStartCases(bench, () => {
      if (parts === undefined) throw new Error("the parts have not started");
      return parts.kcpFaults;
    }),
);
