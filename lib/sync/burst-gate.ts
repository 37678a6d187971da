import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkloadKey } from "../model/key.ts";

/**
 * In a burst of new workloads, delays all copies until every workload is protected upstream (finalizer and sync record).
 *
 * Copies make clusters start pods, which take CPU from the machine, and from a control plane that shares it, while the writes
 * for the other workloads are still pending. Measured: 300 workloads at once were on their clusters after 12 s instead of
 * 17 s with the upstream writes first and nothing else changed. A workload that comes alone is not delayed.
 */
export interface BurstGate {
  /**
   * For how many seconds a workload need not be reconciled: it is protected and waits for the others, or its copies were
   * written in this burst while others still wait. Undefined when it is to be reconciled now.
   */
  reconcileDelaySeconds(key: WorkloadKey): number | undefined;
  /** For how many more seconds the copies of a workload wait; undefined when they are to be written now. */
  writeDelaySeconds(key: WorkloadKey, options: Readonly<{ isNewlyProtected: boolean }>): number | undefined;
  /** Drops a workload that no longer exists. */
  forget(key: WorkloadKey): void;
}

export type BurstGateOptions = Readonly<{
  clock: Clock;
  /** Whether many keys are in work or queued. */
  isBusy: () => boolean;
}>;

/** A burst is over when no workload was newly protected for this long while the queue was busy. */
const quietMs = 150;
/** The longest delay of a copy: a burst that never ends is steady load. */
const maxDelayMs = 3_000;
/** How soon a workload whose copies were written asks again whether others still wait. */
const recheckMs = 500;
/** Bound of the waiting workloads; the copies of further ones are written at once. */
const maxWaiting = 10_000;

/** Creates the gate. Its state is in memory only: after a restart all copies are written at once. */
export function createBurstGate({ clock, isBusy }: BurstGateOptions): BurstGate {
  /** Time at which each waiting workload was protected. */
  const waiting = new Map<string, number>();
  /** Time at which the copies of each workload that had waited were written. */
  const written = new Map<string, number>();
  let lastBurstMs = Number.NEGATIVE_INFINITY;
  const idOf = ({ logicalCluster, name }: WorkloadKey): string => `${logicalCluster}|${name}`;
  /** How long a workload still waits; 0 for one that does not. */
  const remainingMs = (id: string, nowMs: number): number => {
    const sinceMs = waiting.get(id);
    return sinceMs === undefined ? 0 : Math.max(0, Math.min(lastBurstMs + quietMs, sinceMs + maxDelayMs) - nowMs);
  };
  return {
    reconcileDelaySeconds: (key) => {
      const id = idOf(key);
      const nowMs = clock.monotonicMs();
      const delayMs = remainingMs(id, nowMs);
      if (delayMs > 0) return delayMs / 1000;
      const writtenMs = written.get(id);
      if (writtenMs === undefined) return undefined;
      if (waiting.size > 0 && nowMs < Math.min(writtenMs, lastBurstMs + quietMs) + maxDelayMs) return recheckMs / 1000;
      written.delete(id);
      return undefined;
    },
    forget: (key) => {
      waiting.delete(idOf(key));
      written.delete(idOf(key));
    },
    writeDelaySeconds: (key, { isNewlyProtected }) => {
      const id = idOf(key);
      const nowMs = clock.monotonicMs();
      if (isNewlyProtected) {
        if (isBusy()) lastBurstMs = nowMs;
        if (waiting.size < maxWaiting && !waiting.has(id)) waiting.set(id, nowMs);
      }
      const delayMs = remainingMs(id, nowMs);
      if (delayMs > 0) return delayMs / 1000;
      const sinceMs = waiting.get(id);
      if (sinceMs !== undefined && sinceMs !== nowMs) written.set(id, nowMs);
      waiting.delete(id);
      return undefined;
    },
  };
}
