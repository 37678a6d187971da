import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkloadKey } from "../model/key.ts";

/**
 * Has all workloads of a rush made safe before the first of them is put anywhere.
 *
 * Copies make their clusters start pods, and those take from the machine, and from the hub that shares it, what the writes for the
 * others need: three hundred at once were all there after 12 s instead of 17 when the hub came first, with nothing else changed. One that comes alone waits for nothing.
 */
export interface BurstGate {
  /**
   * Says for how many seconds a workload need not be looked at: it is safe and waits for the others to be, or its copies were written in
   * this rush, and those of others still wait. Undefined when it is to be looked at now.
   */
  restSeconds(key: WorkloadKey): number | undefined;
  /** Says for how many more seconds the copies of a workload wait; undefined when they are to be written now. */
  waitSeconds(key: WorkloadKey, look: Readonly<{ isMadeSafe: boolean }>): number | undefined;
  /** It has gone, and waits for nothing. */
  forget(key: WorkloadKey): void;
}

export type BurstGateOptions = Readonly<{
  clock: Clock;
  /** Whether many keys are worked on or wait. */
  isBusy: () => boolean;
}>;

/** A rush is over when for so long nothing was made safe while much else waited. */
const calmMs = 150;
/** So long a copy waits at most: a rush without end is no rush, but how things are. */
const mostMs = 3_000;
/** How soon one that has been written asks again whether others still wait. */
const restMs = 500;
/** As many as wait at once; others are put where they belong. */
const mostWaiting = 10_000;

/** Creates the watch over rushes. What it remembers is only in this process: one that dies has everything written at once. */
export function createBurstGate({ clock, isBusy }: BurstGateOptions): BurstGate {
  /** When each workload that waits was made safe. */
  const waiting = new Map<string, number>();
  /** When the copies of each that has waited were written. */
  const written = new Map<string, number>();
  let rushedMs = Number.NEGATIVE_INFINITY;
  const idOf = ({ logicalCluster, name }: WorkloadKey): string => `${logicalCluster}|${name}`;
  /** For how long a workload waits yet; 0 for one that does not. */
  const waitMs = (id: string, nowMs: number): number => {
    const sinceMs = waiting.get(id);
    return sinceMs === undefined ? 0 : Math.max(0, Math.min(rushedMs + calmMs, sinceMs + mostMs) - nowMs);
  };
  return {
    restSeconds: (key) => {
      const id = idOf(key);
      const nowMs = clock.now();
      const leftMs = waitMs(id, nowMs);
      if (leftMs > 0) return leftMs / 1000;
      const writtenMs = written.get(id);
      if (writtenMs === undefined) return undefined;
      if (waiting.size > 0 && nowMs < Math.min(writtenMs, rushedMs + calmMs) + mostMs) return restMs / 1000;
      written.delete(id);
      return undefined;
    },
    forget: (key) => {
      waiting.delete(idOf(key));
      written.delete(idOf(key));
    },
    waitSeconds: (key, { isMadeSafe }) => {
      const id = idOf(key);
      const nowMs = clock.now();
      if (isMadeSafe) {
        if (isBusy()) rushedMs = nowMs;
        if (waiting.size < mostWaiting && !waiting.has(id)) waiting.set(id, nowMs);
      }
      const leftMs = waitMs(id, nowMs);
      if (leftMs > 0) return leftMs / 1000;
      const sinceMs = waiting.get(id);
      if (sinceMs !== undefined && sinceMs !== nowMs) written.set(id, nowMs);
      waiting.delete(id);
      return undefined;
    },
  };
}
