import type { Clock } from "@tmc/kube/clock.ts";
import type { CheckState } from "../observe/health.ts";

const tickMs = 1_000;
/** A process that comes to its timers this late has no time for its watches either. */
const longestLagMs = 5_000;

/** Watches how late the process comes to its timers. */
export interface LoopLag {
  look(): CheckState;
  stop(): void;
}

/** Starts watching. */
export function startLoopLag(clock: Clock): LoopLag {
  let dueMs = clock.now() + tickMs;
  let lastLagMs = 0;
  let cancel = (): void => {};
  const tick = (): void => {
    lastLagMs = Math.max(0, clock.now() - dueMs);
    dueMs = clock.now() + tickMs;
    cancel = clock.after(tickMs, tick);
  };
  cancel = clock.after(tickMs, tick);
  return {
    look: () => {
      const lagMs = Math.max(lastLagMs, clock.now() - dueMs);
      return { ok: lagMs <= longestLagMs, detail: lagMs <= longestLagMs ? "" : `timers come ${lagMs} ms late` };
    },
    stop: () => cancel(),
  };
}
