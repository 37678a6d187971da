import type { Clock } from "@tmc/kube/clock.ts";

/** Limits the share of the process's CPU time that one tenant uses while other tenants have work too. */
export interface CpuShare {
  /** Milliseconds until the next key of a tenant may be started; 0 for now. */
  waitMs(tenant: string): number;
  /** A key of a tenant has been started. */
  started(tenant: string): void;
}

export type CpuShareOptions = Readonly<{
  clock: Pick<Clock, "monotonicMs">;
  /** How long the process has been busy so far. */
  busyMs: () => number;
  /** The share of each tenant, from 0 to 1. */
  share: number;
}>;

/** A tenant without a started key for this long does not compete. */
const contentionMs = 1_000;
/** A tenant may save up its share of this much time. */
const burstMs = 1_000;
/** How often the cost of a key is measured. */
const costIntervalMs = 50;
/** Assumed cost of a key before the first measurement. */
const initialCostMs = 0.5;
/** Upper bound of a wait. */
const maxWaitMs = 1_000;

/** CPU time that a tenant may still use; negative after a key that cost more than was left. */
type Budget = { remainingMs: number; refilledMs: number };

/**
 * Creates the CPU shares of the tenants of one process.
 *
 * The cost of a key is the busy time since the last measurement divided by the keys started since then. Keys without
 * work therefore cost little, keys with writes cost more, and so does a flood of changes that ends in few keys. A tenant
 * without competition is not limited.
 */
export function createCpuShare({ clock, busyMs, share }: CpuShareOptions): CpuShare {
  const budgets = new Map<string, Budget>();
  const maxBudgetMs = burstMs * share;
  let costMs = initialCostMs;
  let measurement = { atMs: clock.monotonicMs(), busyMs: busyMs(), started: 0 };
  /** The last two different tenants with a started key. At least one of them is not the tenant that asks. */
  let last: Readonly<{ tenant: string; atMs: number }> | undefined;
  let previous: Readonly<{ tenant: string; atMs: number }> | undefined;

  const isContended = (tenant: string, nowMs: number): boolean => {
    const other = last?.tenant === tenant ? previous : last;
    return other !== undefined && nowMs - other.atMs < contentionMs;
  };
  const refilledBudget = (tenant: string, nowMs: number): Budget => {
    const budget = budgets.get(tenant) ?? { remainingMs: maxBudgetMs, refilledMs: nowMs };
    budgets.set(tenant, budget);
    budget.remainingMs = Math.min(maxBudgetMs, budget.remainingMs + Math.max(0, nowMs - budget.refilledMs) * share);
    budget.refilledMs = nowMs;
    return budget;
  };
  const updateCost = (nowMs: number): void => {
    measurement.started += 1;
    if (nowMs - measurement.atMs < costIntervalMs) return;
    const spentMs = Math.max(0, busyMs() - measurement.busyMs);
    costMs = (costMs + spentMs / measurement.started) / 2;
    measurement = { atMs: nowMs, busyMs: busyMs(), started: 0 };
    // A full budget is the initial one and need not be kept.
    for (const tenant of [...budgets.keys()])
      if (refilledBudget(tenant, nowMs).remainingMs >= maxBudgetMs) budgets.delete(tenant);
  };

  return {
    waitMs: (tenant) => {
      const nowMs = clock.monotonicMs();
      if (!isContended(tenant, nowMs)) return 0;
      const { remainingMs } = refilledBudget(tenant, nowMs);
      return remainingMs > 0 ? 0 : Math.min(maxWaitMs, Math.max(1, Math.ceil(-remainingMs / share)));
    },
    started: (tenant) => {
      const nowMs = clock.monotonicMs();
      if (isContended(tenant, nowMs)) refilledBudget(tenant, nowMs).remainingMs -= costMs;
      if (last?.tenant !== tenant) previous = last;
      last = { tenant, atMs: nowMs };
      updateCost(nowMs);
    },
  };
}
