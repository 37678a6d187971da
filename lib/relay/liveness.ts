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

/**
 * A watch is ended by the server within five minutes and a pause takes at most one; whoever has said nothing for twice that,
 * neither news nor trouble, hangs.
 */
const longestSilenceMs = 12 * 60_000;

/** Notes when each watch was last heard of. A hub that is away is no reason to be restarted: trouble is a sign of life too. */
export interface WatchPulse {
  beat(watch: string): void;
  /** It is not expected to be heard of any more. */
  forget(watch: string): void;
  look(): CheckState;
}

/** Creates a pulse for watches that begin now. */
export function createWatchPulse(clock: Clock, watches: readonly string[]): WatchPulse {
  const heardMs = new Map(watches.map((watch) => [watch, clock.now()]));
  return {
    beat: (watch) => void heardMs.set(watch, clock.now()),
    forget: (watch) => void heardMs.delete(watch),
    look: () => {
      const silent = [...heardMs].filter(([, ms]) => clock.now() - ms > longestSilenceMs).map(([watch]) => watch);
      const minutes = longestSilenceMs / 60_000;
      return {
        ok: silent.length === 0,
        detail: silent.map((watch) => `${watch}: silent for ${minutes} minutes`).join("; "),
      };
    },
  };
}
