import { defaultRegistrationSettings, type RegistrationSettings } from "../registration/settings.ts";
import type { SyncSettings } from "../sync/settings.ts";

/** How a controller works, whatever it works on. */
export type ControllerSettings = Readonly<{
  /** Every object is reconciled at least this often. */
  resyncSeconds: number;
  /** Keys that are worked on at once; on a queue in memory, besides workloads. */
  workers: number;
  /** Workloads that are worked on at once, on a queue in memory. They mostly wait for clusters. */
  syncWorkers: number;
  /**
   * Keys of one tenant that are worked on at once by a queue in memory, so that one whose reconciles are slow leaves workers
   * for others. @default half of the workers where there can be several tenants, otherwise all
   */
  tenantConcurrency?: number | undefined;
  /** The part of the process's time that each tenant has while others have something to do too; 1 for all of it. */
  tenantShare: number;
  /** How many keys of one tenant leave the relay in a second, where there can be several tenants; 0 for any number. */
  tenantEventsPerSecond: number;
  /** Whether workloads are looked after as well. */
  sync: boolean;
  /** How workloads are put on clusters. */
  syncSettings: Partial<SyncSettings>;
  /** Every cluster is probed about this often. */
  heartbeatSeconds: number;
  /** `lastHeartbeat` of an idle cluster is written at most this often. */
  heartbeatWriteSeconds: number;
  /** A reconcile that takes longer is cut off and tried again. */
  reconcileSeconds: number;
  /** How long what is under way may take at the end. */
  drainSeconds: number;
  /** Everything is listed again this often, so that a watch that missed something heals. */
  relistSeconds: number;
  /** Lets tenants name servers in private networks and on this machine. */
  allowPrivateEndpoints: boolean;
  /** How closely clusters are watched; the two times above take the place of those in it. */
  registration: RegistrationSettings;
}>;

export const defaultControllerSettings: ControllerSettings = {
  resyncSeconds: 30,
  workers: 5,
  syncWorkers: 32,
  tenantShare: 0.1,
  tenantEventsPerSecond: 0,
  sync: true,
  syncSettings: {},
  heartbeatSeconds: defaultRegistrationSettings.intervalSeconds,
  heartbeatWriteSeconds: defaultRegistrationSettings.heartbeatWriteSeconds,
  reconcileSeconds: 30,
  drainSeconds: 10,
  relistSeconds: 1_800,
  allowPrivateEndpoints: false,
  registration: defaultRegistrationSettings,
};

/**
 * How many keys of one tenant so many workers work on at once: what was said, or half of them where others can come. Undefined
 * for as many as there are.
 */
export function tenantConcurrencyOf(
  { tenantConcurrency }: Pick<Partial<ControllerSettings>, "tenantConcurrency">,
  { workers, isShared }: Readonly<{ workers: number; isShared: boolean }>,
): number | undefined {
  return tenantConcurrency ?? (isShared ? Math.ceil(workers / 2) : undefined);
}

/** The part of the process's time that a tenant has while others have something to do; undefined for all of it. */
export function tenantShareOf(
  { tenantShare = defaultControllerSettings.tenantShare }: Partial<ControllerSettings>,
  isShared: boolean,
): number | undefined {
  return isShared && tenantShare < 1 ? tenantShare : undefined;
}
