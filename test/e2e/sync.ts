import { describe } from "vitest";
import { useProcessStage } from "./process-stage.ts";
import type { Setting } from "./stage.ts";
import { type SyncBench, syncBench } from "./sync-bench.ts";
import { syncCases } from "./sync-cases.ts";
import type { Parts } from "./world.ts";

/**
 * Holds sync to its promises: the real command between a kcp and clusters that run what they are given. `more` are cases that
 * are not for every world.
 */
export function syncScenario(
  setting: Setting,
  startParts: () => Promise<Parts>,
  more: (bench: SyncBench) => void = () => {},
): void {
  const { kind, testMs, waitMs } = setting;
  describe(`sync on ${kind} parts`, { timeout: testMs }, () => {
    const stage = useProcessStage(setting, { startParts, flags: ["--resync-period=2s"] });
    const bench = syncBench(() => stage, waitMs);
    syncCases(bench);
    more(bench);
  });
}
