import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkKey } from "../model/key.ts";

export type SpreadScheduleOptions = Readonly<{
  periodSeconds: number;
  clock: Clock;
  /** The current keys. */
  keys: () => Iterable<WorkKey>;
  /** Called with the keys that are due. */
  onDue: (keys: readonly WorkKey[]) => void;
}>;

/** Calls back for every key once per period, spread evenly. */
export interface SpreadSchedule {
  start(): void;
  stop(): void;
}

/** A period is divided into at most this many steps, none shorter than a second. */
const maxSteps = 60;
const minStepMs = 1_000;

/**
 * Creates a schedule that spreads the keys evenly over its period. The step of a key follows from its hash alone, so a key is
 * due at constant intervals, and neither a restart nor a thousand new keys change when the others are due.
 */
export function createSpreadSchedule({ periodSeconds, clock, keys, onDue }: SpreadScheduleOptions): SpreadSchedule {
  const periodMs = periodSeconds * 1000;
  // The wall clock may be set back, which would stop the schedule for that long.
  const elapsedMs = (): number => clock.monotonicMs();
  const steps = Math.max(1, Math.min(maxSteps, Math.floor(periodMs / minStepMs)));
  const stepMs = periodMs / steps;
  let cancel: (() => void) | undefined;
  let step = 0;

  const scheduleStep = (atMs: number): void => {
    cancel = clock.after(Math.max(0, atMs - elapsedMs()), () => {
      const current = step;
      step = (step + 1) % steps;
      // Relative to the due time, so that delays do not add up. After a suspend of the machine, missed steps are skipped.
      scheduleStep(elapsedMs() - atMs > periodMs ? elapsedMs() + stepMs : atMs + stepMs);
      const due: WorkKey[] = [];
      for (const key of keys()) if (spreadHash(key) % steps === current) due.push(key);
      if (due.length > 0) onDue(due);
    });
  };
  return {
    start: () => {
      if (cancel !== undefined) return;
      step = 0;
      scheduleStep(elapsedMs() + stepMs);
    },
    stop: () => {
      cancel?.();
      cancel = undefined;
    },
  };
}

/** A hash of a key that is well distributed and the same in every process: FNV-1a. */
export function spreadHash({ logicalCluster, kind, name }: WorkKey): number {
  const hash = fnv1a(name, fnv1a(kind, fnv1a(logicalCluster, 0x811c9dc5)));
  // Names that differ in one digit have similar low bits, but different high bits.
  return (hash ^ (hash >>> 16)) >>> 0;
}

function fnv1a(text: string, start: number): number {
  let hash = start;
  // A loop by index: this runs for every key at every step.
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}
