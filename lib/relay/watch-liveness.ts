import type { Clock } from "@tmc/kube/clock.ts";
import type { CheckState } from "../observe/health.ts";

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
