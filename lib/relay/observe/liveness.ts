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

/** A watch that works is opened again before that: its connection is stalled, and the relay sees nothing of it. */
const expectedSilenceMs = 6 * 60_000;

/** Records the last activity of each watch. Failures count as activity: an unreachable upstream is no reason for a restart. */
export interface WatchLiveness {
  recordActivity(watch: string): void;
  /** The watch, or the list before it, failed, and will be retried. */
  recordFailure(watch: string): void;
  /** Removes a watch that was stopped. */
  forget(watch: string): void;
  check(): CheckState;
  /** For how long the worst watch has failed, or has been silent although the server ends watches; 0 if every watch works. */
  blindSeconds(): number;
  /** The watches that fail. */
  failing(): readonly string[];
}

/** Creates the check for watches that start now. */
export function createWatchLiveness(clock: Clock, watches: readonly string[]): WatchLiveness {
  const lastActivityMs = new Map(watches.map((watch) => [watch, clock.monotonicMs()]));
  const failingSinceMs = new Map<string, number>();
  return {
    recordActivity: (watch) => {
      lastActivityMs.set(watch, clock.monotonicMs());
      failingSinceMs.delete(watch);
    },
    recordFailure: (watch) => {
      lastActivityMs.set(watch, clock.monotonicMs());
      failingSinceMs.set(watch, failingSinceMs.get(watch) ?? clock.monotonicMs());
    },
    forget: (watch) => {
      lastActivityMs.delete(watch);
      failingSinceMs.delete(watch);
    },
    blindSeconds: () => {
      const nowMs = clock.monotonicMs();
      const failing = [...failingSinceMs.values()];
      const silent = [...lastActivityMs.values()].filter((lastMs) => nowMs - lastMs > expectedSilenceMs);
      return [...failing, ...silent].reduce((longestMs, sinceMs) => Math.max(longestMs, nowMs - sinceMs), 0) / 1000;
    },
    failing: () => {
      const nowMs = clock.monotonicMs();
      const silent = [...lastActivityMs].filter(([, lastMs]) => nowMs - lastMs > expectedSilenceMs);
      return [...new Set([...failingSinceMs.keys(), ...silent.map(([watch]) => watch)])];
    },
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
