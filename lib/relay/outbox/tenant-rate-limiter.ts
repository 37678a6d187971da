import type { TenantRate } from "../../queue/tenant-rate-limit.ts";

/** Limits how many keys of each tenant are sent per second. */
export interface TenantRateLimiter {
  /** How many keys of a tenant may be sent now; 0 if the tenant has to wait. */
  allowed(tenant: string, nowMs: number): number;
  /** Counts keys that were sent. */
  spend(tenant: string, keys: number, nowMs: number): void;
  /** The time after which one more key may be sent. */
  readonly msPerKey: number;
  forget(tenant: string): void;
}

/**
 * Creates a token bucket per tenant: the bucket holds a burst, and each key takes one token.
 *
 * The state of a tenant is one number: the time at which its bucket is full again.
 */
export function createTenantRateLimiter(rate: TenantRate): TenantRateLimiter {
  const msPerKey = 1000 / rate.perSecond;
  const fullAtMs = new Map<string, number>();
  return {
    msPerKey,
    allowed: (tenant, nowMs) => allowedOf(rate, fullAtMs.get(tenant), nowMs),
    spend: (tenant, keys, nowMs) => {
      const fromMs = nowMs + refillMs(rate, fullAtMs.get(tenant), nowMs);
      fullAtMs.set(tenant, fromMs + keys * msPerKey);
    },
    forget: (tenant) => void fullAtMs.delete(tenant),
  };
}

/** How many keys a tenant may send whose bucket is full again at `fullAtMs`; undefined for a tenant that has sent none. */
export function allowedOf(rate: TenantRate, fullAtMs: number | undefined, nowMs: number): number {
  const spent = (refillMs(rate, fullAtMs, nowMs) * rate.perSecond) / 1000;
  // Rounding errors of fractions of a millisecond must not cost a key.
  return Math.max(0, Math.floor(rate.burst - spent + 1e-6));
}

/** The time until the bucket is full, at most that of an empty bucket: a clock that was set back must not block a tenant for an hour. */
function refillMs({ perSecond, burst }: TenantRate, fullAtMs: number | undefined, nowMs: number): number {
  return Math.min((burst * 1000) / perSecond, Math.max(0, (fullAtMs ?? nowMs) - nowMs));
}
