import type { Clock } from "@tmc/kube/clock.ts";

/** How much of the process one tenant takes while others have something to do as well. */
export interface CrowdShare {
  /** In how many milliseconds the next key of a tenant may be begun; 0 for now. */
  restMs(tenant: string): number;
  /** A key of a tenant is begun. */
  begun(tenant: string): void;
}

export type CrowdShareOptions = Readonly<{
  clock: Pick<Clock, "now">;
  /** How long the process has been busy so far, in milliseconds. */
  busyMs: () => number;
  /** The part of the process's time that each tenant has, from 0 to 1. */
  share: number;
}>;

/** Whoever had nothing to do for so long has no part in the crowd. */
const crowdMs = 1_000;
/** What a tenant may save up: the share of so long a time. */
const savedMs = 1_000;
/** What a key costs is reckoned anew this often. */
const reckonMs = 50;
/** Until anything is known. */
const firstCostMs = 0.5;
/** Whatever was reckoned, nobody waits longer for one key. */
const longestRestMs = 1_000;

/** What a tenant has left of its share, in milliseconds of the process. */
type Purse = { leftMs: number; filledMs: number };

/**
 * Creates the shares of tenants in a process whose time is theirs together.
 *
 * A key costs what the process was busy for since the last reckoning, divided by the keys that were begun: what finds nothing to do
 * is cheap, what writes is dear, and so is a flood of changes that end in few keys. Who is alone has everything.
 */
export function createCrowdShare({ clock, busyMs, share }: CrowdShareOptions): CrowdShare {
  const purses = new Map<string, Purse>();
  const mostMs = savedMs * share;
  let costMs = firstCostMs;
  let reckoned = { atMs: clock.now(), busyMs: busyMs(), begun: 0 };
  /** Who had a key begun last, and who before that: one of the two is another than whoever asks. */
  let last: Readonly<{ tenant: string; atMs: number }> | undefined;
  let before: Readonly<{ tenant: string; atMs: number }> | undefined;

  const isCrowded = (tenant: string, nowMs: number): boolean => {
    const other = last?.tenant === tenant ? before : last;
    return other !== undefined && nowMs - other.atMs < crowdMs;
  };
  const purseOf = (tenant: string, nowMs: number): Purse => {
    const purse = purses.get(tenant) ?? { leftMs: mostMs, filledMs: nowMs };
    purses.set(tenant, purse);
    purse.leftMs = Math.min(mostMs, purse.leftMs + Math.max(0, nowMs - purse.filledMs) * share);
    purse.filledMs = nowMs;
    return purse;
  };
  const reckon = (nowMs: number): void => {
    reckoned.begun += 1;
    if (nowMs - reckoned.atMs < reckonMs) return;
    const spentMs = Math.max(0, busyMs() - reckoned.busyMs);
    costMs = (costMs + spentMs / reckoned.begun) / 2;
    reckoned = { atMs: nowMs, busyMs: busyMs(), begun: 0 };
    // Whoever has all of its share need not be remembered.
    for (const tenant of [...purses.keys()]) if (purseOf(tenant, nowMs).leftMs >= mostMs) purses.delete(tenant);
  };

  return {
    restMs: (tenant) => {
      const nowMs = clock.now();
      if (!isCrowded(tenant, nowMs)) return 0;
      const { leftMs } = purseOf(tenant, nowMs);
      return leftMs > 0 ? 0 : Math.min(longestRestMs, Math.max(1, Math.ceil(-leftMs / share)));
    },
    begun: (tenant) => {
      const nowMs = clock.now();
      if (isCrowded(tenant, nowMs)) purseOf(tenant, nowMs).leftMs -= costMs;
      if (last?.tenant !== tenant) before = last;
      last = { tenant, atMs: nowMs };
      reckon(nowMs);
    },
  };
}
