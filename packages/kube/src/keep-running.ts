import type { Clock } from "./clock.ts";
import { delay } from "./deadline.ts";

export type KeepRunningOptions = Readonly<{
  clock: Clock;
  signal: AbortSignal;
  /** Hears of what nobody foresaw; what may happen to a watch, the watch handles itself. */
  onFailure(error: unknown, retryInMs: number): void;
}>;

const pauseMs = 10_000;

/** Runs a loop until the signal ends it. One that fails for a reason that nobody foresaw is started again after a pause. */
export async function keepRunning(
  loop: () => Promise<void>,
  { clock, signal, onFailure }: KeepRunningOptions,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await loop();
    } catch (error) {
      if (signal.aborted) return;
      onFailure(error, pauseMs);
      await delay(clock, pauseMs, signal);
    }
  }
}
