import { describe } from "vitest";
import type { Parts, SuiteSettings } from "./environment.ts";
import { useProcessEnvironment } from "./process-environment.ts";
import { syncCases } from "./sync-cases.ts";
import { type SyncBench, syncBench } from "./sync-environment.ts";

/**
 * Holds sync to its promises: the real command between a kcp and clusters that run what they are given. `more` are cases that
 * are not for every world.
 */
export function syncScenario(
  setting: SuiteSettings,
  startParts: () => Promise<Parts>,
  more: (bench: SyncBench) => void = () => {},
): void {
  const { kind, testMs, waitMs } = setting;
  describe(`sync on ${kind} parts`, { timeout: testMs }, () => {
    const stage = useProcessEnvironment(setting, { startParts, flags: ["--resync-period=2s"] });
    const bench = syncBench(() => stage, waitMs);
    syncCases(bench);
    more(bench);
  });
}
