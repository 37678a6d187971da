import type { Clock } from "@tmc/kube/clock.ts";
import type { CheckState } from "../../observe/health.ts";

const tickMs = 1_000;
/** If timers fire this late, the event loop is too busy to process watches either. */
const maxLagMs = 5_000;

/** Measures how late timers fire. */
export interface LoopLag {
  check(): CheckState;
  stop(): void;
}

/** Starts to measure, with a timer every second. */
export function startLoopLag(clock: Clock): LoopLag {
  let dueMs = clock.monotonicMs() + tickMs;
  let lastLagMs = 0;
  let cancel = (): void => {};
  const tick = (): void => {
    lastLagMs = Math.max(0, clock.monotonicMs() - dueMs);
    dueMs = clock.monotonicMs() + tickMs;
    cancel = clock.after(tickMs, tick);
  };
  cancel = clock.after(tickMs, tick);
  return {
    check: () => {
      const lagMs = Math.max(lastLagMs, clock.monotonicMs() - dueMs);
      return { ok: lagMs <= maxLagMs, detail: lagMs <= maxLagMs ? "" : `timers fire ${lagMs} ms late` };
    },
    stop: () => cancel(),
  };
}

/**
 * The server ends a watch within five minutes, and a backoff takes at most one. A watch that has reported neither an event nor
 * a failure for twice that time hangs.
 */
const maxSilenceMs = 12 * 60_000;

/** Records the last activity of each watch. Failures count as activity: an unreachable upstream is no reason for a restart. */
export interface WatchLiveness {
  recordActivity(watch: string): void;
  /** Removes a watch that was stopped. */
  forget(watch: string): void;
  check(): CheckState;
}

/** Creates the check for watches that start now. */
export function createWatchLiveness(clock: Clock, watches: readonly string[]): WatchLiveness {
  const lastActivityMs = new Map(watches.map((watch) => [watch, clock.monotonicMs()]));
  return {
    recordActivity: (watch) => void lastActivityMs.set(watch, clock.monotonicMs()),
    forget: (watch) => void lastActivityMs.delete(watch),
    check: () => {
      const silent = [...lastActivityMs]
        .filter(([, ms]) => clock.monotonicMs() - ms > maxSilenceMs)
        .map(([watch]) => watch);
      const minutes = maxSilenceMs / 60_000;
      return {
        ok: silent.length === 0,
        detail: silent.map((watch) => `${watch}: silent for ${minutes} minutes`).join("; "),
      };
    },
  };
}
