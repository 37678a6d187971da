/** Rate limit of one tenant's keys: a token bucket of `burst` keys, refilled `perSecond`. */
export type TenantRate = Readonly<{ perSecond: number; burst: number }>;

/**
 * Default limit of keys that one tenant sends to a queue without fair shares, such as SQS. It is an eighth of the 800 keys per
 * second that functions process at the default concurrency: 20 batches of 10 keys, a quarter of a second each.
 */
export const defaultTenantEventsPerSecond = 100;

/** Upper bound of the setting: no upstream has this many changes per second. */
export const maxTenantEventsPerSecond = 100_000;

/** Other tenants wait for as long as a burst takes to process, so it is limited to a quarter of a second's share. */
const burstSeconds = 0.25;

/**
 * Returns the rate limit for a setting; undefined for no limit.
 *
 * @param perSecond 0 for no limit
 * @param isShared whether there can be more than one tenant; a single tenant is not limited
 */
export function tenantRateOf({
  perSecond,
  isShared,
}: Readonly<{ perSecond: number; isShared: boolean }>): TenantRate | undefined {
  if (perSecond <= 0 || !isShared) return undefined;
  return { perSecond, burst: Math.max(1, Math.ceil(perSecond * burstSeconds)) };
}

/** Whether these workspaces, or this export, can have more than one tenant. */
export function isMultiTenant({
  workspaces,
  apiExport,
}: Readonly<{ workspaces?: readonly string[] | undefined; apiExport?: unknown }>): boolean {
  return apiExport !== undefined || (workspaces?.length ?? 0) > 1;
}
