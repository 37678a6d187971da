import type { TenantRate } from "../queue/tenant-rate-limit.ts";

/** Says how many keys of each tenant may go now. */
export interface TenantLimit {
  /** As many may go at this moment; none when the tenant has to wait. */
  allowed(tenant: string, nowMs: number): number;
  /** Counts keys that have gone. */
  spend(tenant: string, keys: number, nowMs: number): void;
  /** How long it takes until one more may go. */
  readonly stepMs: number;
  forget(tenant: string): void;
}

/**
 * Creates a bucket of tokens for each tenant: it holds a burst, and a key takes one out of it.
 *
 * Of a tenant one number is kept: until when what it has sent is paid for by its rate. Whoever is paid up is forgotten.
 */
export function createTenantLimit(rate: TenantRate): TenantLimit {
  const stepMs = 1000 / rate.perSecond;
  const paidUntilMs = new Map<string, number>();
  return {
    stepMs,
    allowed: (tenant, nowMs) => allowedOf(rate, paidUntilMs.get(tenant), nowMs),
    spend: (tenant, keys, nowMs) => {
      const fromMs = nowMs + debtMs(rate, paidUntilMs.get(tenant), nowMs);
      paidUntilMs.set(tenant, fromMs + keys * stepMs);
    },
    forget: (tenant) => void paidUntilMs.delete(tenant),
  };
}

/** How many keys may go for a tenant whose keys so far are paid for until then; a tenant that never sent has its burst. */
export function allowedOf(rate: TenantRate, paidUntilMs: number | undefined, nowMs: number): number {
  const spent = (debtMs(rate, paidUntilMs, nowMs) * rate.perSecond) / 1000;
  // Sums of fractions of a millisecond must not cost a key.
  return Math.max(0, Math.floor(rate.burst - spent + 1e-6));
}

/** What is not paid for yet, an empty bucket at most: a clock that was set back must not hold a tenant for an hour. */
function debtMs({ perSecond, burst }: TenantRate, paidUntilMs: number | undefined, nowMs: number): number {
  return Math.min((burst * 1000) / perSecond, Math.max(0, (paidUntilMs ?? nowMs) - nowMs));
}
