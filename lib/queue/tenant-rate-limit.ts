/** How fast the keys of one tenant may go: so many a second, and so many at once after a rest. */
export type TenantRate = Readonly<{ perSecond: number; burst: number }>;

/**
 * What a tenant may send to a queue that knows of no tenants, unless the operator says otherwise: an eighth of the 800 keys
 * a second that functions take at their usual concurrency (20 batches of 10 keys, a quarter of a second each).
 */
export const defaultTenantEventsPerSecond = 100;

/** Beyond this a limit is none: no hub tells so many changes. */
export const mostTenantEventsPerSecond = 100_000;

/** A burst stands in everybody's way for as long as it takes to work off, so it is a quarter of a second's share. */
const burstSeconds = 0.25;

/**
 * The rate that an operator has set, undefined for none.
 *
 * @param perSecond 0 for no limit
 * @param isShared whether there can be more than one tenant: whoever is alone holds up nobody
 */
export function tenantRateOf({
  perSecond,
  isShared,
}: Readonly<{ perSecond: number; isShared: boolean }>): TenantRate | undefined {
  if (perSecond <= 0 || !isShared) return undefined;
  return { perSecond, burst: Math.max(1, Math.ceil(perSecond * burstSeconds)) };
}

/** Whether what is looked after can have more than one tenant. */
export function isSharedByTenants({
  workspaces,
  apiExport,
}: Readonly<{ workspaces?: readonly string[] | undefined; apiExport?: unknown }>): boolean {
  return apiExport !== undefined || (workspaces?.length ?? 0) > 1;
}
